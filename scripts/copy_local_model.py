"""Copy a checkpoint out of a folder on this machine, checked like a downloaded one."""

from onelayer.models.folder import Folder, gather_checkpoint
from onelayer.settings.hub import DiskFolder
from onelayer.step import Step, run


def main(step: Step, local: DiskFolder) -> None:
    gather_checkpoint(Folder(local.path), step.outputs.model)


if __name__ == "__main__":
    run(main, inputs=["files*"], outputs=["model/"])
