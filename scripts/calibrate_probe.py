"""Measure a checkpoint's attention ratios under permuted topics and in shuffled articles."""

import pandas as pd

from onelayer.papers.topic_structure.wikipedia.probe.attention import opened
from onelayer.papers.topic_structure.wikipedia.probe.calibration import calibrate
from onelayer.papers.topic_structure.wikipedia.probe.labels import tightest_variant
from onelayer.run.step import Step, program
from onelayer.settings.calibration import ProbeCalibrationSettings as Settings


@program(settings=Settings, inputs="articles* kept_words vocabulary model/", outputs="measures")
def main(step: Step) -> None:
    kept, vocabulary = map(pd.read_parquet, (step.inputs.kept_words, step.inputs.vocabulary))
    probed, variant = opened(step, step.settings.attention), tightest_variant(kept)
    step.write(measures=calibrate(*probed, variant, vocabulary, step.settings, step.progress))
