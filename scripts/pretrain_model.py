"""Pretrain a small model with its family's objective; a killed training goes on where it was."""

import shutil

from onelayer.execution import execution_of
from onelayer.pretraining.storage import read_task, save_model, save_snapshots
from onelayer.pretraining.training import train
from onelayer.settings.pretraining import PretrainModelSettings
from onelayer.step import Step, run, scratch_folder


def main(step: Step) -> None:
    execution = execution_of(step, step.outputs.weights)
    training = train(
        *read_task(step.inputs.text, step.inputs.vocabulary, step.settings),
        step.settings,
        execution,
    )
    with scratch_folder(step.outputs.weights) as scratch:
        save_model(training.objective, scratch)
        (scratch / "config.json").replace(step.outputs.config)
        (scratch / "model.safetensors").replace(step.outputs.weights)
    save_snapshots(training.snapshots, step.outputs.snapshots)
    training.history_table().to_parquet(step.outputs.history, index=False, compression="zstd")
    shutil.copyfile(step.inputs.tokenizer, step.outputs.tokenizer_out)
    shutil.copyfile(step.inputs.tokenizer_config, step.outputs.tokenizer_config_out)
    execution.checkpoint.remove()


if __name__ == "__main__":
    run(
        main,
        settings=PretrainModelSettings,
        inputs=["text", "vocabulary", "tokenizer", "tokenizer_config"],
        outputs=[
            "config",
            "weights",
            "tokenizer_out",
            "tokenizer_config_out",
            "snapshots",
            "history",
        ],
    )
