"""Tabulate what every pretraining came to: budget, losses in training and held out."""

from onelayer.papers.topic_structure import losses
from onelayer.settings.topic_structure import PretrainedTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    trainings = losses.trainings(step.settings.models)
    table = losses.assemble(losses.read_histories(trainings, step.inputs.histories))
    return Report(table, losses.readable(table), losses.TITLE, losses.READER_NOTES)


if __name__ == "__main__":
    tabulate(main, settings=PretrainedTableSettings, inputs=["histories*"])
