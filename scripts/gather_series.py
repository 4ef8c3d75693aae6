"""Gather what the checkpoints of a series measure, at the first threshold, with the tokens seen."""

from onelayer.papers.topic_structure.wikipedia import over_tokens
from onelayer.run.step import Step, program


@program(inputs="attention* embeddings* circuits*", outputs="measures")
def main(step: Step, tokens: list[int]) -> None:
    step.write(measures=over_tokens.gather(tokens, *map(step.read, vars(step.inputs))))
