"""Merge the attention sums of the parts of the probed articles."""

from onelayer.papers.topic_structure.wikipedia.probe import sums
from onelayer.run.step import Step, program


@program(
    inputs="by_head* by_distance* by_words*",
    outputs="merged_by_head merged_by_distance merged_by_words",
)
def main(step: Step) -> None:
    files = zip(*vars(step.inputs).values(), strict=True)
    merged = sums.merge_attention_sums(sums.read_attention_sums(*paths) for paths in files)
    sums.write_attention_sums(merged, *vars(step.outputs).values())
