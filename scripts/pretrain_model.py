"""Pretrain a small model with its family's objective; a killed training goes on where it was."""

import shutil

from onelayer.compute.execution import execution_of
from onelayer.run.step import Step, run
from onelayer.settings.models import TOKENIZER_FILES
from onelayer.settings.pretraining import PretrainModelSettings
from onelayer.text.pretraining.storage import read_task, save_model, save_snapshots
from onelayer.text.pretraining.training import train


def main(step: Step) -> None:
    execution = execution_of(step, step.outputs.snapshots)
    task = read_task(step.inputs.text, step.inputs.vocabulary, step.settings)
    training = train(*task, step.settings, execution)
    save_model(training.objective, step.outputs.model)
    for name in TOKENIZER_FILES:
        shutil.copyfile(step.inputs.tokenizer / name, step.outputs.model / name)
    save_snapshots(training.snapshots, step.outputs.snapshots)
    training.history_table().to_parquet(step.outputs.history, index=False, compression="zstd")
    execution.checkpoint.remove()


if __name__ == "__main__":
    inputs = ["text", "vocabulary", "tokenizer/"]
    run(main, PretrainModelSettings, inputs, ["model/", "snapshots", "history"])
