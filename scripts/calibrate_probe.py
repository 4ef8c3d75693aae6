"""Measure a checkpoint's attention ratios under permuted topics and in shuffled articles."""

import pandas as pd

from onelayer.compute.device import resolve_device
from onelayer.papers.topic_structure.wikipedia.probe.attention import sample_articles
from onelayer.papers.topic_structure.wikipedia.probe.calibration import calibrate
from onelayer.papers.topic_structure.wikipedia.probe.labels import tightest_variant
from onelayer.run.step import Step, run
from onelayer.settings.calibration import ProbeCalibrationSettings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer


def main(step: Step) -> None:
    settings, inputs = step.settings, step.inputs
    step.device = resolve_device(settings.attention.device)
    measures = calibrate(
        load_checkpoint(inputs.model, step.device),
        load_tokenizer(inputs.model),
        sample_articles(inputs.articles, settings.attention),
        tightest_variant(pd.read_parquet(inputs.kept_words)),
        pd.read_parquet(inputs.vocabulary),
        settings,
        step.progress,
    )
    measures.to_parquet(step.outputs.measures, index=False)


if __name__ == "__main__":
    inputs = ["articles*", "kept_words", "vocabulary", "model/"]
    run(main, ProbeCalibrationSettings, inputs, ["measures"])
