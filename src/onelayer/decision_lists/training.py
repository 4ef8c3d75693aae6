"""The one training loop: W alone, V alone, or both, until every query is right."""

import pandas as pd

from onelayer.settings.decision_lists import Size


def train(problem, steps: int, record_every: int = 1) -> pd.DataFrame:
    """Take steps until every query is right, or so many of them.

    Args:
        problem: parameters on their way. `look()`, called once a step, says whether to stop, as
            where every query is right; `measure()` is what the history records of them;
            `advance()` takes one step.

    Returns:
        `step` and the problem's measures: every `record_every` steps, and at the last.
    """
    history = []
    for step in range(steps + 1):
        last = problem.look() or step == steps
        if last or step % record_every == 0:
            history.append({"step": step} | problem.measure())
        if last:
            break
        problem.advance()
    return pd.DataFrame(history)


def key_of(size: Size, seed: int) -> dict[str, int]:
    """What every row of a run begins with."""
    return {"L": size.L, "n": size.n, "m": size.m, "shortest": size.lengths[0], "seed": seed}


def together(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all runs."""
    return pd.concat(parts, ignore_index=True)
