"""Simulate seeds and documents: how often do intervals hold the truth, and what is judged?"""

from onelayer.calibration import simulation
from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.calibration import EffectCalibration, IntervalCalibration


@program(outputs="coverage effects")
def main(
    step: Step, intervals: IntervalCalibration, effects: EffectCalibration, seed: Seed
) -> None:
    covered = simulation.coverage(intervals, seed)
    judged = simulation.effects(effects, intervals.seeds, intervals.resamples, seed)
    step.write(coverage=covered, effects=judged)
