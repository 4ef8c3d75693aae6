"""What the claims of Local to Global say about tables made by hand."""

import numpy as np
import pandas as pd
import pytest

from onelayer.errors import OnelayerError
from onelayer.evidence.findings import Finding
from onelayer.evidence.tables import tidy
from onelayer.papers.local_to_global import claims, open_problem_tables, open_problems
from onelayer.papers.local_to_global.chain import Chain, MarkovSource
from onelayer.papers.local_to_global.findings import FINDINGS
from onelayer.settings.local_to_global import SourceSettings
from onelayer.settings.root import default_settings

LTG = default_settings().local_to_global
STICKY = SourceSettings(name="sticky", transitions=[[0.8, 0.2], [0.2, 0.8]])
RESTLESS = SourceSettings(name="restless", transitions=[[0.1, 0.9], [0.9, 0.1]], depths=[1, 2])
TRAINING = LTG.transformer.training
ABOVE = Chain(0.5, 0.8)
GAP = ABOVE.unigram_entropy - ABOVE.bigram_entropy


def judged(found: list[claims.Claim]) -> pd.DataFrame:
    """The claims as a table, over seeds."""
    table = claims.tabulated(found)
    return table[table["seed"] == "all"]


def trained(standard: list[float], paper: list[float]) -> pd.DataFrame:
    """Final losses of seeds from both starts, as shares of the way down to the bigram entropy."""
    rows = [
        {"initialisation": name, "seed": str(seed), "quantity": "final_loss", "n": 1}
        | {"value": ABOVE.unigram_entropy - way * GAP}
        for name, ways in (("standard", standard), ("paper", paper))
        for seed, way in enumerate(ways)
    ]
    rows += [
        {"initialisation": name, "seed": "all", "quantity": "final_loss"}
        for name in ("standard", "paper")
    ]
    return tidy(rows, ["initialisation", "seed"])


def test_the_guideline_is_the_difference_of_the_two_starts_seed_by_seed():
    """Seeds differ by more than the starts do, and the starts of a seed do not."""
    table = trained([0.0, 0.3, 0.6], [0.4, 0.7, 1.0])
    missing = claims._untrained(table)
    [row] = judged([claims._guideline(table, missing, TRAINING, ABOVE)]).to_dict("records")
    assert row["effect_share"] == pytest.approx(0.4)
    assert row["low"] == pytest.approx(row["high"])
    assert (row["verdict"], row["kind"]) == ("smaller", "analogue")
    stood = table.assign(verdict=np.where(table["seed"] == "all", "not reached", ""))
    found = judged([claims._guideline(stood, claims._untrained(stood), TRAINING, ABOVE)])
    assert found[["verdict", "note"]].to_numpy().tolist() == [
        ["not reached", "a run did not train"]
    ]


def test_the_matrix_that_is_furthest_from_rank_one_stands_for_all():
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
    trained = dict.fromkeys(("standard", "rank_one"), "")
    found = judged(claims._rank_one(table, theirs, trained, "analogue"))
    assert found["value"].tolist() == [0.92, 0.49, 0.9999999]
    assert found["verdict"].tolist() == ["undecided", "undecided", "reproduced"]
    assert found["kind"].tolist() == ["analogue", "published", "analogue"]
    missing = dict.fromkeys(("standard", "rank_one"), "it did not train")
    stood = judged(claims._rank_one(table, theirs, missing, "analogue"))
    assert stood["verdict"].tolist() == ["not reached", "undecided", "not reached"]


def test_small_starts_are_counted_where_each_side_says_they_end():
    rows = [
        {"p": p, "q": p, "sigma": 0.02, "quantity": quantity, "value": value, "n": 100}
        for p, values in ((0.1, (0.98, 0.02)), (0.9, (0.01, 0.96)))  # three come to no rest
        for quantity, value in zip(("global_share", "local_share"), values, strict=True)
    ]
    found = judged([claims._near_origin(pd.DataFrame(rows), "Fig. 1", "(e, w)")])
    assert found[["value", "n"]].to_numpy().tolist() == [[(98 + 96) / 200, 100]]
    assert found["verdict"].tolist() == ["smaller"]


def test_the_count_of_flows_in_a_sentence_is_that_of_each_chain():
    """The interval counts starts that all chains share once; there are more flows than that."""
    decided = [one for one in FINDINGS if isinstance(one, Finding)]
    said = [one.number for one in decided if one.primary.get("quantity") == "share_of_flows"]
    assert len(said) == 4 and all("starts on each chain" in number for number in said)


def test_shares_of_all_scales_may_be_off_by_what_95_of_100_draws_stay_within():
    """Simulated: the largest of 20 deviations from a half passes the bound in at most 5%."""
    random, n = np.random.default_rng(0), 200
    bound = claims.share_error(pd.Series([n] * 20))
    worst = abs(random.binomial(n, 0.5, (4000, 20)) / n - 0.5).max(axis=1)
    assert (worst > bound).mean() <= 0.05
    assert (worst > bound / 2).mean() > 0.5  # and it is no bound that all would pass


def test_the_second_eigenvalue_says_which_chain_should_leave_the_unigram_model():
    rows = [
        {"source": own.name, "depth": depth, "seed": seed, "iteration": iteration}
        | {"loss": np.log(2) - gap * (way + seed / 100 if iteration else -0.1)}
        for own, way in ((STICKY, 0.9), (RESTLESS, 0.8))
        for gap in [np.log(2) - MarkovSource.of(own.transitions).entropy(1)]
        for depth in own.depths
        for seed in range(3)
        for iteration in (0, 10)
    ]
    table = learned(pd.DataFrame(rows), STICKY, RESTLESS)
    found = table[table["quantity"] == "way_closed"]
    assert found["verdict"].tolist() == ["reproduced", "opposite", ""]
    assert found["kind"].tolist() == ["analogue", "analogue", ""]


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
    assert found["value"].tolist() == pytest.approx([3e-12, 2e-13, 16 / 128])
    assert found["n"].tolist() == [8, 8, 64]  # both chains have the same starts
    assert found["verdict"].tolist() == ["larger", "reproduced", "smaller"]


def test_of_a_saddle_flows_stay_near_it_and_do_not_end_at_it():
    """They reach the minima beside it: how near it they end is all that is counted."""
    key = {"p": 0.1, "q": 0.1, "point": "saddle", "n": 64, "published": np.nan}
    errors = [key | {"quantity": name, "value": 0.0} for name in ("loss", "gradient_norm")]
    rows = [*errors, key | {"quantity": "share_returning", "value": 20 / 64}]
    table = tidy(rows, ["p", "q", "point"])
    found = judged(claims._critical_points(table, "Theorem 1", "(e, w)")).iloc[2:]
    assert found["quantity"].tolist() == ["share_that_stays", "share_that_leaves"]
    assert found["value"].tolist() == [20 / 64, 44 / 64]
    assert found["note"].str.contains("end near it at its loss").tolist() == [True, False]


def test_held_out_sequences_that_lack_a_context_are_refused():
    settings = LTG.open_problems.but(
        sources=[{"name": "stuck", "transitions": [[0.9999, 0.0001], [0.0001, 0.9999]]}],
        sequence_length=8, evaluate_on=1, iterations=1, batch=1, seeds=2,
    )  # fmt: skip
    with pytest.raises(OnelayerError, match=r"evaluate_on = 1: .* lack 1 contexts of 'stuck'"):
        open_problems.train_sources(settings)


@pytest.mark.parametrize("rows", [[[0.3, 0.7], [0.3, 0.7]], [[1, 0], [0.5, 0.5]]])
def test_a_source_whose_past_tells_nothing_is_refused(rows):
    settings = LTG.open_problems.but(
        sources=[{"name": "still", "transitions": rows}], sequence_length=8, iterations=1, seeds=2
    )
    with pytest.raises(OnelayerError, match=r"'still': the symbols before tell nothing"):
        open_problems.train_sources(settings)


@pytest.mark.parametrize(
    ("block", "given"),
    [
        (LTG.attention_flow, {"sigmas": [0.1, 0.1]}),
        (LTG.attention_flow, {"independent": [0.5, 0.5]}),
        (LTG.open_problems, {"sources": [STICKY.model_dump() | {"depths": [1, 1]}]}),
    ],
)
def test_what_stands_twice_is_refused(block, given):
    """Its flows counted twice, or its runs had two rows."""
    with pytest.raises(ValueError, match=r"is given twice; each once"):
        block.but(**given)


def learned(curves: pd.DataFrame, *sources: SourceSettings) -> pd.DataFrame:
    """The table of the sources' curves."""
    return open_problem_tables.open_problems(curves, list(sources), 64, 16, 400).table


def test_the_way_closed_is_0_at_the_unigram_and_1_at_the_best_entropy():
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
    table = learned(curves, STICKY).set_index("quantity")
    assert table.loc["way_closed", "value"] == pytest.approx(0.5)
    assert table.loc["way_closed", "verdict"] == "undecided"
    assert table.loc["reached_share", ["value", "n"]].tolist() == [0.5, 2]
    assert table.loc["reached_share", "within"] == pytest.approx((entropies[0] - entropies[1]) / 10)
    still = curves.assign(loss=entropies[0])
    table = learned(still, STICKY).set_index("quantity")
    assert table.loc["way_closed", "verdict"] == "not reached"
    shown = open_problem_tables.readable(table.reset_index())
    assert shown["verdict"].tolist() == ["not reached"]
    way = open_problem_tables.with_way_closed(curves, [STICKY])
    assert way["closed"].iloc[[1, 3]].tolist() == pytest.approx([0.0, 1.0])
