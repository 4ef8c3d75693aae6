"""Plot the time to perfect classification against the vocabulary, with Theorem 1's bound."""

import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.decision_lists import figures
from onelayer.settings.block import Block
from onelayer.step import Step, run


def main(step: Step) -> None:
    solved = pd.read_parquet(step.inputs.solved)
    with house_style():
        save(figures.time_to_perfect(solved), **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=Block,
        inputs=["solved"],
        outputs=["pdf", "png"],
    )
