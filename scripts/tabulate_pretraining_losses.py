"""Tabulate what every pretraining came to: budget, losses in training and held out."""

from onelayer.papers.topic_structure import losses
from onelayer.settings.topic_structure import PretrainedTableSettings
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Pretraining of the small models: losses"
NOTES = [
    "Losses in nats. 'untrained': output biases at the words' frequencies and random weights. The "
    "families predict different things from different inputs; rows do not compare.",
    "Of the predicted words 10% (BERT, RoBERTa, ALBERT) or 15% (ELECTRA) stay where they are: to "
    "repeat them is part of the loss.",
    "Sentence order: not knowing costs .693 and is right half the time.",
]


def main(step: Step) -> None:
    histories = losses.read_histories(losses.trainings(step.settings.models), step.inputs.histories)
    table = losses.assemble(histories)
    write_table(table, losses.readable(table), TITLE, NOTES, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=PretrainedTableSettings,
        inputs=["histories*"],
        outputs=["csv", "md", "tex", "html"],
    )
