"""Tabulate critical points and ends of the gradient flow with the attention scalar."""

import pandas as pd

from onelayer.papers.local_to_global import attention_tables
from onelayer.papers.local_to_global.flow_tables import chains_of
from onelayer.settings.local_to_global import AttentionFlowShownSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> dict[str, Report]:
    neighbours = pd.read_parquet(step.inputs.neighbours)
    return {
        "critical_points_with_attention": attention_tables.report_critical_points(
            chains_of(step.settings), neighbours
        ),
        "flow_with_attention": attention_tables.report_flow(pd.read_parquet(step.inputs.ends)),
    }


if __name__ == "__main__":
    tabulate(main, settings=AttentionFlowShownSettings, inputs=["ends", "neighbours"])
