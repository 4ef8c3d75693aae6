"""Train all components together and keep E's gap and the attention ratio over steps."""

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.components import all_components
from onelayer.run.step import Step, program
from onelayer.settings import topic_structure_synthetic as synthetic


@program(settings=synthetic.SyntheticTraining, outputs="components")
def main(
    step: Step, components: synthetic.ComponentSettings, over: synthetic.ComponentsOverStepsSettings
) -> None:
    step.write(components=all_components(step.settings, components, over, execution_of(step)))
