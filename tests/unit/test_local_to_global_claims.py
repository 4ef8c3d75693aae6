"""What the claims of Local to Global say about tables made by hand."""

import numpy as np
import pandas as pd
import pytest

from onelayer.errors import OnelayerError
from onelayer.papers.local_to_global import claims, open_problem_tables, open_problems
from onelayer.settings.local_to_global import (
    ClaimSettings,
    OpenProblemsRunSettings,
    OpenProblemsShownSettings,
    SourceSettings,
    TrainingSettings,
    Variant,
)
from onelayer.tables import tidy

STICKY = SourceSettings(name="sticky", transitions=[[0.8, 0.2], [0.2, 0.8]])
RESTLESS = SourceSettings(name="restless", transitions=[[0.1, 0.9], [0.9, 0.1]], depths=[1, 2])


def judged(found: list[claims.Claim]) -> pd.DataFrame:
    """The claims as a table."""
    return claims.tabulated(found)


def ablated(**trapped: float) -> pd.DataFrame:
    """An ablation of ten seeds by variant."""
    ends = {1.0: (0.69, 1.0), 0.0: (0.0, 0.31)}
    rows = [
        {"variant": name, "quantity": "trapped_share", "value": value, "n": 10}
        | dict(zip(("low", "high"), ends[value], strict=True))
        for name, value in trapped.items()
    ]
    return tidy(rows, ["variant"])


def test_a_start_that_leaves_when_training_goes_on_differs_and_a_change_is_not_judged():
    variants = [
        Variant(name="as_it_is"),
        Variant(name="longer", iterations=1000),
        Variant(name="decayed", weight_decay=0.1),
        Variant(name="start", initialisation="paper"),
    ]
    settings = ClaimSettings(
        chain={"p": 0.5, "q": 0.8}, training=TrainingSettings(), variants=variants, sources=[STICKY]
    )
    table = ablated(as_it_is=1.0, longer=0.0, decayed=0.0, start=0.0)
    found = judged(claims._longer(table, settings))
    assert found["verdict"].tolist() == ["direction", "differs", "", "direction"]
    assert found["place"].tolist() == ["Fig. 4", "Fig. 4", "beyond the paper", "Fig. 4"]


def test_weights_of_the_authors_that_are_not_rank_one_stand_against_the_sentence():
    key = {"initialisation": "standard", "iteration": 200, "quantity": "top_share", "n": 5}
    ours = [
        key | {"matrix": "W_1", "value": 0.96, "low": 0.95, "high": 0.97, "published": 0.987},
        key | {"matrix": "W_Q", "value": 0.92, "low": 0.84, "high": 1.0, "published": 0.49},
    ]
    kept = {"matrix": "W_V", "value": 0.9999999, "low": 0.9999999, "high": 1.0}
    ours.append(key | kept | {"initialisation": "rank_one"})
    table = tidy(ours, ["initialisation", "matrix", "iteration"]).assign(tolerance=0.005)
    theirs = pd.DataFrame(
        {
            "initialisation": "standard",
            "matrix": ["W_1", "W_Q"],
            "iteration": 200,
            "published": [0.987, 0.49],
            "tolerance": 0.005,
        }
    )
    untrained = judged(claims._rank_one(table, theirs, trained=False))
    assert untrained["verdict"].iloc[:2].tolist() == ["not reached", "not reached"]
    found = judged(claims._rank_one(table, theirs, trained=True))
    assert found["verdict"].tolist() == ["direction", "differs", "direction", "differs", "within"]
    assert found["note"].iloc[1].endswith("holds where > 0.9: open")
    assert found["note"].iloc[3].endswith("holds where > 0.9: no")


def test_the_second_eigenvalue_says_which_chain_should_leave_the_unigram_model():
    ends = {"sticky": 0.9, "restless": 0.8}
    rows = [
        {"source": own.name, "depth": depth, "quantity": "way_closed", "value": ends[own.name]}
        | {"low": ends[own.name] - 0.05, "high": ends[own.name] + 0.05, "n": 5}
        for own in (STICKY, RESTLESS)
        for depth in own.depths
    ]
    table = tidy(rows, ["source", "depth"])
    found = judged(claims._open_problems(table, [STICKY, RESTLESS]))
    assert found["verdict"].tolist() == ["direction", "differs", ""]
    assert "second eigenvalue -0.80" in found["note"].iloc[1]


def test_flows_of_all_chains_are_counted_together_and_the_largest_error_stands_for_all():
    rows = [
        {"p": p, "point": "local maximum", "quantity": quantity, "value": value, "n": n}
        | {"q": 0.1, "published": published}
        for p, values in ((0.1, (0.6, 1e-15, 0.25)), (0.2, (0.5, 3e-12, 0.0)))
        for quantity, value, published, n in (
            ("loss", values[0], 0.5 if p == 0.2 else 0.6 + 2e-13, 4),
            ("gradient_norm", values[1], 0.0, 4),
            ("share_returning", values[2], 0.0, 64),
        )
    ]
    table = tidy(rows, ["p", "q", "point"])
    found = judged(claims._critical_points(table, "Theorem 1", "(e, w)"))
    assert found["value"].tolist() == pytest.approx([2e-13, 3e-12, 16 / 128])
    assert found["n"].tolist() == [8, 8, 128]
    assert found["verdict"].tolist() == ["within", "differs", "direction"]


def test_held_out_sequences_that_lack_a_context_are_refused():
    settings = OpenProblemsRunSettings(
        sources=[{"name": "stuck", "transitions": [[0.9999, 0.0001], [0.0001, 0.9999]]}],
        sequence_length=8, evaluate_on=1, iterations=1, batch=1, seeds=2,
    )  # fmt: skip
    with pytest.raises(OnelayerError, match=r"evaluate_on = 1: .* lack 1 contexts of 'stuck'"):
        open_problems.train_sources(settings)


def test_the_way_closed_is_0_at_the_unigram_and_1_at_the_best_entropy():
    settings = OpenProblemsShownSettings(sources=[STICKY])
    entropies = [np.log(2), -0.8 * np.log(0.8) - 0.2 * np.log(0.2)]
    curves = pd.DataFrame(
        {
            "source": "sticky",
            "depth": 1,
            "seed": [0, 0, 1, 1],
            "iteration": [0, 10, 0, 10],
            "loss": [0.9, entropies[0], 0.9, entropies[1]],
        }
    )
    table = open_problem_tables.open_problem_table(curves, settings).set_index("quantity")
    assert table.loc["way_closed", "value"] == pytest.approx(0.5)
    assert table.loc["reached_share", ["value", "n"]].tolist() == [0.5, 2]
    still = curves.assign(loss=entropies[0])
    table = open_problem_tables.open_problem_table(still, settings).set_index("quantity")
    assert table.loc["way_closed", "verdict"] == "not reached"
    table = table.reset_index().assign(source="sticky", depth=1)
    assert judged(claims._open_problems(table, [STICKY]))["verdict"].tolist() == ["not reached"]
    way = open_problem_tables.with_way_closed(curves, settings.sources)
    assert way["closed"].iloc[[1, 3]].tolist() == pytest.approx([0.0, 1.0])
