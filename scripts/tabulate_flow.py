"""Tabulate critical points and basins of the gradient flow beside what the theorems say."""

import pandas as pd
from safetensors.numpy import load_file

from onelayer.papers.local_to_global import flow_tables
from onelayer.settings.local_to_global import FlowShownSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> dict[str, Report]:
    chains, maps = flow_tables.chains_of(step.settings), load_file(step.inputs.maps)
    neighbours, gaussian = (
        pd.read_parquet(step.inputs.neighbours),
        pd.read_parquet(step.inputs.gaussian),
    )
    return {
        "critical_points": flow_tables.report_critical_points(chains, neighbours),
        "basins": flow_tables.report_basins(maps, gaussian, step.settings),
    }


if __name__ == "__main__":
    tabulate(main, settings=FlowShownSettings, inputs=["maps", "gaussian", "neighbours"])
