"""Simulate seeds and documents: how often do intervals hold the truth, and what is judged?"""

from onelayer.calibration.simulation import coverage, effects
from onelayer.settings.calibration import SimulationSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings = step.settings
    coverage(settings.intervals, settings.seed).to_parquet(step.outputs.coverage, index=False)
    seeds, resamples = settings.intervals.seeds, settings.intervals.resamples
    found = effects(settings.effects, seeds, resamples, settings.seed)
    found.to_parquet(step.outputs.effects, index=False)


if __name__ == "__main__":
    run(main, SimulationSettings, [], ["coverage", "effects"])
