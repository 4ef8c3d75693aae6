"""Gather what the checkpoints of a series measure, at the first threshold, with the tokens seen."""

import pandas as pd

from onelayer.papers.topic_structure.wikipedia import over_tokens
from onelayer.run.step import Step, program


@program(inputs="attention* embeddings* circuits*", outputs="measures")
def main(step: Step, tokens: list[int]) -> None:
    files = zip(step.inputs.attention, step.inputs.embeddings, step.inputs.circuits, strict=True)
    tables = [pd.concat(map(pd.read_parquet, all_three)) for all_three in files]
    step.write(measures=over_tokens.gather(tokens, tables))
