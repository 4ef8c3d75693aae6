"""Train all components together and keep E's gap and the attention ratio over steps."""

from onelayer.compute.execution import execution_of
from onelayer.papers.topic_structure.synthetic.components import all_components
from onelayer.run.step import Step, run
from onelayer.settings.block import Device, Threads
from onelayer.settings.topic_structure_synthetic import (
    ComponentSettings,
    ComponentsOverStepsSettings,
    TopicModelSettings,
)


def main(
    step: Step,
    model: TopicModelSettings,
    components: ComponentSettings,
    components_over_steps: ComponentsOverStepsSettings,
    batch: int,
    chunk: int,
    device: Device,
    threads: Threads,
) -> None:
    execution = execution_of(step, step.outputs.components)
    found = all_components(model, components, components_over_steps, batch, chunk, execution)
    found.to_parquet(step.outputs.components, index=False)


if __name__ == "__main__":
    run(main, outputs=["components"])
