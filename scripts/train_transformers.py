"""Train one-layer transformers on a Markov chain from three initialisations, all runs at once."""

from safetensors.numpy import save_file

from onelayer.compute.execution import execution_of
from onelayer.papers.local_to_global import training
from onelayer.run.step import Step, program
from onelayer.settings.local_to_global import InitialisationSettings, Variant


@program(settings=InitialisationSettings, outputs="curves weights")
def main(step: Step) -> None:
    settings, execution = step.settings, execution_of(step)
    group = [Variant(name=start, initialisation=start) for start in training.STARTS]
    trained = training.train_group(group, settings, settings.snapshots, execution)
    step.write(curves=training.curves(group, trained, settings.seeds))
    weights = training.snapshots_of(group, trained, settings.snapshots, settings.seeds)
    save_file(weights, step.outputs.weights)
