"""What the tables of Local to Global say about flows and trainings made by hand."""

import numpy as np
import pandas as pd
import pytest

from onelayer.papers.local_to_global import (
    attention_tables,
    basins,
    flow_tables,
    training_tables,
)
from onelayer.papers.local_to_global.canonical import W_SADDLE
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.theory import grid
from onelayer.settings.local_to_global import TrainingSettings, Variant
from tests.conftest import ROOT

ABOVE = Chain(0.5, 0.8)
UNIGRAM, BIGRAM = ABOVE.unigram_entropy, ABOVE.bigram_entropy


def curve(variant: str, seed: int, losses: list[float], share: float = 0.95) -> pd.DataFrame:
    """A run observed after 0, 100, 200, ... iterations."""
    iteration = 100 * np.arange(len(losses))
    own = {"variant": variant, "seed": seed, "iteration": iteration, "loss": losses}
    return pd.DataFrame(own | {"W_1_share": share, "W_V_share": share})


def values(table: pd.DataFrame, **key: object) -> pd.Series:
    """Values by quantity of the rows with this key."""
    chosen = np.logical_and.reduce([table[name] == value for name, value in key.items()])
    return table[chosen].set_index("quantity")["value"]


@pytest.mark.parametrize("chain", [Chain(0.1, 0.1), ABOVE])
def test_a_map_of_exact_limits_has_no_errors_and_a_wrong_end_is_counted(chain):
    e, w = grid(3, 20)
    theta = basins.limit_points(e, w, chain)
    exact = flow_tables.map_errors(theta, e, w, chain)
    assert exact["basin_agreement"]["value"] == 1
    for name in ("energy_drift", "loss_error", "limit_point_error"):
        assert exact[name]["value"] < 1e-9, name
    swapped = theta.copy()
    first = {kind: np.flatnonzero(basins.basin(e, w, chain) == kind)[0] for kind in (0, 1)}
    swapped[:, first[0]] = theta[:, first[1]]
    wrong = flow_tables.map_errors(swapped, e, w, chain)
    assert wrong["basin_agreement"]["value"] == 1 - 1 / 400
    assert wrong["limit_point_error"]["value"] > 0.1


def test_starts_at_e_0_and_w_0_are_the_exact_special_cases():
    e, w = np.array([0.0, 0.0, 0.5]), np.array([-2.0, 0.0, 0.0])
    theta = basins.limit_points(e, w, ABOVE)
    np.testing.assert_array_equal(theta[:, :2], [[0, 0], [-2, 0]])
    assert flow_tables.map_errors(theta, e, w, ABOVE)["basin_agreement"]["value"] == 1
    moved = theta + np.array([[0], [0.1]])
    assert flow_tables.map_errors(moved, e, w, ABOVE)["basin_agreement"]["value"] == 1 / 3


def test_ends_with_attention_are_counted_by_the_set_on_which_they_lie():
    """Of four starts near the origin one ends globally, one nowhere; one was decided to."""
    s_star = ABOVE.s_star
    e = np.sqrt(s_star / (1 - 2 * 4))  # at w = -2, a = 0
    start = {"e_0": [0.1, 1.0, 0.1, 0.1], "w_0": [0.1, -1.0, 0.1, 0.1], "a_0": 0.0}
    end = {"e": [0.0, e, 0.5, 0.0], "w": [0.1, -2.0, W_SADDLE, 0.1], "a": 0.0}
    key = {"p": ABOVE.p, "q": ABOVE.q, "model": "(e, w, a)", "sigma": 0.1}
    table = attention_tables.attention_flow_table(
        pd.DataFrame(start | end).assign(**key, at_rest=True)
    ).set_index("quantity")
    assert table.loc["arrival_share", "value"] == 0.75
    assert table.loc["global_share", ["value", "published"]].tolist() == [0.25, 0.0]
    assert table.loc["decided_global_share", ["value", "n"]].tolist() == [1.0, 1]
    assert table.loc["energy_drift", "value"] > 1
    shown = attention_tables.readable_attention_flow(table.reset_index())
    assert shown["theory"].tolist() == ["0"]


def test_independent_symbols_have_no_global_share_of_their_own():
    end = {"e": [0.0], "w": [0.2], "a": [0.1], "e_0": [0.3], "w_0": [0.2], "a_0": [0.1]}
    key = {"p": 0.3, "q": 0.7, "model": "(e, w, a)", "sigma": 1.0, "at_rest": True}
    table = attention_tables.attention_flow_table(pd.DataFrame(end).assign(**key))
    assert table["quantity"].tolist() == ["arrival_share", "energy_drift", "loss_error"]
    assert table["value"].iloc[0] == 1 and table["value"].iloc[2] < 1e-12


def test_initialisation_says_where_each_seed_ends_and_when():
    runs = [
        curve("standard", 0, [0.69, UNIGRAM, UNIGRAM + 0.004, UNIGRAM]),
        curve("standard", 1, [0.69, UNIGRAM - 0.02, UNIGRAM, UNIGRAM]),
        curve("paper", 0, [2.0, 0.65, BIGRAM + 0.009, BIGRAM + 0.001]),
        curve("paper", 1, [2.0, 0.65, 0.65, BIGRAM + 0.002]),
    ]
    table = training_tables.initialisation_table(pd.concat(runs), ABOVE)
    reached, away = "iteration_within_0.01_of_bigram", "largest_distance_from_unigram"
    found = values(table, initialisation="standard", seed="0")
    assert np.isnan(found[reached]) and found[away] == pytest.approx(0.004)
    assert values(table, initialisation="standard", seed="1")[away] == pytest.approx(0.02)
    assert values(table, initialisation="paper", seed="0")[reached] == 200
    final = table[table["quantity"] == "final_loss"].set_index(["initialisation", "seed"])
    assert final.loc[("standard", "0"), "verdict"] == "within"
    assert final.loc[("paper", "1"), "verdict"] == "direction"
    assert set(final["kind"]) == {"theory"}
    assert final.loc[("paper", "1"), "effect_share"] == pytest.approx(
        1 - 0.002 / ((UNIGRAM - BIGRAM) / 2)
    )
    left = table[table["quantity"] == "final_loss_above_claimed"].set_index("initialisation")
    assert left.loc["paper", "value"] == pytest.approx(0.0015)
    assert left.loc["standard", "note"] == "reached"


def test_a_loss_that_one_batch_cannot_tell_from_the_entropy_has_reached_it():
    tolerance = training_tables.excess_loss(TrainingSettings())
    assert tolerance == pytest.approx(1 / (2 * 16 * 256))
    runs = [
        curve("standard", 0, [0.69, UNIGRAM + 0.9 * tolerance]),
        curve("standard", 1, [0.69, UNIGRAM + 1.1 * tolerance]),
        curve("paper", 0, [2.0, BIGRAM + 1.9 * tolerance]),
    ]
    table = training_tables.initialisation_table(pd.concat(runs), ABOVE, tolerance)
    final = table[table["quantity"] == "final_loss"].set_index(["initialisation", "seed"])
    assert final.loc[("standard", "0"), "verdict"] == "within"
    assert final.loc[("standard", "1"), "verdict"] == "direction"
    assert final.loc[("paper", "0"), "verdict"] == "within"


@pytest.mark.parametrize(
    ("start", "end"),
    [(UNIGRAM, UNIGRAM), (UNIGRAM, UNIGRAM + 0.1), (0.69, np.nan), (0.693, 0.691)],
)
def test_a_run_whose_loss_does_not_fall_is_not_judged(start, end):
    runs = [curve("standard", 0, [start, end]), curve("standard", 1, [0.69, UNIGRAM])]
    runs = pd.concat(runs)
    table = training_tables.initialisation_table(runs, ABOVE)
    final = table[table["quantity"] == "final_loss"].set_index("seed")
    assert final["verdict"].to_dict() == {
        "0": "not reached",
        "1": "within",
        "mean": "not reached",
    }
    assert "1 of 2 seeds" in final.loc["mean", "note"]
    ablated = training_tables.ablation_table(
        runs, [Variant(name="standard")], TrainingSettings(), ABOVE
    ).set_index("quantity")
    assert ablated.loc["trapped_share", "verdict"] == "not reached"
    assert "too little training" in ablated.loc["trapped_share", "note"]


def test_the_authors_numbers_are_known_to_their_last_digit():
    published = training_tables.read_published(
        ROOT / "workflow/reference/local_to_global_rank_one.csv"
    )
    assert published["tolerance"].tolist() == pytest.approx([0.0005] * 6 + [0.005] * 2)
    assert published["published"].between(0.2, 1).all()


def test_a_loss_above_the_bigram_entropy_by_more_than_its_interval_is_not_reached():
    finals = {"near": (BIGRAM + 0.001, BIGRAM - 0.001), "above": (BIGRAM + 0.0054, BIGRAM + 0.0056)}
    runs = [
        curve(name, seed, [2.0, loss]) for name in finals for seed, loss in enumerate(finals[name])
    ]
    variants = [Variant(name=name, initialisation="paper") for name in finals]
    table = training_tables.ablation_table(pd.concat(runs), variants, TrainingSettings(), ABOVE)
    left = table[table["quantity"] == "final_loss_above_bigram"].set_index("variant")
    assert left.loc["near", "note"] == "reached"
    assert left.loc["above", "note"].startswith("not reached")
    assert left.loc["above", "value"] == pytest.approx(0.0055)
    shown = training_tables.readable_ablation(table).set_index("variant")
    assert shown.loc["above", "above the bigram entropy"].startswith("0.0055")


def test_a_start_on_the_wrong_side_of_the_middle_differs():
    runs = [curve("paper", seed, [2.0, UNIGRAM + 1e-4 * seed]) for seed in (0, 1)]
    table = training_tables.initialisation_table(pd.concat(runs), ABOVE)
    assert set(table.loc[table["quantity"] == "final_loss", "verdict"]) == {"differs"}


def test_rank_one_stands_beside_the_authors_weights_and_within_0_and_1():
    runs = [curve("standard", seed, [0.69, 0.67], share) for seed, share in ((0, 0.1), (1, 0.9))]
    key = {"initialisation": ["standard"], "matrix": ["W_1"], "iteration": [100]}
    published = pd.DataFrame(key | {"published": [0.939], "tolerance": [0.0005]})
    table = training_tables.rank_one_table(pd.concat(runs), [100], published, ABOVE)
    assert table[["matrix", "iteration"]].to_numpy().tolist() == [["W_1", 100], ["W_V", 100]]
    assert table["value"].tolist() == [0.5, 0.5]
    assert table["low"].min() == 0 and table["high"].max() == 1
    assert table["verdict"].tolist() == ["open", ""]  # of all between 0 and 1


def test_rank_one_has_every_matrix_and_a_share_near_a_half_is_on_neither_side():
    runs = [curve("standard", seed, [0.69, 0.67], 0.9 + 0.01 * seed) for seed in (0, 1)]
    runs = pd.concat(runs).assign(W_Q_share=lambda table: table["W_1_share"])
    key = {"initialisation": ["standard"], "matrix": ["W_Q"], "iteration": [100]}
    published = pd.DataFrame(key | {"published": [0.49], "tolerance": [0.005]})
    table = training_tables.rank_one_table(runs, [100], published, ABOVE).set_index("matrix")
    assert table.index.tolist() == ["W_1", "W_V", "W_Q"]
    assert table.loc["W_Q", "verdict"] == "differs"
    assert np.isnan(table.loc["W_Q", "effect_share"])


def test_the_ablation_counts_trapped_seeds_and_says_when_the_first_escapes():
    base = TrainingSettings()
    variants = [Variant(name="standard"), Variant(name="wider", weight_decay=0.1, lr=0.01)]
    escaped = [0.69, UNIGRAM - 0.02, UNIGRAM, UNIGRAM - 0.02, UNIGRAM - 0.03]
    runs = [
        curve("standard", 0, [0.69, *[UNIGRAM] * 4]),
        curve("standard", 1, [0.69, *[UNIGRAM + 0.009] * 4]),
        curve("wider", 0, escaped),
        curve("wider", 1, [0.69, *[UNIGRAM] * 4]),
    ]
    table = training_tables.ablation_table(pd.concat(runs), variants, base, ABOVE)
    trapped = values(table, variant="standard")
    assert trapped["trapped_share"] == 1 and np.isnan(trapped["first_escape_iteration"])
    half = values(table, variant="wider")
    assert half["trapped_share"] == 0.5 and half["first_escape_iteration"] == 300
    judged = table[table["kind"] == "claim"]
    assert judged[["variant", "quantity"]].to_numpy().tolist() == [["standard", "trapped_share"]]
    never = table[table["verdict"] == "not reached"]
    assert never[["variant", "quantity"]].to_numpy().tolist() == [
        ["standard", "first_escape_iteration"]
    ]
    assert training_tables.changes(variants[1], base) == (
        "lr 0.01 instead of 0.002; weight decay 0.1 instead of 0.0"
    )
