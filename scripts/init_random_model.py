"""Initialise a model at random with another model's configuration and tokenizer."""

from onelayer.models.checkpoints import save_random_checkpoint
from onelayer.settings.models import InitSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    save_random_checkpoint(step.inputs.like, step.outputs.model, step.settings.seed)


if __name__ == "__main__":
    run(main, settings=InitSettings, inputs=["like/"], outputs=["model/"])
