"""Initialise a model at random with another model's configuration and tokenizer, once per seed."""

from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.text.models.checkpoints import save_random_checkpoint


@program(inputs="like/", outputs="models/*")
def main(step: Step, seeds: list[Seed]) -> None:
    for seed, folder in zip(seeds, step.outputs.models, strict=True):
        save_random_checkpoint(step.inputs.like, folder, seed)
