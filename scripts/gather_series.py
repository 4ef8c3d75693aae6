"""Gather what the checkpoints of a series measure, at the first threshold, with the tokens seen."""

import pandas as pd

from onelayer.papers.topic_structure.wikipedia import over_tokens
from onelayer.run.step import Step, run


def main(step: Step, tokens: list[int]) -> None:
    tables = [
        pd.concat([pd.read_parquet(attention), pd.read_parquet(embeddings)])
        for attention, embeddings in zip(step.inputs.attention, step.inputs.embeddings, strict=True)
    ]
    measures = over_tokens.gather(tokens, tables)
    measures.to_parquet(step.outputs.measures, index=False)


if __name__ == "__main__":
    run(main, inputs=["attention*", "embeddings*"], outputs=["measures"])
