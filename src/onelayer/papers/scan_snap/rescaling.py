"""How the time of the phase transition scales with the learning rates: its exponents' fixed sum.

Tian et al. (2023) say that the transition is controllable by both rates, and give no exponents.
Their sum follows from time alone. In the limit of small steps SGD with momentum m is the flow
dY/dk = -lr_Y / (1 - m) grad_Y, dZ/dk = -lr_Z / (1 - m) grad_Z in iterations k. Divide both by s:
the same path, s times as slow: any time on it is T(lr_Y / s, lr_Z / s) = s T(lr_Y, lr_Z).
By Euler's theorem on homogeneous functions d log T / d log lr_Y + d log T / d log lr_Z = -1, power
law or not: locally T goes as lr_Y^a lr_Z^b with a + b = -1.

What steps of finite size change to first order: momentum comes m / (1 - m) iterations late, the
mean age of the gradients in it, so that T = T_flow + m / (1 - m) and a + b = -1 + m / ((1 - m) T).
Where this is no more than a tenth steps count as small, and it is the tolerance.
"""

from collections.abc import Iterator

import pandas as pd

from onelayer.evidence.claims import BEYOND, Claim, of_seeds
from onelayer.evidence.verdicts import TENTH, THEORY
from onelayer.papers.scan_snap.measures import RATES, transition_exponents, transition_times_by_run

SUM = "sum_of_exponents"


def rescaling_claims(transitions: pd.DataFrame, momentum: float) -> Iterator[Claim]:
    """Both exponents and their sum; `level` is by how much the rates are divided."""
    late = momentum / (1 - momentum)
    for slower, runs in transitions.groupby("slower"):
        times = transition_times_by_run(runs)
        slopes, typical = transition_exponents(times), times["time"].median()
        delay = late * (1 / times["time"]).mean()
        keys = {"level": slower, "nearest": int(slower == transitions["slower"].max())}
        setting = f"synthetic, rates divided by {slower}"
        note = f"of the time of the phase transition, {typical:g} iterations in the median"
        words = "a phase transition that is controllable by the learning rates of the two layers"
        for rate in reversed(RATES):
            number = of_seeds(slopes[rate])
            yield Claim(words, "abstract", setting, f"{rate}_exponent", number, note, keys=keys)
        small = {"compared": THEORY, "published": -1.0, "tolerance": delay, "kind": "analogue"}
        note += f"; momentum's delay takes {delay:.2f} off its size"
        yield Claim("the exponents of both rates add up to -1 where steps are small", BEYOND,
                    setting, SUM, of_seeds(slopes.sum(axis=1, skipna=False)), note, keys=keys,
                    **(small if delay <= TENTH else {}))  # fmt: skip
