"""The one training loop: W alone, V alone, or both, until every query is right."""

import pandas as pd


def train(problem, steps: int, record_every: int = 1) -> pd.DataFrame:
    """Take steps until every query is right, or so many of them.

    Args:
        problem: parameters on their way. `look()`, called once a step, says whether every query is
            right; `measure()` is what the history records of them; `advance()` takes one step.

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
