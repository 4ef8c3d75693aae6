"""Tabulate losses on words without the heads of the largest topic ratios, and without others."""

from onelayer.papers.topic_structure import head_removal, over_seeds
from onelayer.papers.topic_structure.over_tokens import read_measures
from onelayer.settings.topic_structure import HeadRemovalTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    models = {model.name: model.settings for model in step.settings.models}
    losses = read_measures(models, step.inputs.losses)
    table = head_removal.assemble(losses, models, step.settings.uncertainty)
    notes = [*head_removal.notes(step.settings.removal), over_seeds.NOTE]
    return Report(table, head_removal.readable(table), head_removal.TITLE, notes)


if __name__ == "__main__":
    tabulate(main, settings=HeadRemovalTableSettings, inputs=["losses*"])
