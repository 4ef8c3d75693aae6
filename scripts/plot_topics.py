"""Plot the topics: top words, the human topics of their articles, prevalence."""

import pandas as pd
from matplotlib.figure import Figure

from onelayer.figures import draw
from onelayer.papers.topic_structure import figures
from onelayer.settings.topic_structure import TopicTableSettings
from onelayer.step import Step


def main(step: Step) -> Figure:
    return figures.topics(pd.read_parquet(step.inputs.words), pd.read_parquet(step.inputs.shares))


if __name__ == "__main__":
    draw(main, settings=TopicTableSettings, inputs=["words", "shares"])
