"""Solve the reduced flow of decision lists: time to perfect classification, exactly."""

from itertools import starmap

from onelayer.errors import OnelayerError
from onelayer.papers.decision_lists.reduced import STEP, Setting
from onelayer.papers.decision_lists.sweep import follow, solve_grids
from onelayer.settings.decision_lists import ReducedFlowSettings, size_of
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings = step.settings
    grids = [(list(starmap(Setting, grid.settings())), grid.step) for grid in settings.grids]
    shown = [Setting(*size_of(size)) for size in settings.shown]
    grids.append((shown, STEP))
    solved = solve_grids(step.progress(grids, unit="grid"), settings.max_steps)
    try:
        followed = follow(shown, settings.max_steps)
    except ValueError as error:
        raise OnelayerError(f"decision_lists.shown: {error}") from None
    solved.to_parquet(step.outputs.solved)
    followed.to_parquet(step.outputs.followed)


if __name__ == "__main__":
    run(main, settings=ReducedFlowSettings, outputs=["solved", "followed"])
