"""Simulate seeds and documents: how often do intervals hold the truth, and what is judged?"""

from onelayer.calibration import simulation
from onelayer.run.step import Step, run
from onelayer.settings.block import Seed
from onelayer.settings.calibration import EffectCalibration, IntervalCalibration


def main(
    step: Step, intervals: IntervalCalibration, effects: EffectCalibration, seed: Seed
) -> None:
    covered = simulation.coverage(intervals, seed)
    covered.to_parquet(step.outputs.coverage, index=False)
    judged = simulation.effects(effects, intervals.seeds, intervals.resamples, seed)
    judged.to_parquet(step.outputs.effects, index=False)


if __name__ == "__main__":
    run(main, outputs=["coverage", "effects"])
