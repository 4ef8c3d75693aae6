"""Tabulate critical points and basins of the gradient flow beside what the theorems say."""

import pandas as pd
from safetensors.numpy import load_file

from onelayer.papers.local_to_global import flow_tables
from onelayer.settings.local_to_global import FlowShownSettings
from onelayer.step import Step, run
from onelayer.tables import forms_of, write_table


def main(step: Step) -> None:
    chains = flow_tables.chains_of(step.settings)
    neighbours = pd.read_parquet(step.inputs.neighbours)
    points = flow_tables.critical_point_table(chains, neighbours)
    write_table(
        points,
        flow_tables.readable_critical_points(points),
        "Critical points of the loss, computed and in theory",
        flow_tables.CRITICAL_POINT_NOTES,
        **forms_of("critical_points", step.outputs),
    )
    gaussian = pd.read_parquet(step.inputs.gaussian)
    basins = flow_tables.basin_table(load_file(step.inputs.maps), gaussian, step.settings)
    write_table(
        basins,
        flow_tables.readable_basins(basins),
        "Basins of the gradient flow, simulated and in theory",
        flow_tables.BASIN_NOTES,
        **forms_of("basins", step.outputs),
    )


FORMS = ["csv", "md", "tex", "html"]
if __name__ == "__main__":
    run(
        main,
        settings=FlowShownSettings,
        inputs=["maps", "gaussian", "neighbours"],
        outputs=[f"{table}_{form}" for table in ("critical_points", "basins") for form in FORMS],
    )
