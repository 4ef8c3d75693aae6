"""Copy a checkpoint out of a folder on this machine, checked like a downloaded one."""

from onelayer.models.folder import Folder, gather_checkpoint
from onelayer.settings.hub import DiskFolder
from onelayer.step import Step, run


def main(step: Step) -> None:
    targets = {
        "config.json": step.outputs.config,
        "model.safetensors": step.outputs.weights,
        "tokenizer.json": step.outputs.tokenizer,
        "tokenizer_config.json": step.outputs.tokenizer_config,
    }
    gather_checkpoint(Folder(step.settings.path), targets)


if __name__ == "__main__":
    run(
        main,
        settings=DiskFolder,
        inputs=["files*"],
        outputs=["config", "weights", "tokenizer", "tokenizer_config"],
    )
