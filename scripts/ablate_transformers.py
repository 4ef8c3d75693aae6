"""Train the transformer with one change at a time, to see what keeps it at the unigram model."""

from onelayer.device import resolve_device
from onelayer.papers.local_to_global import training
from onelayer.settings.local_to_global import AblationRunSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings = step.settings
    step.device = resolve_device(settings.device)
    variants = [(v.name, v.initialisation, v.applied(settings.training)) for v in settings.variants]
    curves = training.train_variants(
        variants,
        settings,
        step.device,
        checkpoint=step.checkpoint(step.outputs.curves),
        identity=step.identity(),
        progress=step.progress,
    )
    curves.to_parquet(step.outputs.curves)


if __name__ == "__main__":
    run(main, settings=AblationRunSettings, outputs=["curves"])
