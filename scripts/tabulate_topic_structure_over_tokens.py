"""Tabulate the ratios of pretrained models against tokens seen."""

from onelayer.papers.topic_structure import over_tokens
from onelayer.settings.topic_structure import PretrainedTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    models = {model.name: model.settings for model in step.settings.models}
    table = over_tokens.assemble(over_tokens.read_measures(models, step.inputs.measures), models)
    title, notes = over_tokens.title(models), over_tokens.notes(models)
    return Report(table, over_tokens.readable(table), title, notes)


if __name__ == "__main__":
    tabulate(main, settings=PretrainedTableSettings, inputs=["measures*"])
