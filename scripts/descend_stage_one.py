"""Descend stage 1's loss from many starts, with and without weight decay."""

from onelayer.papers.topic_structure.synthetic.descent import stage_one_descent
from onelayer.run.step import Step, run
from onelayer.settings.topic_structure_synthetic import (
    DescentSettings,
    TheorySettings,
    TopicModelSettings,
)


def main(
    step: Step, model: TopicModelSettings, theory: TheorySettings, descent: DescentSettings
) -> None:
    stage_one_descent(model, theory, descent).to_parquet(step.outputs.descent, index=False)


if __name__ == "__main__":
    run(main, outputs=["descent"])
