"""Find the optimal attention for a frozen W_V against tau, and train W_K and W_Q towards it."""

from onelayer.execution import execution_of
from onelayer.papers.topic_structure.synthetic.stage_two import stage_two
from onelayer.settings.topic_structure_synthetic import TiedAttentionSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    execution = execution_of(step, step.outputs.ratios)
    stage_two(step.settings, execution).to_parquet(step.outputs.ratios, index=False)


if __name__ == "__main__":
    run(main, settings=TiedAttentionSettings, outputs=["ratios"])
