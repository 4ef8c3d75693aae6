"""Tabulate the settings of topic models beside their coherence in articles held out from them."""

import pandas as pd

from onelayer.papers.topic_structure import topic_tables
from onelayer.settings.topic_structure import TopicSettingsTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    corpus, models = step.settings.corpus, step.settings.models
    table = topic_tables.settings_table(pd.read_parquet(step.inputs.held_out), corpus, models)
    title = f"Topic models of {corpus} by their coherence in articles held out"
    return Report(table, topic_tables.readable_settings(table), title, topic_tables.SETTINGS_NOTES)


if __name__ == "__main__":
    tabulate(main, settings=TopicSettingsTableSettings, inputs=["held_out"])
