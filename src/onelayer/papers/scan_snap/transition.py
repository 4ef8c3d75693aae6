"""The phase transition against both learning rates: when attention stops gathering speed."""

import numpy as np
import pandas as pd

from onelayer.papers.scan_snap.measures import trajectories, transition_times

RATES = ["lr_Z", "lr_Y"]


def times_by_run(simulated: pd.DataFrame) -> pd.DataFrame:
    """Columns `lr_Z`, `lr_Y`, `seed`, `time` (iterations), a row for each run that went through.

    Args:
        simulated: `simulation.simulate` of one size, observed at every iteration.
    """
    whole = simulated[simulated["diverged_at"] < 0]
    found = []
    for (lr_Z, multiplier), runs in whole.groupby(["lr_Z", "lr_Y_multiplier"]):
        seeds = np.unique(runs["seed"])  # in the order of `trajectories`
        times = transition_times(*trajectories(runs))
        rates = {"lr_Z": lr_Z, "lr_Y": lr_Z * multiplier}
        found.append(pd.DataFrame({**rates, "seed": seeds, "time": times}))
    return pd.concat(found, ignore_index=True)


def exponents(times: pd.DataFrame) -> pd.DataFrame:
    """Slopes of log time on log lr_Z and log lr_Y together, a row per seed.

    NaN where a run of the seed has no time, or the rates do not tell the two slopes apart.

    Args:
        times: `times_by_run`.
    """
    rows = {}
    for seed, runs in times.groupby("seed"):
        logs = np.log(runs[RATES].to_numpy(dtype=float))
        logs -= logs.mean(axis=0)
        if runs["time"].isna().any() or np.linalg.matrix_rank(logs) < len(RATES):
            rows[seed] = [np.nan] * len(RATES)
            continue
        rows[seed] = np.linalg.lstsq(logs, np.log(runs["time"].to_numpy()), rcond=None)[0]
    return pd.DataFrame.from_dict(rows, orient="index", columns=RATES)
