"""Pretrain a small model with its family's objective; a killed training goes on where it was."""

from onelayer.compute.execution import execution_of
from onelayer.run.step import Step, program
from onelayer.settings.pretraining import PretrainModelSettings as Settings
from onelayer.text.pretraining.storage import read_task, save_model, save_snapshots
from onelayer.text.pretraining.training import train


@program(settings=Settings, inputs="text vocabulary tokenizer/", outputs="model/ snapshots history")
def main(step: Step) -> None:
    task = read_task(step.inputs.text, step.inputs.vocabulary, step.settings)
    training = train(*task, step.settings, execution_of(step, step.outputs.snapshots))
    save_model(training.objective, step.outputs.model, step.inputs.tokenizer)
    save_snapshots(training.snapshots, step.outputs.snapshots)
    step.write(history=training.history_table())
