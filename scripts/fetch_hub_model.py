"""Fetch a checkpoint out of a repository on a Hugging Face hub, at a pinned commit."""

from onelayer.hub import Repository
from onelayer.models.folder import gather_checkpoint
from onelayer.settings.hub import HubRepository
from onelayer.step import Step, run


def main(step: Step, hub: HubRepository) -> None:
    gather_checkpoint(Repository("model", hub), step.outputs.model)


if __name__ == "__main__":
    run(main, outputs=["model/"], downloads=True)
