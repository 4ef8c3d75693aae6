"""Find the optimal attention of stage 2 over tau and the number of topics."""

from onelayer.papers.topic_structure.synthetic.stage_two import ratio_over_topics
from onelayer.run.step import Step, program
from onelayer.settings.topic_structure_synthetic import RatioOverTSettings, TopicModelSettings


@program(outputs="ratios")
def main(step: Step, model: TopicModelSettings, ratio_over_T: RatioOverTSettings) -> None:
    step.write(ratios=ratio_over_topics(model, ratio_over_T))
