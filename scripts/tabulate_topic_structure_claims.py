"""Tabulate the claims of the topic-structure paper that no other table measures."""

import numpy as np
import pandas as pd

from onelayer.claims import readable, tabulated
from onelayer.papers.topic_structure.synthetic import claims, stage_tables
from onelayer.settings.topic_structure_synthetic import ClaimsTableSettings
from onelayer.step import Step
from onelayer.tables import Report, tabulate


def main(step: Step) -> Report:
    inputs, settings = step.inputs, step.settings
    with np.load(inputs.matrices, allow_pickle=False) as arrays:
        pictured = dict(arrays)
    components = pd.read_parquet(inputs.components)
    stage_1_ends = stage_tables.read_stage_steps(inputs.published).loc["t_V_median", "published"]
    gradients = pd.read_parquet(inputs.gradients)
    measured = [
        *claims.gap_claims(pd.read_parquet(inputs.gap_grid), settings),
        *claims.descent_claims(pd.read_parquet(inputs.descent), settings),
        *claims.gradient_claims(gradients, settings, stage_1_ends),
        *claims.ratio_claims(pd.read_parquet(inputs.ratios)),
        *claims.component_claims(components, pictured, settings.model.T, settings.model.v),
        *claims.dyck_claims(pd.read_parquet(inputs.brackets), pd.read_parquet(inputs.norms)),
    ]
    table = tabulated(measured)
    return Report(table, readable(table), claims.TITLE, claims.NOTES)


if __name__ == "__main__":
    tabulate(
        main,
        settings=ClaimsTableSettings,
        inputs=[
            "matrices",
            "gap_grid",
            "descent",
            "gradients",
            "ratios",
            "components",
            "brackets",
            "norms",
            "published",
        ],
    )
