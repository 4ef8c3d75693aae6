"""Do values learn before attention? One statistic in the models of all four papers.

Li, Li & Risteski (2023) find two stages, W_V first; Tian et al. (2023) assume a decoder that learns
faster than attention; the others do not ask. Of every run: the time at which the attention logits
have come a tenth of their way (the greatest distance from the start) over the time from which on
the value circuit stays within a tenth of its own way of where it ends. Above 1 there are two
stages. Values that only move away are done at nine tenths of their way; values that come back are
not done on their way out. Values whose loss asks for ever larger numbers are never done; beside the
time at which they begin the order shows all the same.
"""

import numpy as np
import pandas as pd

from onelayer.evidence.claims import BEYOND, NOTES, Claim, of_seeds, readable, tabulated
from onelayer.evidence.tables import table
from onelayer.evidence.verdicts import TENTH, Direction
from onelayer.papers import PAPERS

DONE, BEGUN = "doublings_from_values_done", "doublings_from_values_begun"
HALF = "doublings_from_values_done_at_half"
MOVING = {name: f"share_of_{name}_moved_at_end" for name in ("value", "attention")}
BACK = "share_of_value_taken_back"
EARLY, END = 0.1, 0.9  # of the way, and of the steps
FALL = 0.05  # of the loss at the start: with less, nothing was learned
STILL = f"no run went to its end with a loss that had fallen by {FALL:.0%}"
NAMES = {"sgd": "SGD", "adam": "Adam"}
LEARNT = "values are learned before attention"
CASE = ["paper", "optimizer", "scale", "ratio"]
# Two stages, as wide apart as a tenth of a doubling: what matters.
FIRST = Direction(0.0, 1, matters=TENTH, kind="analogue")


def reached(step: np.ndarray, distance: np.ndarray) -> float:
    """When a distance first came to a tenth of its greatest value, between two times on a line.

    Args:
        step: rising from 0, [n].
        distance: from the start, 0 at first, [n].

    Returns:
        NaN where nothing moved or the run diverged.
    """
    level = EARLY * distance.max()
    if not level > 0:
        return float("nan")
    place = int(np.argmax(distance >= level))
    return float(np.interp(level, distance[place - 1 : place + 1], step[place - 1 : place + 1]))


def settled(step: np.ndarray, distance: np.ndarray) -> float:
    """From when on a distance stays within a tenth of its greatest value of its last.

    Nine tenths of the way where it only rises. Arguments and NaN as of `reached`.
    """
    within = EARLY * distance.max()
    if not within > 0:
        return float("nan")
    apart = np.abs(distance - distance[-1])
    place = int(np.flatnonzero(apart > within)[-1])
    # The last step inwards may pass the last value, not by more than `within`.
    near = apart[place + 1]
    if (distance[place] - distance[-1]) * (distance[place + 1] - distance[-1]) < 0:
        near = -near
    part = (apart[place] - within) / (apart[place] - near)
    return float(step[place] + part * (step[place + 1] - step[place]))


def of_run(run: pd.DataFrame) -> dict[str, float]:
    """When attention begins beside values, done and begun; how far both move at the end, or back.

    NaN where the loss did not fall, its last tenth beside its first value.
    """
    run = run.sort_values("step")
    step = run["step"].to_numpy(dtype=float)
    value, attention, loss = (run[name].to_numpy() for name in ("value", "attention", "loss"))
    last = step >= END * step[-1]
    if not loss[last].mean() < (1 - FALL) * loss[0]:
        return dict.fromkeys((DONE, BEGUN, HALF, *MOVING.values(), BACK), np.nan)
    begins, half = reached(step, attention), step <= step[-1] / 2
    return {
        DONE: np.log2(begins / settled(step, value)),
        BEGUN: np.log2(begins / reached(step, value)),
        HALF: np.log2(reached(step[half], attention[half]) / settled(step[half], value[half])),
        **{
            MOVING[name]: abs(moved[-1] - np.interp(END * step[-1], step, moved)) / moved.max()
            for name, moved in (("value", value), ("attention", attention))
        },
        BACK: 1 - value[-1] / value.max(),
    }


def readable_cases(table: pd.DataFrame) -> pd.DataFrame:
    """The claims for readers, each with its paper."""
    shown = readable(table).drop(columns=["claim", "place"])
    shown.insert(0, "paper", table["paper"].map(PAPERS).to_numpy())
    return shown


@table(
    "all_papers/value_before_attention",
    "Values and attention",
    "table: values before attention",
    title="Do values learn before attention?",
    notes=[
        f"{DONE}: log2 of the time at which the attention logits have come a tenth of their way "
        "over that from which on the value circuit stays within a tenth of its own way of where "
        "it ends, which is nine tenths of the way where it only moves away; above 0 there are two "
        f"stages. {BEGUN}: the same over the time at which values have come a tenth of "
        "their way; above 0 values begin first, though both may then move together.",
        "Way: the greatest Frobenius distance from the start. Two circuits that move alike have "
        "0 of the latter, and of the former log2(1 / 9) = -3.2 on a line and -4.5 on an "
        "exponential approach to rest: below 0 says that there are not two stages, not that "
        "attention is first.",
        f"{MOVING['value']}, {MOVING['attention']}: the share of the way in the last tenth of the "
        "steps, .1 at an even pace; where it is large, circuits have not come to rest and the "
        f"times depend on the steps. {HALF}: as if training had ended at half of its steps. "
        f"{BACK}: the share of the values' way that is undone at the end.",
        "Way and done were the last distance and nine tenths of it until a first run, whose "
        "chain's transformers took most of their values back: they had nine tenths of what they "
        "kept on the way out. SGD's rate on chains was 5, where runs diverged.",
        "Circuits: W_V and W_K^T W_Q on one-hot words; the decoder Y and the logits Z; V and W; "
        "W_O W_V and W_Q^T W_K. Scale multiplies their usual start; ratio is attention's learning "
        "rate over that of all else. Constant rates, no momentum.",
        "No paper asks this of the others' models, and the sizes are small: all rows are "
        "analogues.",
        *NOTES,
    ],
    readable=readable_cases,
    reads={"distances": "follow_circuits.distances"},
)
def value_before_attention(distances: pd.DataFrame) -> pd.DataFrame:
    """Of every case when attention begins beside values, done and begun, and whether these rest."""
    runs = distances.groupby([*CASE, "seed"], sort=False)
    per_run = pd.DataFrame({key: of_run(run) for key, run in runs}).T
    per_run.index.names = [*CASE, "seed"]
    claims = []
    for (paper, optimizer, scale, ratio), of_case in per_run.groupby(CASE, sort=False):
        keys = {"paper": paper, "optimizer": optimizer, "scale": scale, "ratio": ratio}
        setting = f"{optimizer}, start x {scale:.15g}, attention's rate x {ratio:.15g}"
        by_seed = of_case.droplevel(CASE)
        missing = STILL if by_seed[DONE].isna().all() else ""
        claims += [
            Claim(claim, BEYOND, setting, quantity, of_seeds(by_seed[quantity], *bounds), note,
                  side=side, keys=keys, missing=missing)
            for claim, quantity, note, side, bounds in (
                (LEARNT, DONE, "doublings of time", FIRST, ()),
                ("values begin before attention", BEGUN, "doublings of time", FIRST, ()),
                (LEARNT, HALF, "doublings of time", None, ()),
                (LEARNT, MOVING["value"], "of the values' way", None, (0, 1)),
                (LEARNT, MOVING["attention"], "of attention's way", None, (0, 1)),
                (LEARNT, BACK, "of the values' way", None, (0, 1)),
            )
        ]  # fmt: skip
    return tabulated(claims)
