"""Tabulate the ratios under every topic model, means over seeds, and what makes them differ."""

import pandas as pd

from onelayer.papers.topic_structure import robustness
from onelayer.papers.topic_structure.wikipedia import measures_by_model
from onelayer.settings.topic_structure import RobustnessTableSettings
from onelayer.step import Step, run
from onelayer.tables import write_table

TITLE = "Topic structure on Wikipedia: do the ratios depend on the topic model?"


def main(step: Step) -> None:
    settings = step.settings.robustness
    models = {model.name: model.settings for model in step.settings.models}
    quality = pd.concat([pd.read_parquet(path) for path in step.inputs.quality])
    measures = measures_by_model(models, step.inputs.measures)
    table = robustness.assemble(measures, quality, models, settings)
    notes = robustness.reader_notes(table, settings)
    write_table(table, robustness.readable(table), TITLE, notes, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=RobustnessTableSettings,
        inputs=["quality*", "measures*"],
        outputs=["csv", "md", "tex", "html"],
    )
