"""Measure a checkpoint's attention ratios under permuted topics and in shuffled articles."""

from onelayer.papers.topic_structure.wikipedia.probe.attention import opened
from onelayer.papers.topic_structure.wikipedia.probe.calibration import calibrate
from onelayer.run.step import Step, program
from onelayer.settings.calibration import ProbeCalibrationSettings as Settings


@program(settings=Settings, inputs="articles* kept_words vocabulary model/", outputs="measures")
def main(step: Step) -> None:
    given = *opened(step), step.read("kept_words"), step.read("vocabulary"), step.settings
    step.write(measures=calibrate(*given, step.progress))
