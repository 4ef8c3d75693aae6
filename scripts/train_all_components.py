"""Train all components together and keep E's gap and the attention ratio over steps."""

from onelayer.execution import execution_of
from onelayer.papers.topic_structure.synthetic.components import all_components
from onelayer.settings.topic_structure_synthetic import ComponentsRun
from onelayer.step import Step, run


def main(step: Step) -> None:
    execution = execution_of(step, step.outputs.components)
    all_components(step.settings, execution).to_parquet(step.outputs.components, index=False)


if __name__ == "__main__":
    run(main, settings=ComponentsRun, outputs=["components"])
