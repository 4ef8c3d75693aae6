"""Copy a checkpoint out of a folder on this machine, checked like a downloaded one."""

from onelayer.run.step import Step, run
from onelayer.settings.hub import DiskFolder
from onelayer.text.models.folder import Folder, gather_checkpoint


def main(step: Step, local: DiskFolder) -> None:
    gather_checkpoint(Folder(local.path), step.outputs.model)


if __name__ == "__main__":
    run(main, inputs=["files*"], outputs=["model/"])
