"""Plot V trained alone under uniform attention."""

import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.decision_lists import value_figures
from onelayer.settings.block import Block
from onelayer.step import Step, run


def main(step: Step) -> None:
    history = pd.read_parquet(step.inputs.history)
    ceilings = pd.read_parquet(step.inputs.ceilings)
    values = pd.read_parquet(step.inputs.values)
    with house_style():
        figure = value_figures.value_from_uniform_attention(history, ceilings, values)
        save(figure, **vars(step.outputs))


if __name__ == "__main__":
    run(
        main,
        settings=Block,
        inputs=["history", "ceilings", "values"],
        outputs=["pdf", "png"],
    )
