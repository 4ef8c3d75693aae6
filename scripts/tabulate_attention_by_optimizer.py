"""Tabulate average attention by optimiser and learning rate beside the published table."""

import pandas as pd

from onelayer.papers.topic_structure.synthetic import tables
from onelayer.settings.topic_structure_synthetic import AveragesSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    averages = [pd.read_parquet(path) for path in step.inputs.averages]
    published = tables.read_published(step.inputs.published)
    over_steps = pd.concat(map(pd.read_parquet, step.inputs.over_steps))
    budgets = tables.at_budgets(over_steps, step.settings.released_steps)
    table = tables.attention_by_optimizer(averages, published, step.settings, budgets)
    shown = tables.readable_attention(table)
    notes = tables.attention_notes(step.settings)
    return Report(table, shown, tables.ATTENTION_TITLE, notes)


if __name__ == "__main__":
    tabulate(main, settings=AveragesSettings, inputs=["averages*", "over_steps*", "published"])
