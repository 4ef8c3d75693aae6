"""Initialise a model at random with another model's configuration and tokenizer."""

from onelayer.models.checkpoints import save_random_checkpoint
from onelayer.settings.models import InitSettings
from onelayer.step import Step, run, scratch_folder


def main(step: Step) -> None:
    targets = {
        "config.json": step.outputs.config,
        "model.safetensors": step.outputs.weights,
        "tokenizer.json": step.outputs.tokenizer,
        "tokenizer_config.json": step.outputs.tokenizer_config,
    }
    with scratch_folder(step.outputs.weights) as scratch:
        save_random_checkpoint(step.inputs.like, scratch, step.settings.seed)
        for name, path in targets.items():
            (scratch / name).replace(path)


if __name__ == "__main__":
    run(
        main,
        settings=InitSettings,
        inputs=["like"],
        outputs=["config", "weights", "tokenizer", "tokenizer_config"],
    )
