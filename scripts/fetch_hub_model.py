"""Fetch a checkpoint out of a repository on a Hugging Face hub, at a pinned commit."""

from onelayer.hub import Repository
from onelayer.models.folder import gather_checkpoint
from onelayer.settings.hub import HubRepository
from onelayer.step import Step, run


def main(step: Step) -> None:
    targets = {
        "config.json": step.outputs.config,
        "model.safetensors": step.outputs.weights,
        "tokenizer.json": step.outputs.tokenizer,
        "tokenizer_config.json": step.outputs.tokenizer_config,
    }
    gather_checkpoint(Repository("model", step.settings), targets)


if __name__ == "__main__":
    run(
        main,
        settings=HubRepository,
        outputs=["config", "weights", "tokenizer", "tokenizer_config"],
        downloads=True,
    )
