"""Tabulate all claims of the topic-structure paper, each with its number, interval and verdict."""

import numpy as np
import pandas as pd

from onelayer.claims import readable
from onelayer.papers.topic_structure import claims, head_removal
from onelayer.papers.topic_structure.synthetic import claims as synthetic
from onelayer.settings.topic_structure_synthetic import TopicModelSettings
from onelayer.step import Step
from onelayer.tables import Report, read_csv, tabulate

TABLES = (
    "theory_gap",
    "two_stage",
    "stage_two_ratio",
    "attention_by_optimizer",
    "wikipedia_claims",
)


def main(step: Step) -> Report:
    inputs, settings = step.inputs, step.settings
    with np.load(inputs.matrices, allow_pickle=False) as arrays:
        pictured = dict(arrays)
    components = pd.read_parquet(inputs.components)
    measured = [
        *synthetic.gap_claims(pd.read_parquet(inputs.gap_grid)),
        *synthetic.descent_claims(pd.read_parquet(inputs.descent)),
        *synthetic.gradient_claims(pd.read_parquet(inputs.gradients)),
        *synthetic.ratio_claims(pd.read_parquet(inputs.ratios)),
        *synthetic.component_claims(components, pictured, settings.T, settings.v),
        *synthetic.dyck_claims(pd.read_parquet(inputs.brackets), pd.read_parquet(inputs.norms)),
        *(claim for path in inputs.head_removal for claim in head_removal.claims(read_csv(path))),
    ]
    tables = {name: read_csv(getattr(inputs, name)) for name in TABLES}
    table = claims.assemble(tables, measured)
    return Report(table, readable(table), claims.TITLE, claims.NOTES)


if __name__ == "__main__":
    tabulate(
        main,
        settings=TopicModelSettings,
        inputs=[
            *TABLES,
            "matrices",
            "gap_grid",
            "descent",
            "gradients",
            "ratios",
            "components",
            "brackets",
            "norms",
            "head_removal*",
        ],
    )
