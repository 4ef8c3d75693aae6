"""Train W and V together on decision lists: near V = cP, and from small random starts."""

import pandas as pd

from onelayer.papers.decision_lists import starts
from onelayer.settings.decision_lists import JointSettings, size_of
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings = step.settings
    near, small = [], []
    for start in step.progress(settings.near, unit="start"):
        problems = [starts.Problem(*size_of(start), s, start.sequences) for s in start.seeds]
        for epsilon in start.epsilon:
            how = start.scale, start.delta, start.steps, start.fresh
            near.append(starts.near_runs(problems, epsilon, *how))
    for start in step.progress(settings.small, unit="start"):
        problems = [starts.Problem(*size_of(start), seed) for seed in start.seeds]
        how = start.optimiser, start.eta, start.deviation, start.steps
        small.append(starts.small_runs(problems, *how))
    pd.concat(near, ignore_index=True).to_parquet(step.outputs.near)
    runs, histories = zip(*small, strict=True)
    pd.concat(runs, ignore_index=True).to_parquet(step.outputs.small)
    pd.concat(histories, ignore_index=True).to_parquet(step.outputs.small_history)


if __name__ == "__main__":
    run(main, settings=JointSettings, outputs=["near", "small", "small_history"])
