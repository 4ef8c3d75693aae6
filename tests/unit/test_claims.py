"""Claims about the table of claims that every paper has: what judges them, what readers see."""

import math

import pandas as pd
import pytest

from onelayer.evidence.claims import Claim, alone, of_seeds, readable, tabulated
from onelayer.evidence.intervals import mean
from onelayer.evidence.verdicts import THEORY, Direction, Number

FOUND = {"value": 1.25, "low": 1.125, "high": 1.5, "n": 4}
ABOVE, BELOW = Direction(1.0, 1), Direction(1.0, -1)


def claim(**changed) -> Claim:
    given = {"claim": "it grows", "place": "section 5", "setting": "default", "quantity": "slope"}
    return Claim(**given | {"estimate": FOUND, "note": "a slope"} | changed)


def test_a_published_number_is_compared_with_before_the_side_of_a_claim() -> None:
    assert claim().comparison() is None
    assert claim(side=BELOW).comparison() == BELOW
    assert claim(published=2.0).comparison() == Number(None)
    assert claim(side=BELOW, published=2.0).comparison() == Number(1.0)
    assert claim(side=BELOW, compared=THEORY).comparison() == THEORY
    analogue = Direction(1.0, -1, kind="analogue")
    assert claim(side=analogue, published=2.0).comparison() == Number(1.0, "analogue")


def test_seeds_stand_below_all_claims_and_are_not_judged() -> None:
    seeds = pd.Series([1.0, 1.5], [0, 7])
    claims = [claim(side=ABOVE, seeds=seeds, keys={"size": 3}), claim(side=BELOW)]
    table = tabulated([*claims, claim(estimate=alone(2, 9), missing="it stood", published=2.0)])
    assert table.index.tolist() == [0, 1, 2, 3, 4]
    columns = ["seed", "size", "value", "n", "verdict", "note"]
    assert table[columns].to_numpy().tolist() == [
        ["all", 3, 1.25, 4, "reproduced", "a slope"],
        ["all", "", 1.25, 4, "opposite", "a slope"],
        ["all", "", 2.0, 9, "not reached", "a slope; it stood"],
        ["0", 3, 1.0, 1, "", "this seed alone"],
        ["7", 3, 1.5, 1, "", "this seed alone"],
    ]
    assert table["runs"].tolist() == pytest.approx([4, 4] + [math.nan] * 3, nan_ok=True)


def test_readers_see_claims_over_seeds_and_what_each_is_compared_with() -> None:
    seeds = pd.Series([1.0, 1.5])
    shown = readable(
        tabulated(
            [
                claim(side=ABOVE, seeds=seeds),
                claim(side=BELOW),
                claim(side=BELOW, published=2.0),
                claim(estimate=alone(2, 9)),
            ]
        )
    )
    columns = ["value [95%]", "seeds", "compared with", "verdict"]
    assert shown[columns].to_numpy().tolist() == [
        ["1.250 [1.125, 1.500]", "4", "> 1", "reproduced"],
        ["1.250 [1.125, 1.500]", "4", "< 1", "opposite"],
        ["1.250 [1.125, 1.500]", "4", "2.000", "smaller (25% of the effect)"],
        ["2.000", "9", "–", "–"],
    ]


def test_a_number_of_one_seed_is_not_exact() -> None:
    for estimate, verdict in ((of_seeds([1.5]), "undecided"), (alone(1.5, 1), "smaller"),
                              (of_seeds([]), "not run")):  # fmt: skip
        [judged] = tabulated([claim(estimate=estimate, compared=THEORY, published=2.0)])["verdict"]
        assert judged == verdict
    assert tabulated([claim(estimate=of_seeds([1.5]))])["verdict"].tolist() == [""]


def test_seeds_that_give_no_number_do_not_count() -> None:
    assert of_seeds(pd.Series([1.0, math.nan, 3.0])) == mean([1.0, 3.0])
    assert of_seeds([0.1, 0.9], least=0.0, most=1.0) == mean([0.1, 0.9], least=0.0, most=1.0)
