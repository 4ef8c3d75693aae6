"""Plot the topics: top words, the human topics of their articles, prevalence."""

import pandas as pd

from onelayer.figures import house_style, save
from onelayer.papers.topic_structure import figures
from onelayer.settings.topic_structure import TopicTableSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    words, shares = pd.read_parquet(step.inputs.words), pd.read_parquet(step.inputs.shares)
    with house_style():
        save(figures.topics(words, shares), **vars(step.outputs))


if __name__ == "__main__":
    run(main, settings=TopicTableSettings, inputs=["words", "shares"], outputs=["pdf", "png"])
