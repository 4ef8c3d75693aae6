"""Train the attention of the published table for longer, and average it on the way."""

from onelayer.execution import execution_of
from onelayer.papers.topic_structure.synthetic.trained_attention import attention_over_steps
from onelayer.settings.topic_structure_synthetic import OverStepsRun
from onelayer.step import Step, run


def main(step: Step) -> None:
    execution = execution_of(step, step.outputs.averages)
    attention_over_steps(step.settings, execution).to_parquet(step.outputs.averages, index=False)


if __name__ == "__main__":
    run(main, settings=OverStepsRun, outputs=["averages"])
