"""Plot the optimal same-topic ratio of stage 2 against tau for several T."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure.synthetic import claim_figures
from onelayer.step import Step


def main(step: Step) -> Figure:
    return claim_figures.ratio_over_topics(pd.read_parquet(step.inputs.ratios))


if __name__ == "__main__":
    draw(main, inputs=["ratios"])
