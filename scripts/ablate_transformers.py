"""Train the transformer with one change at a time, to see what keeps it at the unigram model."""

from onelayer.compute.execution import execution_of
from onelayer.papers.local_to_global import training
from onelayer.run.step import Step, program
from onelayer.settings.local_to_global import AblationRunSettings


@program(settings=AblationRunSettings, outputs="curves")
def main(step: Step) -> None:
    settings = step.settings
    step.write(curves=training.train_variants(settings.variants, settings, execution_of(step)))
