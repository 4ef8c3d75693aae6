"""Plot the scores W in list order, and the staircase of learning times."""

import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.decision_lists import figures
from onelayer.settings.decision_lists import ShownSettings, size_of
from onelayer.step import Step, run


def main(step: Step) -> None:
    scores = pd.read_parquet(step.inputs.scores)
    followed = pd.read_parquet(step.inputs.followed)
    solved = pd.read_parquet(step.inputs.solved)
    size = size_of(step.settings.shown[0])
    with house_style():
        save(figures.attention_order(scores, followed, solved, size), **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=ShownSettings,
        inputs=["scores", "followed", "solved"],
        outputs=["pdf", "png"],
    )
