"""Simulate seeds and documents: how often do intervals hold the truth, and what is judged?"""

from onelayer.calibration import simulation
from onelayer.run.step import Step, program
from onelayer.settings.block import Seed
from onelayer.settings.calibration import EffectCalibration as Effects
from onelayer.settings.calibration import IntervalCalibration as Intervals


@program(outputs="coverage effects")
def main(step: Step, intervals: Intervals, effects: Effects, seed: Seed) -> None:
    covered = simulation.coverage(intervals, seed)
    judged = simulation.effects(effects, intervals.seeds, intervals.resamples, seed)
    step.write(coverage=covered, effects=judged)
