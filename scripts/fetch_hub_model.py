"""Fetch a checkpoint out of a repository on a Hugging Face hub, at a pinned commit."""

from onelayer.fetching.hub import Repository
from onelayer.run.step import Step, run
from onelayer.settings.hub import HubRepository
from onelayer.text.models.folder import gather_checkpoint


def main(step: Step, hub: HubRepository) -> None:
    gather_checkpoint(Repository("model", hub), step.outputs.model)


if __name__ == "__main__":
    run(main, outputs=["model/"], downloads=True)
