"""Initialise a model at random with another model's configuration and tokenizer."""

import tempfile
from pathlib import Path

from onelayer.models.checkpoints import save_random_checkpoint
from onelayer.settings.models import InitSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    targets = {
        "config.json": step.outputs.config,
        "model.safetensors": step.outputs.weights,
        "tokenizer.json": step.outputs.tokenizer,
        "tokenizer_config.json": step.outputs.tokenizer_config,
    }
    beside = step.outputs.weights.parent
    with tempfile.TemporaryDirectory(dir=beside, prefix=".part-model-") as scratch:
        save_random_checkpoint(step.inputs.like, Path(scratch), step.settings.seed)
        for name, path in targets.items():
            (Path(scratch) / name).replace(path)


if __name__ == "__main__":
    run(
        main,
        settings=InitSettings,
        inputs=["like"],
        outputs=["config", "weights", "tokenizer", "tokenizer_config"],
    )
