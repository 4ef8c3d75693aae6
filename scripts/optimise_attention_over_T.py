"""Find the optimal attention of stage 2 over tau and the number of topics."""

from onelayer.papers.topic_structure.synthetic.stage_two import ratio_over_topics
from onelayer.settings.topic_structure_synthetic import RatioOverTRun
from onelayer.step import Step, run


def main(step: Step) -> None:
    ratio_over_topics(step.settings).to_parquet(step.outputs.ratios, index=False)


if __name__ == "__main__":
    run(main, settings=RatioOverTRun, outputs=["ratios"])
