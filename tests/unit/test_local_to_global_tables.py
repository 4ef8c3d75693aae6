"""What the tables of Local to Global say about flows and trainings made by hand."""

import io

import numpy as np
import pandas as pd
import pytest

from onelayer.papers.local_to_global import basins, flow_tables, training_tables
from onelayer.papers.local_to_global.canonical import W_SADDLE
from onelayer.papers.local_to_global.chain import Chain
from onelayer.papers.local_to_global.theory import grid
from onelayer.settings.local_to_global import Variant
from onelayer.settings.root import default_settings
from tests.conftest import ROOT

LTG = default_settings().local_to_global
ABOVE = Chain(0.5, 0.8)
UNIGRAM, BIGRAM = ABOVE.unigram_entropy, ABOVE.bigram_entropy


def curve(variant: str, seed: int, losses: list[float], share: float = 0.95) -> pd.DataFrame:
    """A run observed after 0, 100, 200, ... iterations."""
    iteration = 100 * np.arange(len(losses))
    own = {"variant": variant, "seed": seed, "iteration": iteration, "loss": losses}
    return pd.DataFrame(own | {"W_1_share": share, "W_V_share": share})


def ablated(
    runs: list[pd.DataFrame], variants: list[Variant], chain: Chain = ABOVE
) -> pd.DataFrame:
    return training_tables.ablation(pd.concat(runs), variants, TRAINING, chain).table


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
    table = flow_tables.attention_flow_table(
        pd.DataFrame(start | end).assign(**key, at_rest=True)
    ).set_index("quantity")
    assert table.loc["arrival_share", "value"] == 0.75
    assert table.loc["global_share", ["value", "published"]].tolist() == [0.25, 0.0]
    assert table.loc["decided_global_share", ["value", "n"]].tolist() == [1.0, 1]
    assert table.loc["energy_drift", "value"] > 1
    shown = flow_tables.readable_attention_flow(table.reset_index())
    assert shown["theory"].tolist() == ["0"]


def test_independent_symbols_have_no_global_share_of_their_own():
    end = {"e": [0.0], "w": [0.2], "a": [0.1], "e_0": [0.3], "w_0": [0.2], "a_0": [0.1]}
    key = {"p": 0.3, "q": 0.7, "model": "(e, w, a)", "sigma": 1.0, "at_rest": True}
    table = flow_tables.attention_flow_table(pd.DataFrame(end).assign(**key))
    assert table["quantity"].tolist() == ["arrival_share", "energy_drift", "loss_error"]
    assert table["value"].iloc[0] == 1 and table["value"].iloc[2] < 1e-12


TRAINING = LTG.transformer.training
TENTH = (UNIGRAM - BIGRAM) / 10


def finals(runs: list[pd.DataFrame], chain: Chain = ABOVE) -> pd.DataFrame:
    """Final losses of a table of initialisations, by start and seed."""
    table = training_tables.initialisation(pd.concat(runs), TRAINING, chain).table
    found = table[table["quantity"] == "final_loss"]
    return found.set_index(["initialisation", "seed"])


def test_initialisation_says_where_each_seed_ends_and_when():
    runs = [
        curve("standard", 0, [0.69, UNIGRAM, UNIGRAM + 0.004, UNIGRAM]),
        curve("standard", 1, [0.69, UNIGRAM - 0.02, UNIGRAM, UNIGRAM]),
        curve("paper", 0, [2.0, 0.65, BIGRAM + 0.9 * TENTH, BIGRAM + 0.001]),
        curve("paper", 1, [2.0, 0.65, BIGRAM + 1.1 * TENTH, BIGRAM + 0.002]),
    ]
    table = training_tables.initialisation(pd.concat(runs), TRAINING, ABOVE).table
    reached, away = "iteration_near_bigram", "largest_distance_from_unigram"
    found = values(table, initialisation="standard", seed="0")
    assert np.isnan(found[reached]) and found[away] == pytest.approx(0.004)
    assert values(table, initialisation="standard", seed="1")[away] == pytest.approx(0.02)
    assert values(table, initialisation="paper", seed="0")[reached] == 200
    assert values(table, initialisation="paper", seed="1")[reached] == 300
    near = table[table["quantity"] == reached]
    assert near["within"].tolist() == pytest.approx([TENTH] * 4)
    left = table[table["quantity"] == "final_loss_above_claimed"].set_index("initialisation")
    assert left.loc["paper", "value"] == pytest.approx(0.0015)


def test_the_mean_loss_is_judged_between_both_entropies_and_no_single_seed_is():
    way = {"standard": (0.0, 1e-6), "rank_one": (0.3, 0.300001), "paper": (0.86, 0.860001)}
    runs = [
        curve(name, seed, [2.0, UNIGRAM - share * (UNIGRAM - BIGRAM)])
        for name, shares in way.items()
        for seed, share in enumerate(shares)
    ]
    final = finals(runs)
    mean = final.xs("all", level="seed")
    assert mean["verdict"].to_dict() == {
        "standard": "reproduced", "rank_one": "smaller", "paper": "smaller",
    }  # fmt: skip
    assert mean["effect_share"].tolist() == pytest.approx([1.0, 0.7, 0.86], abs=1e-5)
    assert mean["reference"].tolist() == [BIGRAM, BIGRAM, UNIGRAM]
    assert set(final.drop("all", level="seed")["verdict"]) == {""}


def test_what_a_start_is_claimed_to_learn_depends_on_the_chain():
    below = Chain(0.1, 0.3)
    ends = {"standard": below.bigram_entropy, "paper": below.unigram_entropy}
    runs = [
        curve(name, seed, [2.0, end + 1e-6 * seed]) for name, end in ends.items() for seed in (0, 1)
    ]
    mean = finals(runs, below).xs("all", level="seed")
    assert mean["claimed"].to_dict() == {"standard": "bigram", "paper": "unigram"}
    assert set(mean["verdict"]) == {"reproduced"}
    assert training_tables.claimed_model("standard", ABOVE) == training_tables.claimed_model(
        "rank_one", ABOVE
    )
    assert training_tables.claimed_model("standard", ABOVE) == "unigram"
    assert training_tables.claimed_model("paper", ABOVE) == "bigram"


def test_entropies_that_lie_close_are_told_apart_by_a_tenth_of_their_distance():
    narrow = Chain(0.5, 0.6)
    assert narrow.unigram_entropy - narrow.bigram_entropy < 0.01
    runs = [curve("standard", seed, [0.69, narrow.bigram_entropy + 1e-7 * seed]) for seed in (0, 1)]
    assert finals(runs, narrow).loc[("standard", "all"), "verdict"] == "negligible"
    table = ablated(runs, [Variant(name="standard")], narrow).set_index("quantity")
    assert table.loc["trapped_share", "value"] == 0
    assert table.loc["first_escape_iteration", "value"] == 100


def test_only_the_authors_training_on_their_chain_is_their_own_object():
    own = LTG.transformer.training.but(sequence_length=1024, weight_decay=1e-3)
    assert training_tables.kind_of(own, ABOVE) == "claim"
    assert training_tables.kind_of(own, Chain(0.5, 0.7)) == "analogue"
    for change in ({"sequence_length": 256}, {"iterations": 2000}, {"layer_norm": True}):
        assert training_tables.kind_of(own.model_copy(update=change), ABOVE) == "analogue"


def test_a_loss_that_one_batch_cannot_tell_from_the_entropy_has_reached_it():
    tolerance = training_tables.excess_loss(TRAINING, "unigram")
    assert tolerance == pytest.approx(1 / (2 * 16 * 256))
    assert training_tables.excess_loss(TRAINING, "bigram") == 2 * tolerance
    ends = {"standard": UNIGRAM - 1.1 * tolerance, "rank_one": UNIGRAM - 0.9 * tolerance}
    ends["paper"] = BIGRAM + 1.9 * tolerance
    runs = [
        curve(name, seed, [2.0, end + 1e-8 * seed]) for name, end in ends.items() for seed in (0, 1)
    ]
    verdicts = finals(runs).xs("all", level="seed")["verdict"].to_dict()
    assert verdicts == {"standard": "smaller", "rank_one": "reproduced", "paper": "reproduced"}


@pytest.mark.parametrize(
    ("start", "end"),
    [(UNIGRAM, UNIGRAM), (UNIGRAM, UNIGRAM + 0.1), (0.69, np.nan), (0.693, 0.691)],
)
def test_a_run_whose_loss_does_not_fall_is_not_judged(start, end):
    runs = [curve("standard", 0, [start, end]), curve("standard", 1, [0.69, UNIGRAM])]
    final = finals(runs).loc["standard"]
    assert final["verdict"].to_dict() == {"0": "not reached", "1": "", "all": "not reached"}
    assert "1 of 2 seeds" in final.loc["all", "note"]
    table = ablated(runs, [Variant(name="standard")]).set_index("quantity")
    for quantity in ("trapped_share", "final_loss"):
        assert table.loc[quantity, "verdict"] == "not reached"
    assert "too little training" in table.loc["final_loss", "note"]


def test_the_authors_numbers_are_known_to_their_last_digit():
    published = training_tables.read_published(
        ROOT / "workflow/reference/local_to_global_rank_one.csv"
    )
    assert published["tolerance"].tolist() == pytest.approx([0.0005] * 6 + [0.005] * 2)
    assert published["published"].between(0.2, 1).all()


def test_a_start_on_the_wrong_side_is_no_effect_and_beyond_it_the_opposite():
    runs = [curve("paper", seed, [2.0, UNIGRAM + 1e-6 * seed]) for seed in (0, 1)]
    assert finals(runs).loc[("paper", "all"), "verdict"] == "negligible"
    runs = [curve("standard", seed, [2.0, BIGRAM - 0.01 + 1e-6 * seed]) for seed in (0, 1)]
    assert finals(runs).loc[("standard", "all"), "verdict"] == "opposite"


def ranked(shares: tuple[float, ...], matrix: str, published: float) -> pd.Series:
    """The row of a matrix at iteration 100, of which the authors' share is known."""
    runs = [curve("standard", seed, [0.69, 0.67], share) for seed, share in enumerate(shares)]
    runs = pd.concat(runs).assign(W_Q_share=lambda table: table["W_1_share"])
    theirs = f"initialisation,matrix,iteration,published\nstandard,{matrix},100,{published:.3f}\n"
    table = training_tables.rank_one(runs, io.StringIO(theirs), [100], TRAINING, ABOVE)
    assert table[["matrix", "iteration"]].to_numpy().tolist() == [
        ["W_1", 100], ["W_V", 100], ["W_Q", 100],
    ]  # fmt: skip
    assert (table["verdict"] != "").sum() == 1
    return table.set_index("matrix").loc[matrix]


def test_rank_one_stands_beside_the_authors_weights_and_within_0_and_1():
    row = ranked((0.1, 0.9), "W_1", 0.939)
    assert row[["value", "low", "high"]].tolist() == [0.5, 0.0, 1.0]
    assert row["verdict"] == "undecided"  # of all between 0 and 1


def test_ranks_are_also_those_of_the_end_of_the_training():
    """The paper says 'at convergence'; the authors' last weights are earlier than that."""
    runs = [curve("standard", seed, [0.69, 0.67, 0.67, 0.67]) for seed in (0, 1)]
    theirs = "initialisation,matrix,iteration,published\nstandard,W_1,100,0.939\n"
    table = training_tables.rank_one(pd.concat(runs), io.StringIO(theirs), [100], TRAINING, ABOVE)
    assert table[["matrix", "iteration", "published"]].fillna(0).to_numpy().tolist() == [
        ["W_1", 100, 0.939], ["W_V", 100, 0], ["W_1", 300, 0], ["W_V", 300, 0],
    ]  # fmt: skip


def test_no_effect_of_a_rank_is_a_random_matrix_of_its_shape():
    """A share of .92 is many times as far from a random matrix as the authors' .49 of W_Q."""
    row = ranked((0.92, 0.921), "W_Q", 0.49)
    assert row["reference"] == training_tables.random_share(8, 8)
    assert (row["verdict"], row["kind"]) == ("larger", "analogue")
    assert ranked((0.3845, 0.3846), "W_Q", 0.97)["verdict"] == "negligible"
    assert ranked((0.92, 0.921), "W_1", 0.97)["reference"] == training_tables.random_share(32, 8)


def test_the_ablation_counts_trapped_seeds_and_says_when_the_first_escapes():
    variants = [Variant(name="standard"), Variant(name="wider", weight_decay=0.1, lr=0.01)]
    escaped = [0.69, UNIGRAM - 0.02, UNIGRAM, UNIGRAM - 0.02, UNIGRAM - 0.03]
    runs = [
        curve("standard", 0, [0.69, *[UNIGRAM] * 4]),
        curve("standard", 1, [0.69, *[UNIGRAM + 0.9 * TENTH] * 4]),
        curve("wider", 0, escaped),
        curve("wider", 1, [0.69, *[UNIGRAM] * 4]),
    ]
    table = ablated(runs, variants)
    trapped = values(table, variant="standard")
    assert trapped["trapped_share"] == 1 and np.isnan(trapped["first_escape_iteration"])
    half = values(table, variant="wider")
    assert half["trapped_share"] == 0.5 and half["first_escape_iteration"] == 300
    assert half["final_W_1_share"] == 0.95
    never = table[table["verdict"] == "not reached"]
    assert never[["variant", "quantity"]].to_numpy().tolist() == [
        ["standard", "first_escape_iteration"]
    ]
    assert set(table["iterations"]) == {500} and set(table["claimed"]) == {"unigram"}
    assert training_tables.changes(variants[1], TRAINING) == (
        "lr 0.01 instead of 0.002; weight decay 0.1 instead of 0.0"
    )


@pytest.mark.parametrize(
    ("seeds", "verdict"), [(1, "undecided"), (3, "undecided"), (6, "reproduced")]
)
def test_six_starts_that_agree_decide_a_share_and_three_do_not(seeds, verdict):
    runs = [curve("standard", seed, [0.69, UNIGRAM]) for seed in range(seeds)]
    table = ablated(runs, [Variant(name="standard")]).set_index("quantity")
    assert table.loc["trapped_share", "verdict"] == verdict
    assert table.loc["final_loss", "verdict"] == ("reproduced" if seeds > 1 else "undecided")
    alone = finals(runs).loc[("standard", "all"), "verdict"]
    assert alone == table.loc["final_loss", "verdict"]


def test_a_start_that_leaves_in_longer_training_keeps_a_part_of_the_effect():
    variant = Variant(name="longer", iterations=1000)
    gap = UNIGRAM - BIGRAM
    runs = [curve("longer", seed, [0.69, BIGRAM + (0.25 + 0.01 * seed) * gap]) for seed in range(3)]
    table = ablated(runs, [variant])
    final = table.set_index("quantity").loc["final_loss"]
    assert (final["verdict"], final["iterations"]) == ("smaller", 1000)
    assert final["effect_share"] == pytest.approx(0.26)
    assert final["high"] - final["value"] == pytest.approx(4.303 * 0.01 * gap / 3**0.5, rel=1e-3)
