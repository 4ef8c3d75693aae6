"""The table of stability: every claim as on other machines and from other seeds, side by side."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from onelayer.evidence.intervals import share
from onelayer.evidence.tables import TEXTS, VALUE_COLUMNS, Report, interval_of, table, tidy
from onelayer.settings.stability import Machine
from onelayer.stability import CLAIM

KEYS = [*CLAIM, "machine", "judged"]
NAMES = [*CLAIM, "quantity"]
ALL, COVERED, SAME = "all claims", "covered_share", "same_share"
NO_VERDICT = "none"  # a key is never empty
BETWEEN_MACHINES, BETWEEN_SEEDS = "spread between machines", "spread between seeds"
CHANGED = "verdicts that change"
# What a claim on a machine brings: all that its verdict follows from.
COLUMN = [name for name in VALUE_COLUMNS if name not in ("quantity", *TEXTS)]
TITLE = "Stability: the papers' claims as on other machines and from other seeds"


def assemble(machines: Sequence[Machine], measured: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Every claim on every machine, its spreads and changed verdicts, and how many are covered.

    The verdict on a machine is the key `judged`, with all that it follows from in its row: it is
    counted where the paper's own table has it, not here once more. The first machine is what the
    others are compared with; one that was left out has no rows.
    """
    there = [(m, t) for m, t in zip(machines, measured, strict=True) if len(t)]
    everything = pd.concat([table.assign(machine=m.name) for m, table in there])
    rows = []
    for names, group in everything.groupby(NAMES, sort=False):
        claim = dict(zip(NAMES, names, strict=True))
        judged = group["verdict"].mask(group["verdict"] == "", NO_VERDICT)
        rows += group.assign(judged=judged)[[*KEYS, "quantity", "note", *COLUMN]].to_dict("records")
        spreads = _spreads([m for m, _ in there], group.set_index("machine"))
        rows += [claim | row for row in spreads]
    for machine, _ in there[1:]:
        rows += _agreement(machine, everything, machines[0].name)
    return tidy(rows, KEYS).fillna({"note": ""})


def _spreads(machines: Sequence[Machine], claim: pd.DataFrame) -> list[dict]:
    """Both spreads of one claim, and how many machines change its verdict."""
    same_seeds = claim.loc[[m.name for m in machines if not m.other_seeds]]
    values, first = same_seeds["value"].dropna(), claim.iloc[0]
    changed = claim.index[claim["verdict"] != first["verdict"]]
    between = values.std(ddof=1) if len(values) > 1 else math.nan
    error = standard_error(*first[["value", "low", "high", "runs"]])
    note = ", ".join(f"{m}: {claim['verdict'][m] or NO_VERDICT}" for m in changed)
    return [
        {"machine": name, "judged": NO_VERDICT, "value": value, "n": n, "note": note}
        for name, value, n, note in (
            (BETWEEN_MACHINES, between, len(values), ""),
            (BETWEEN_SEEDS, error, first["runs"], ""),
            (CHANGED, float(len(changed)), len(claim) - 1, note),
        )
    ]


def standard_error(value: float, low: float, high: float, runs: float) -> float:
    """What a 95% interval of a mean of runs (Student's t) says of the mean's standard deviation.

    NaN for an interval whose middle is not the mean: that of a share, or one that was cut.
    """
    centred = math.isclose(low + high, 2 * value, rel_tol=1e-9)
    if not (centred and runs > 1):
        return math.nan
    if value == 0.5 and math.isclose(low, share(int(runs) // 2, int(runs))["low"]):
        return math.nan  # the one share whose interval is centred
    return float((high - low) / 2 / stdtrit(runs - 1, 0.975))


def _agreement(machine: Machine, everything: pd.DataFrame, first: str) -> list[dict]:
    """Over all claims: shares that lie within the first machine's interval, and that are equal."""
    by_machine = everything.set_index(NAMES).groupby("machine")
    reference, other = (by_machine.get_group(name) for name in (first, machine.name))
    value = other["value"].reindex(reference.index)
    judged = reference["low"].notna() & value.notna()
    # An interval of no width covers what differs by rounding.
    slack = np.spacing(reference["high"].abs().astype(np.float32)).astype(float)
    low, high = reference["low"] - slack, reference["high"] + slack
    inside = (low <= value) & (value <= high) & judged
    measured = reference["value"].notna() | value.notna()
    equal = (reference["value"] == value) & measured
    key = {"paper": "all papers", "claim": ALL, "machine": machine.name, "judged": NO_VERDICT}
    return [
        key | {"quantity": name, "note": note} | share(int(which.sum()), int(of.sum()))
        for name, which, of, note in (
            (COVERED, inside, judged, f"within the interval of {first}"),
            (SAME, equal, measured, f"equal to {first} to the last bit"),
        )
    ]


def readable(table: pd.DataFrame, machines: Sequence[Machine]) -> pd.DataFrame:
    """A row per claim: here, the range on other machines, other seeds, spreads, verdicts."""
    same_seeds = [m.name for m in machines[1:] if not m.other_seeds]
    other_seeds = [m.name for m in machines if m.other_seeds]
    rows = []
    for (paper, claim, quantity), group in table[table["claim"] != ALL].groupby(NAMES, sort=False):
        by = group.set_index("machine")
        here, value = by.loc[machines[0].name], by["value"]
        row = {
            "paper": paper,
            "claim": claim,
            "quantity": quantity.replace("_", " "),
            "here [95%]": interval_of(here, 4),
            "on other machines": _range(value.reindex(same_seeds).dropna()),
            "from other seeds": _range(value.reindex(other_seeds).dropna()),
            BETWEEN_MACHINES: _small(value[BETWEEN_MACHINES]),
            BETWEEN_SEEDS: _small(value[BETWEEN_SEEDS]),
            "verdict": here["judged"].replace(NO_VERDICT, "–"),
            CHANGED: f"{value[CHANGED]:.0f} of {by['n'][CHANGED]:.0f}",
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _range(values: pd.Series) -> str:
    if values.empty:
        return "–"
    low, high = f"{values.min():.4f}", f"{values.max():.4f}"
    return low if low == high else f"{low} to {high}"


def _small(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2g}"


def notes(
    table: pd.DataFrame, machines: Sequence[Machine], measured: Sequence[pd.DataFrame]
) -> list[str]:
    """What a reader must know: the machines, those left out, and how many claims agree."""
    lines = [
        "Each row is one of the paper's own tables, measured again with the seeds of the settings; "
        "another machine is this one, told by environment variables to compute as that one would.",
        "Spreads: standard deviations of the value, between machines with the same seeds, and "
        "between draws of as many seeds (from its interval, where the value lies in its middle).",
    ]
    for machine, claims in zip(machines, measured, strict=True):
        switches = ", ".join(f"{name}={value}" for name, value in machine.environment.items())
        how = switches or ("other seeds" if machine.other_seeds else "no switch")
        how += f"; {machine.threads} threads" * (machine.threads > 1)
        left_out = f"Left out, the processor lacks one of {', '.join(machine.requires)}. "
        lines.append(f"{machine.name}: {left_out * (not len(claims))}{how}.")
    agreement = table[table["claim"] == ALL].set_index(["machine", "quantity"])
    for machine in agreement.index.unique("machine"):
        covered, same = (agreement.loc[(machine, name)] for name in (COVERED, SAME))
        lines.append(
            f"{machine}: {covered['value'] * covered['n']:.0f} of {covered['n']:.0f} values lie "
            f"within the interval here, {same['value'] * same['n']:.0f} of {same['n']:.0f} are "
            "equal to the last bit."
        )
    return lines


@table(
    "stability/stability",
    "Other machines, other seeds",
    "table: stability",
    reads={"claims": "measure_claims_again.claims"},
    settings={"machines": "stability.machines"},
)
def stability(claims: list[pd.DataFrame], machines: list[Machine]) -> Report:
    """Claims as on other machines and from other seeds: spreads, and verdicts that change."""
    spreads = assemble(machines, claims)
    return Report(spreads, readable(spreads, machines), TITLE, notes(spreads, machines, claims))
