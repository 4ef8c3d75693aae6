"""Descend stage 1's loss from many starts, with and without weight decay."""

from onelayer.papers.topic_structure.synthetic.descent import stage_one_descent
from onelayer.settings.topic_structure_synthetic import DescentRun
from onelayer.step import Step, run


def main(step: Step) -> None:
    stage_one_descent(step.settings).to_parquet(step.outputs.descent, index=False)


if __name__ == "__main__":
    run(main, settings=DescentRun, outputs=["descent"])
