"""All claims of Li, Li & Risteski (2023) that are measured, in one table: to tick the paper off.

What another table of the paper measures stands here as it stands there.
"""

from collections.abc import Callable, Iterable, Mapping

import pandas as pd

from onelayer.claims import KEYS, Claim, tabulated
from onelayer.claims import NOTES as ON_CLAIMS
from onelayer.papers.topic_structure.synthetic.claims import (
    EMBEDDINGS,
    FINITE,
    NEAR_ZERO,
    PAPERS_STEP,
    PAPERS_STEP_TOLERANCE,
    REACHED,
    STAGE_1,
    STAGE_2,
)
from onelayer.tables import ALL, VALUE_COLUMNS
from onelayer.verdicts import Direction

OBSERVATION = "Observation: two-stage optimization process"
PICTURED = "cross-entropy, SGD"
WIKIPEDIA = "Experiment result on Wikipedia dataset"


def assemble(tables: Mapping[str, pd.DataFrame], claims: Iterable[Claim]) -> pd.DataFrame:
    """All claims, tidy: those of other tables, then those that are measured for this one.

    Args:
        tables: `theory_gap`, `two_stage`, `stage_two_ratio`, `attention_by_optimizer` and
            `wikipedia_claims`, as they were written.
        claims: `synthetic.claims`.
    """
    taken = [
        _gaps(tables["theory_gap"]),
        _attention(tables["attention_by_optimizer"]),
        _ratios(tables["stage_two_ratio"]),
        _wikipedia(tables["wikipedia_claims"]),
    ]
    measured = tabulated([*_stages(tables["two_stage"]), *claims])
    return pd.concat([*taken, measured], ignore_index=True)


def _taken(
    rows: pd.DataFrame,
    claim: Callable[[pd.Series], str],
    place: Callable[[pd.Series], str],
    setting: Callable[[pd.Series], str],
) -> pd.DataFrame:
    """Rows of another table under the keys of this one; verdicts stay as they are."""
    keys = {"claim": claim, "place": place, "setting": setting, "seed": lambda _: ALL}
    named = {key: [text(row) for _, row in rows.iterrows()] for key, text in keys.items()}
    return rows.assign(**named)[[*KEYS, *VALUE_COLUMNS]]


def _gaps(table: pd.DataFrame) -> pd.DataFrame:
    theorem = (table["quantity"] == "gap") & table["published"].notna()
    return _taken(
        table[theorem],
        lambda row: f"the average difference of {row['parameter']} is 1 / (v (1 - (1 - p_c) p_m))",
        lambda row: EMBEDDINGS if row["parameter"] == "E" else STAGE_1,
        lambda row: f"{row['optimizer']}, each word masked with probability p_m",
    )


def _attention(table: pd.DataFrame) -> pd.DataFrame:
    ratios = (table["quantity"] == "topic_to_different_ratio") & (table["accounting"] == "correct")
    return _taken(
        table[ratios],
        lambda _: "same-topic-different-word attention exceeds different-topic attention",
        lambda _: f"{STAGE_2}, table",
        lambda row: (
            f"{row['variant'].replace('_', ' ')}, {row['optimizer']} "
            f"{row['learning_rate']:g}, {row['until']}"
        ),
    )


def _ratios(table: pd.DataFrame) -> pd.DataFrame:
    return _taken(
        table[table["quantity"] == "least_growth"],
        lambda _: "more topics per document: more attention to the same topic",
        lambda _: STAGE_2,
        lambda row: f"optimum, {row['documents']} documents, every tau",
    )


def _wikipedia(table: pd.DataFrame) -> pd.DataFrame:
    return _taken(
        table[table["seed"] == ALL],
        lambda row: row["claim"],
        lambda _: WIKIPEDIA,
        lambda row: f"{row['model']}, {row['overlap']}, {row['threshold']}",
    )


def _stages(table: pd.DataFrame) -> list[Claim]:
    """When the stages begin and end beside the paper's step 400, and how often in order."""
    claims = []
    said = {
        "t_V": "the norm of W_V increases significantly in stage 1, steps 0-400",
        "t_KQ": "the norms of W_K and W_Q start increasing in stage 2, steps 400-1000",
        "share_in_order": "optimization can be broken down into two stages",
    }
    whole = table[(table["seed"] == ALL) & table["quantity"].isin(said)]
    for _, row in whole.iterrows():
        times = row["quantity"] != "share_in_order"
        # The paper's picture is of cross-entropy with SGD; times of other losses are others.
        pictured = times and row["setting"].startswith(PICTURED)
        number = {"published": PAPERS_STEP, "tolerance": PAPERS_STEP_TOLERANCE} if pictured else {}
        claimed = not times and "no two stages expected" not in row["note"]
        claims.append(
            Claim(said[row["quantity"]], OBSERVATION, row["setting"], row["quantity"],
                  row[["value", "low", "high", "n"]].to_dict(), row["note"],
                  side=Direction(0.5, 1) if claimed else None,
                  missing="a run did not come to it" if row["verdict"] else "", **number)
        )  # fmt: skip
    return claims


TITLE = "Topic structure: the paper's claims"
NOTES = [
    *ON_CLAIMS,
    f"Gaps: {FINITE:.1%} beside the theorem is granted to documents of finite length; the row "
    "'exact at this length' compares with what the theorem's argument gives for them. Where a gap "
    f"differs by more than {FINITE:.1%} from the theorem, that length is why: it takes off about "
    "tau / (N (1 - tau / T)) of it.",
    "Embeddings of d < T dimensions: of contrasts that are equally good in the long run these "
    "documents favour some, so that few dimensions catch a little more than their share.",
    "The paper's steps 0-400 and 400-1000 are of one setting of cross-entropy with SGD; "
    f"{PAPERS_STEP} is read as {PAPERS_STEP} give or take {PAPERS_STEP_TOLERANCE}. Times in "
    "steps of other rates and losses stand beside it and need not agree.",
    "The theorem of stage 2 names no lambda_1 and lambda_2: the rows are the tightest ones that "
    "hold every point. With one topic in a document (tau = 1) the ratio is 1 or less, so that a "
    "band with lambda_1 of tau > 1 leaves it out.",
    f"Distances below {REACHED:g} of those at the start count as the same matrix; gradients below "
    f"{NEAR_ZERO:g} of W_V's as near 0.",
    "Without weight decay the directions that documents leave flat stay where they started: all "
    "but T + 1 in infinitely long documents. In documents of finite length they are nearly flat, "
    "and 1,000 steps do not come to their ends.",
    "Brackets: all types are as likely in every document, so that a type is no topic. What W_V "
    "learns is that a bracket lacks its partner: a negative eigenvalue, which E = W_E^T W_E "
    "cannot have.",
]
