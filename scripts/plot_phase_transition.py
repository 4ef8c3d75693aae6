"""Plot when attention stops gathering speed against both learning rates."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.scan_snap import figures, transition
from onelayer.step import Step


def main(step: Step) -> Figure:
    simulated = pd.read_parquet(step.inputs.attention)
    return figures.phase_transition(transition.times_by_run(simulated))


if __name__ == "__main__":
    draw(main, inputs=["attention"])
