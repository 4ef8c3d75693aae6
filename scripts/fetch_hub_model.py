"""Fetch a checkpoint out of a repository on a Hugging Face hub, at a pinned commit."""

from onelayer.fetching.hub import Repository
from onelayer.run.step import Step, program
from onelayer.settings.hub import HubRepository
from onelayer.text.models.folder import gather_checkpoint


@program(outputs="model/", downloads=True)
def main(step: Step, hub: HubRepository) -> None:
    gather_checkpoint(Repository("model", hub), step.outputs.model)
