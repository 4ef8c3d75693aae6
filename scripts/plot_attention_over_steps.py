"""Plot average attention and held-out loss against steps, the published numbers beside them."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure.synthetic import figures
from onelayer.papers.topic_structure.synthetic.tables import read_published
from onelayer.settings.topic_structure_synthetic import AveragesSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    over_steps = pd.concat(map(pd.read_parquet, step.inputs.over_steps))
    published = read_published(step.inputs.published)
    tokens, released = step.settings.evaluated_tokens, step.settings.released_steps
    return figures.attention_over_steps(over_steps, published, tokens, released)


if __name__ == "__main__":
    draw(main, settings=AveragesSettings, inputs=["over_steps*", "published"])
