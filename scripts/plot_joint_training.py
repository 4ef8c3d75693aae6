"""Plot W and V trained together: near V = cP, and from small random starts."""

import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.decision_lists import value_figures
from onelayer.settings.block import Block
from onelayer.step import Step, run


def main(step: Step) -> None:
    near = pd.read_parquet(step.inputs.near)
    small = pd.read_parquet(step.inputs.small)
    small_history = pd.read_parquet(step.inputs.small_history)
    with house_style():
        save(value_figures.joint_training(near, small, small_history), **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=Block,
        inputs=["near", "small", "small_history"],
        outputs=["pdf", "png"],
    )
