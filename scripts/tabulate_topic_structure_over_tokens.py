"""Tabulate the ratios of pretrained models against tokens seen."""

from onelayer.papers.topic_structure import over_tokens
from onelayer.settings.topic_structure import PretrainedTableSettings
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Topic structure against tokens seen, models pretrained here"
NOTES = [
    "Same-topic / different-topic mean over the mean of the same ratio with topics permuted within "
    "frequency strata; z: its distance from that null in standard deviations.",
    "Snapshots at powers of two of tokens seen, and the finished model; fewer articles than in the "
    "main tables.",
]


def main(step: Step) -> None:
    names = [model.name for model in step.settings.models]
    table = over_tokens.assemble(over_tokens.read_measures(names, step.inputs.measures))
    write_table(table, over_tokens.readable(table), TITLE, NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=PretrainedTableSettings,
        inputs=["measures*"],
        outputs=["csv", "md", "tex", "html"],
    )
