"""Train the transformer with one change at a time, to see what keeps it at the unigram model."""

from onelayer.compute.execution import execution_of
from onelayer.papers.local_to_global import training
from onelayer.run.step import Step, program
from onelayer.settings.local_to_global import EnsembleSettings, Variant


@program(settings=EnsembleSettings, outputs="curves")
def main(step: Step, variants: list[Variant]) -> None:
    step.write(curves=training.train_variants(variants, step.settings, execution_of(step)))
