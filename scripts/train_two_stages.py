"""Train from near-zero matrices and keep the norms of W_K, W_Q and W_V after every step."""

from onelayer.execution import execution_of
from onelayer.papers.topic_structure.synthetic.norms import two_stages
from onelayer.settings.topic_structure_synthetic import StagesSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    execution = execution_of(step, step.outputs.norms)
    two_stages(step.settings, execution).to_parquet(step.outputs.norms, index=False)


if __name__ == "__main__":
    run(main, settings=StagesSettings, outputs=["norms"])
