"""Merge the attention sums of the parts of the probed articles."""

from onelayer.papers.topic_structure.wikipedia.probe.sums import (
    merge_attention_sums,
    read_attention_sums,
    write_attention_sums,
)
from onelayer.run.step import Step, run


def main(step: Step) -> None:
    files = zip(step.inputs.by_head, step.inputs.by_distance, step.inputs.by_words, strict=True)
    sums = merge_attention_sums(read_attention_sums(*paths) for paths in files)
    write_attention_sums(sums, *vars(step.outputs).values())


if __name__ == "__main__":
    run(
        main,
        inputs=["by_head*", "by_distance*", "by_words*"],
        outputs=["merged_by_head", "merged_by_distance", "merged_by_words"],
    )
