"""Copy a checkpoint out of a folder on this machine, checked like a downloaded one."""

from onelayer.run.step import Step, program
from onelayer.settings.hub import DiskFolder
from onelayer.text.models.folder import Folder, gather_checkpoint


@program(inputs="files*", outputs="model/")
def main(step: Step, local: DiskFolder) -> None:
    gather_checkpoint(Folder(local.path), step.outputs.model)
