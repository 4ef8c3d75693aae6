"""Train W_V alone and the embeddings alone under uniform attention; also solve them exactly."""

import numpy as np

from onelayer.device import resolve_device
from onelayer.papers.topic_structure.synthetic.gaps import uniform_attention
from onelayer.papers.topic_structure.synthetic.training import plan_of
from onelayer.settings.topic_structure_synthetic import UniformAttentionSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    step.device = resolve_device(step.settings.device)
    plan = plan_of(step, step.outputs.gaps)
    gaps, matrices = uniform_attention(step.settings, plan)
    gaps.to_parquet(step.outputs.gaps, index=False)
    with open(step.outputs.matrices, "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **matrices)


if __name__ == "__main__":
    run(main, settings=UniformAttentionSettings, outputs=["gaps", "matrices"])
