"""Find the optimal attention for a frozen W_V against tau, and train W_K and W_Q towards it."""

from onelayer.device import resolve_device
from onelayer.papers.topic_structure.synthetic.stage_two import stage_two
from onelayer.papers.topic_structure.synthetic.training import plan_of
from onelayer.settings.topic_structure_synthetic import TiedAttentionSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    step.device = resolve_device(step.settings.device)
    plan = plan_of(step, step.outputs.ratios)
    stage_two(step.settings, plan).to_parquet(step.outputs.ratios, index=False)


if __name__ == "__main__":
    run(main, settings=TiedAttentionSettings, outputs=["ratios"])
