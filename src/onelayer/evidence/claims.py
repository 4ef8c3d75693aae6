"""The papers' claims: `workflow/claims.yaml`, read, checked, and judged on the scoreboard."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pandas as pd
import pydantic
import yaml

from onelayer.errors import OnelayerError
from onelayer.evidence.tables import EXTRA_COLUMNS, VALUE_COLUMNS, tidy
from onelayer.evidence.verdicts import VERDICTS, holm, judge, p_value
from onelayer.settings.block import Block, Title, describe

# Of the scoreboard. `p_holm` and the verdict of all of a paper's claims together: Holm (1979).
KEYS = ["paper", "claim", "place", "kind", "counted", "rule", "table", "row"]
KEYS += ["verdict", "p_holm", "verdict_together"]
# What is counted apart from what; the first four are of the papers' own objects.
GROUPS = ["printed number", "derived number", "theorem", "direction", "stand-in", "control"]
OWN = GROUPS[:4]


class Claim(Block):
    """A claim of a paper, and the one row of a table that decides it."""

    paper: Title
    claim: str  # in plain words
    place: str  # where the paper says it: theorem, section, figure
    table: str  # <folder>/<table> below results/tables
    row: str  # pandas query that finds exactly one row of the table's CSV
    # The paper's own object; a number derived from what it prints of that; theorem; stand-in.
    kind: Literal["paper", "derived", "theory", "analogue"] = "paper"
    rule: Literal["bound", "number", "direction", "effect"] = "effect"  # `verdicts.judge`
    published: float | Literal["row"] | None = None  # what the paper prints; `row`: the row says it
    reference: str | None = None  # or a CSV file in workflow/reference,
    key: str | None = None  # a pandas query that finds its row,
    column: str = "published"  # and its column
    side: Literal[1, -1] | None = None  # direction: above or below no effect
    unit: float | None = None  # effect of a control: the effect that it is a control of
    matters: float | None = None  # the smallest difference that would matter
    tolerance: float | None = None  # how far from `published` still counts as it; else the row's
    no_effect: float | None = None  # where the row does not measure its null

    @pydantic.model_validator(mode="after")
    def _complete(self) -> "Claim":
        if (self.reference is None) != (self.key is None):
            raise ValueError("`reference` and `key` go together")
        if self.rule == "direction" and self.side is None:
            raise ValueError("rule direction needs a `side`")
        number = [self.published, self.reference, self.unit if self.rule == "effect" else None]
        if self.rule != "direction" and number.count(None) == len(number):
            raise ValueError(f"rule {self.rule} needs `published` or `reference`")
        return self

    @property
    def counted(self) -> str:
        """Which of `GROUPS` it is counted in."""
        if self.unit is not None:  # random weights, in units of the effect that is controlled
            return "control"
        if self.kind == "paper":
            return "direction" if self.rule == "direction" else "printed number"
        return {"derived": "derived number", "theory": "theorem"}.get(self.kind, "stand-in")


def load(file: Path, tables: Collection[str], references: Path) -> list[dict]:
    """The claims of `claims.yaml` as plain values, with published number and `counted`.

    Each names one of `tables`; an OnelayerError says what is wrong with which entry.
    """
    # The C loader reads 700 lines in 20 ms, the other in 250.
    entries = yaml.load(file.read_text("utf-8"), yaml.CSafeLoader)
    claims, names = [], set()
    for place, entry in enumerate(entries, 1):
        words = str(entry.get("claim", ""))[:60] if isinstance(entry, dict) else ""
        named = f"{file.name}: entry {place} ({words})"
        try:
            claim = Claim.model_validate(entry)
        except pydantic.ValidationError as error:
            raise OnelayerError(f"{named}: {describe(error.errors()[0], entry)}") from None
        if claim.table not in tables:
            raise OnelayerError(f"{named}: no rule makes the table {claim.table}")
        if (claim.paper, claim.claim) in names:
            raise OnelayerError(f"{named}: an entry before it has the same words")
        names.add((claim.paper, claim.claim))
        claims.append(claim.model_dump(exclude_none=True) | {"counted": claim.counted})
        if claim.reference:
            published = pd.read_csv(references / claim.reference)
            row = one_row(f"{named}: {claim.reference}", published, claim.key) or {}
            number = pd.to_numeric(row.get(claim.column), errors="coerce")
            if pd.isna(number):
                wanted = f"number in column {claim.column} where {claim.key}"
                raise OnelayerError(f"{named}: {claim.reference} has no {wanted}")
            claims[-1]["published"] = float(number)
    return claims


def one_row(named: str, table: pd.DataFrame, query: str) -> dict | None:
    """The row that a query finds, or None; `OnelayerError` if it finds two, or no such column."""
    try:
        found = table.query(query, engine="python")
    except Exception as error:  # pandas has a dozen kinds
        raise OnelayerError(f"{named}: {query}: {error}") from None
    if len(found) > 1:
        raise OnelayerError(f"{named}: {query}: finds {len(found)} rows, not one")
    return found.iloc[0].to_dict() if len(found) else None


def scoreboard(claims: Sequence[Mapping], tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Every claim (of `load`) with its row and its verdict, tidy; `not run` where none is."""
    board = tidy([_judged(claim, tables.get(claim["table"])) for claim in claims], KEYS)
    board["p_holm"] = board.groupby("paper")["p_holm"].transform(lambda p: holm(p.to_numpy()))
    kept = board["verdict"].where(board["p_holm"] <= 0.05, "undecided")
    board["verdict_together"] = kept.where(board["p_holm"].notna(), "")
    return board


def _judged(claim: Mapping, table: pd.DataFrame | None) -> dict:
    named = f"claims.yaml ({claim['claim'][:60]}): {claim['table']}"
    row = None if table is None else one_row(named, table, claim["row"])
    cells = row or {}
    claim = dict(claim)
    if pd.notna(cells.get("tolerance")):
        claim.setdefault("tolerance", cells["tolerance"])
    if claim.get("published") == "row":
        claim["published"] = cells.get("published", float("nan"))
        if row and not row["state"] and pd.isna(claim["published"]):
            raise OnelayerError(f"{named}: {claim['row']}: the row has no published number")
    verdict = judge(row, claim)
    measured = {name: cells[name] for name in (*VALUE_COLUMNS, *EXTRA_COLUMNS) if name in cells}
    if pd.isna(measured.get("null")):
        measured["null"] = claim.get("no_effect")
    judged = {name: claim[name] for name in KEYS if name in claim} | measured
    judged |= {"kind": "control"} if claim["counted"] == "control" else {}
    judged |= {"published": claim.get("published"), "verdict": verdict}
    return judged | {"p_holm": p_value(row, claim, verdict)}  # adjusted by `scoreboard`


def counts(board: pd.DataFrame, by: str) -> pd.DataFrame:
    """How many claims have which verdict, by a column of the scoreboard, [by, verdicts]."""
    counted = pd.crosstab(board[by], board["verdict"]).reindex(columns=VERDICTS, fill_value=0)
    order = GROUPS if by == "counted" else board[by].unique()
    return counted.loc[[name for name in order if name in counted.index]]
