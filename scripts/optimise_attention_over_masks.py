"""Find the optimal attention of stage 2 over what becomes of words to predict."""

from onelayer.papers.topic_structure.synthetic.stage_two import ratio_over_masks
from onelayer.run.step import Step, program
from onelayer.settings.topic_structure_synthetic import OverMasksSettings, TopicModelSettings


@program(outputs="ratios")
def main(step: Step, model: TopicModelSettings, over_masks: OverMasksSettings) -> None:
    step.write(ratios=ratio_over_masks(model, over_masks))
