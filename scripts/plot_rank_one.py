"""Plot how near all matrices come to rank one, beside the authors' saved weights."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.local_to_global.rank_one_figures import all_matrices
from onelayer.papers.local_to_global.training_tables import read_published
from onelayer.step import Step


def main(step: Step) -> Figure:
    return all_matrices(pd.read_parquet(step.inputs.curves), read_published(step.inputs.published))


if __name__ == "__main__":
    draw(main, inputs=["curves", "published"])
