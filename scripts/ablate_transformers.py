"""Train the transformer with one change at a time, to see what keeps it at the unigram model."""

from onelayer.compute.execution import execution_of
from onelayer.papers.local_to_global import training
from onelayer.run.step import Step, run
from onelayer.settings.local_to_global import AblationRunSettings


def main(step: Step) -> None:
    settings, execution = step.settings, execution_of(step, step.outputs.curves)
    variants = [(v.name, v.initialisation, v.applied(settings.training)) for v in settings.variants]
    curves = training.train_variants(variants, settings, execution)
    curves.to_parquet(step.outputs.curves)


if __name__ == "__main__":
    run(main, settings=AblationRunSettings, outputs=["curves"])
