"""The scoreboard: every claim of the papers with its published number, ours and the verdict.

Many claims are judged at once, so each stands with a second verdict: that under Holm's procedure
(1979) over all claims of its paper that an interval decides, which keeps the chance of any false
effect in the paper at 5%. That an effect is smaller or larger than the published one is judged one
by one.
"""

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from onelayer.evidence.findings import Finding
from onelayer.evidence.pages import Link
from onelayer.evidence.sentences import HOLM, NO_ROW, primary_row, tested
from onelayer.evidence.tables import VALUE_COLUMNS, Report, interval_of, number, tidy
from onelayer.evidence.verdicts import NEGLIGIBLE, NO_DECISION, NOT_RUN, TENTH, UNDECIDED, worded

KEYS = ["paper", "finding", "claim", "tested", "place", "decided_by"]
# The one table whose rows restate others': whoever counts verdicts leaves it out.
TOGETHER = "of all together"
COLUMNS = ["paper", "claim", "where", "what was tested", "compared with", "published"]
COLUMNS += ["ours [95%]", "no effect", "verdict", TOGETHER, "table"]
LEVEL = 0.05
TITLE = "Every claim of the four papers, published and ours"


def scoreboard(
    papers: Mapping[str, Sequence[Finding]], tables: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Every claim's primary row, tidy; then its p-value within its paper with the verdict there.

    Args:
        papers: findings by the paper's title; remarks are none.
        tables: the run's tables by `<paper>/<table>`.

    Returns:
        `KEYS` and `onelayer.evidence.tables.VALUE_COLUMNS`: for every claim the row that decides it
        as its table has it (`not run` where the run has none), and, where an interval decides it, a
        row `p_holm` with Holm's adjusted p-value and the verdict that holds for all claims of the
        paper together.
    """
    rows = []
    for title, findings in papers.items():
        rows_of_paper = [_row(title, finding, tables) for finding in findings]
        p = np.array([p_value(row) for row in rows_of_paper], dtype=float)
        judged = int(np.isfinite(p).sum())
        for row, adjusted in zip(rows_of_paper, holm(p), strict=True):
            rows.append(row)
            if not math.isnan(adjusted):
                verdict = row["verdict"] if adjusted <= LEVEL else UNDECIDED
                claim = {key: row[key] for key in [*KEYS, "kind"]}
                together = {"quantity": HOLM, "value": adjusted, "n": judged, "verdict": verdict}
                rows.append(claim | together)
    return tidy(pd.DataFrame(rows, columns=[*KEYS, *VALUE_COLUMNS]), KEYS)


def claims(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the claims alone, without those of Holm's procedure."""
    return table[table["quantity"] != HOLM]


def _row(title: str, finding: Finding, tables: Mapping[str, pd.DataFrame]) -> dict:
    claim = {"paper": title, "finding": finding.name, "claim": finding.claim}
    claim |= {"tested": tested(finding), "place": finding.place, "decided_by": finding.table}
    row = primary_row(finding, tables)
    if row is None:
        quantity = str(finding.primary.get("quantity", ""))
        nothing = dict.fromkeys(VALUE_COLUMNS, math.nan) | {"quantity": quantity}
        return nothing | claim | {"kind": finding.kind, "verdict": NOT_RUN, "note": NO_ROW}
    numbers = row.reindex(VALUE_COLUMNS).to_dict()
    return numbers | claim | {"kind": row["kind"] or finding.kind}


def p_value(row: Mapping[str, object]) -> float:
    """How surprising the row would be if what its verdict excludes were true; NaN: no interval.

    Of a `negligible` effect what is excluded is one of a tenth (of a direction: what matters) on
    either side, of all others no effect. From the distance to that in units of the interval's half
    on that side, the lesser of two: Student's t with one degree of freedom less than there are
    runs, or the normal law where the interval rests on none. An interval of no width, and what is
    compared without a value of no effect (bounds, most numbers of theorems), give none.

    Args:
        row: of a tidy table.
    """
    share, low, high = (row[name] for name in ("effect_share", "effect_low", "effect_high"))
    if math.isnan(row["reference"]) or any(map(math.isnan, (share, low, high))) or not high > low:
        return math.nan
    edges = (0.0,)
    if row["verdict"] == NEGLIGIBLE:
        direction = math.isnan(row["published"]) and row["kind"] != "control"
        tenth = row["tolerance"] if direction else TENTH
        edges = -tenth, tenth
    halves = [share - low if edge < share else high - share for edge in edges]
    apart = [abs(share - e) / half for e, half in zip(edges, halves, strict=True) if half > 0]
    if not apart:
        return math.nan
    distance, runs = min(apart), row["runs"]
    if math.isnan(runs) or runs < 2:
        return float(2 * ndtr(-distance * ndtri(0.975)))
    return float(2 * stdtr(runs - 1, -distance * stdtrit(runs - 1, 0.975)))


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's (1979) adjusted p-values.

    The i-th smallest of m is multiplied by m + 1 - i; none falls below one before it.

    Args:
        p: [claims], each of a test by itself; NaN of a claim without one.

    Returns:
        [claims], in the order given; NaN stay NaN and do not count among the m.
    """
    adjusted, order = np.empty(len(p)), np.argsort(p)  # NaN last
    remaining = np.isfinite(p).sum() - np.arange(len(p))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, remaining * p[order]))
    return adjusted


def readable(table: pd.DataFrame, tables: Collection[str], folder: str = "..") -> pd.DataFrame:
    """A row a claim: what the paper says, its number, ours, the verdict.

    Args:
        table: `scoreboard`.
        tables: those that the run has, `<paper>/<table>`.
        folder: where the folders of the papers' tables lie, from the page that shows it.

    Returns:
        Texts, the name of a table that the run has a link to it; a column for Holm's verdict where
        it differs anywhere.
    """
    rows = []
    for _, of_claim in table.groupby(["paper", "finding"], sort=False):
        row = claims(of_claim).iloc[0]
        together = of_claim.loc[of_claim["quantity"] == HOLM, "verdict"].tolist()
        digits, name = _digits(row), row["decided_by"].partition("/")[2]
        there = row["decided_by"] in tables
        rows.append(
            {
                "paper": row["paper"],
                "claim": row["claim"],
                "where": row["place"],
                "what was tested": row["tested"],
                "compared with": row["kind"],
                "published": number(row["published"], digits),
                "ours [95%]": interval_of(row, digits),
                "no effect": number(row["reference"], digits),
                "verdict": worded(row),
                TOGETHER: next((v for v in together if v != row["verdict"]), ""),
                "table": Link(name, f"{folder}/{row['decided_by']}") if there else name,
            }
        )
    shown = pd.DataFrame(rows, columns=COLUMNS)
    return shown if shown[TOGETHER].any() else shown.drop(columns=TOGETHER)


def _digits(row: pd.Series) -> int:
    """Digits behind the point: two of the interval's half, between 2 and 5."""
    half = (row["high"] - row["low"]) / 2
    size = half if half > 0 else abs(row["value"]) / 100
    if math.isnan(size) or size == 0:
        return 2
    return int(np.clip(1 - math.floor(math.log10(size)), 2, 5))


def notes(table: pd.DataFrame) -> list[str]:
    """What a reader must know, the number of verdicts that chance alone would make among it."""
    by_chance = []
    for paper, by_holm in table[table["quantity"] == HOLM].groupby("paper", sort=False):
        first = claims(table[table["paper"] == paper])
        firm = ~first["verdict"].isin(NO_DECISION)
        decided = int((first["finding"].isin(by_holm["finding"]) & firm).sum())
        kept = int((~by_holm["verdict"].isin(NO_DECISION)).sum())
        by_chance.append(
            f"{paper}: {len(by_holm)} claims are judged by an interval. Were there no effect in "
            f"any of them, {LEVEL * len(by_holm):.1f} false verdicts would be expected by chance; "
            f"{decided} are decided, and {kept} of these hold for all of the paper's claims "
            "together (Holm)."
        )
    return [
        "Each claim is decided by one row, named where it is declared; the other rows of its "
        f"table describe. '{TOGETHER}' is the verdict under Holm's procedure over all claims of "
        "the paper, where that is another one: whether there is an effect. That one is smaller or "
        "larger than the published one is judged claim by claim.",
        "An analogue is a smaller or other model, or another text, than the paper's: it says "
        "nothing of whether the paper's own result holds.",
        "Ours: the row's number. No effect: the row's own null, where one was measured, else the "
        "value that theory gives to no effect; shares of the effect are from there.",
        *by_chance,
    ]


def report(papers: Mapping[str, Sequence[Finding]], tables: Mapping[str, pd.DataFrame]) -> Report:
    """The scoreboard with all that its readers see."""
    table = scoreboard(papers, tables)
    return Report(table, readable(table, tables), TITLE, notes(table))
