"""What synthetic documents of topics, their optima and their trainings promise."""

import math

import numpy as np
import pandas as pd
import pydantic
import pytest
import yaml
from scipy import stats

from onelayer.settings.topic_structure_synthetic import (
    AttentionTableSettings,
    DocumentSettings,
    GapGridSettings,
    SyntheticSettings,
    SyntheticTraining,
    TopicModelSettings,
    TwoStageSettings,
)
from onelayer.topic_structure.synthetic import attention, data, gaps, optima
from onelayer.topic_structure.synthetic.summary import (
    extreme,
    one_of_several,
    over_runs,
    stage_rows,
    stage_times,
)
from onelayer.topic_structure.synthetic.train import Batches, Run, train_runs, two_stages
from tests.conftest import ROOT

WORDS = TopicModelSettings(T=10, v=10, p_m=0.15, p_c=0.1, p_r=0.1, selection="independent")
OTHER = TopicModelSettings(T=20, v=5, p_m=0.3, p_c=0.1, p_r=0.1, selection="proportion")
FEW = TopicModelSettings(T=3, v=4, p_m=0.3, p_c=0.1, p_r=0.1, selection="independent")
BASE = SyntheticTraining(model=FEW, batch=20, chunk=20, device="cpu")
D = data.SPECIAL + 12


def rows_of(words: TopicModelSettings, tau: int, N: tuple, documents: int, attended: bool = True):
    return data.draw(words, DocumentSettings(N=N, documents=documents), "a test", tau, attended)


def test_a_document_has_tau_equal_topics_and_nothing_else() -> None:
    weights = data.topic_weights(np.random.default_rng(0), 7, 500, 3, None)
    assert ((weights > 0).sum(axis=1) == 3).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights.mean(axis=0), 1 / 7, atol=0.03)


def test_words_follow_the_topic_weights_and_their_topics_uniformly() -> None:
    rng = np.random.default_rng(1)
    weights = np.tile([0.7, 0.3, 0.0], (400, 1))
    tokens = data.draw_documents(rng, 4, weights, (50, 60), framed=True)
    assert (tokens[:, 0] == data.START).all()
    assert ((tokens == data.END).sum(axis=1) == 1).all()
    length = (tokens >= data.SPECIAL).sum(axis=1)
    assert length.min() == 50
    assert length.max() == 60
    counts = np.bincount(tokens[tokens >= data.SPECIAL], minlength=D)[data.SPECIAL :]
    np.testing.assert_allclose(counts / counts.sum(), np.repeat([0.7, 0.3, 0], 4) / 4, atol=0.01)


def test_masking_keeps_randomises_and_hides_the_stated_shares() -> None:
    rng = np.random.default_rng(2)
    tokens = data.draw_documents(rng, 4, np.full((800, 3), 1 / 3), (100, 100), framed=True)
    masking = FEW.model_copy(update={"p_m": 0.2, "p_c": 0.3, "p_r": 0.4})
    shown, selected = data.mask_documents(rng, tokens, masking)
    assert not selected[tokens < data.SPECIAL].any()
    assert (shown[~selected] == tokens[~selected]).all()
    assert selected[tokens >= data.SPECIAL].mean() == pytest.approx(0.2, abs=0.01)
    assert (shown[selected] == data.MASK).mean() == pytest.approx(0.3, abs=0.01)
    # a random word is the own one in one of twelve cases
    assert (shown == tokens)[selected].mean() == pytest.approx(0.3 + 0.4 / 12, abs=0.01)


def test_a_proportion_of_words_is_selected_exactly() -> None:
    rng = np.random.default_rng(3)
    tokens = data.draw_documents(rng, 4, np.full((50, 3), 1 / 3), (10, 30))
    chosen = FEW.model_copy(update={"selection": "proportion"})
    _, selected = data.mask_documents(rng, tokens, chosen)
    words = (tokens >= data.SPECIAL).sum(axis=1)
    assert selected.sum(axis=1).tolist() == np.rint(0.3 * words).tolist()


def test_rows_hold_every_key_and_every_target_once() -> None:
    rows = rows_of(FEW, 2, (20, 30), 40)
    shares, targets = rows.averages()
    assert (rows.keys.sum(axis=1) >= 20).all()
    assert (rows.keys.sum(axis=1) <= 30).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert targets.sum() == rows.targets.sum()
    assert (rows.targets.sum(axis=1) >= 1).all()
    assert len(set(zip(rows.document.tolist(), rows.query.tolist(), strict=True))) == len(
        rows.query
    )


def test_every_epoch_shows_every_document_once_in_another_order() -> None:
    batches = Batches(rows_of(FEW, 2, (20, 30), 40), [0, 1, 0], 10)
    epochs = [
        np.concatenate([batches.drawn(seed, step) for step in range(4 * epoch, 4 * epoch + 4)])
        for seed in (0, 1)
        for epoch in (0, 1)
    ]
    assert all((np.sort(epoch) == np.arange(40)).all() for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4


@pytest.mark.parametrize("words", [WORDS, OTHER])
def test_gaps_of_the_optima_are_the_theorems(words) -> None:
    moments = optima.moments(rows_of(words, 2, (1000, 1200), 1500))
    theory = optima.theory_gap(words)
    for optimum in (optima.ridge_value, optima.ridge_embedding):
        found = optima.gap(words, optimum(moments, 0.0))
        assert found == pytest.approx(theory, rel=0.005)
        assert optima.gap(words, optimum(moments, 1e-3)) < 0.97 * theory


def test_the_theorems_gap_at_the_papers_setting_is_1156() -> None:
    assert optima.theory_gap(WORDS) == pytest.approx(0.115607, abs=1e-6)


def test_weight_decay_takes_two_and_twelve_percent_off_the_gap_of_values() -> None:
    moments = optima.moments(rows_of(WORDS, 2, (1000, 1200), 1000))
    shares = [
        optima.gap(WORDS, optima.ridge_value(moments, decay)) / optima.theory_gap(WORDS)
        for decay in (1e-4, 1e-3)
    ]
    assert shares == pytest.approx([0.98, 0.88], abs=0.015)


@pytest.mark.parametrize("words", [WORDS, OTHER])
def test_without_masked_keys_the_gap_follows_the_other_formula(words) -> None:
    rows = rows_of(words, 2, (1000, 1200), 1000, attended=False)
    visible = float(rows.keys[:, data.SPECIAL :].sum(axis=1).mean())
    theory = optima.theory_gap(words, visible)
    W_V = optima.ridge_value(optima.moments(rows), 0.0)
    found = optima.gap(words, W_V)
    assert found == pytest.approx(theory, rel=0.01)
    assert theory < 0.93 * optima.theory_gap(words)
    assert optima.theory_gap(WORDS, 100) == pytest.approx(0.102)  # START and END, too


def test_the_exact_gap_of_finite_documents_goes_to_the_theorems() -> None:
    theory = optima.theory_gap(WORDS)
    gaps_at = [optima.gap_at_length(WORDS, 2, N) for N in (100, 1000, 100_000)]
    off = [abs(gap - theory) / theory for gap in gaps_at]
    assert off[0] > 5 * off[1] > 100 * off[2]
    chosen = WORDS.model_copy(update={"selection": "proportion"})
    block = DocumentSettings(N=(100, 100), documents=500)
    rows = [data.draw(chosen, block, "a test", 5, seed=seed) for seed in range(4)]
    each = [optima.ridge_value(optima.moments(one), 0.0) for one in rows]
    found = np.mean(optima.gap(WORDS, np.stack(each)))
    exact = optima.gap_at_length(chosen, 5, 100)
    assert abs(exact - theory) > 0.05 * theory
    assert found == pytest.approx(exact, rel=0.02)


def test_the_gap_counts_only_words_and_the_diagonal() -> None:
    matrix = np.full((D, D), 7.0)
    matrix[data.SPECIAL :, data.SPECIAL :] = np.eye(12)
    assert optima.gap(FEW, matrix) == pytest.approx(1 / 4)


@pytest.mark.parametrize(("parameter", "rate"), [("W_V", 10.0), ("E", 2.0)])
def test_trained_gaps_are_the_theorems_within_one_percent(parameter, rate) -> None:
    rows = rows_of(WORDS, 2, (1000, 1100), 600)
    theorem = gaps.THEOREMS[parameter]
    runs = [Run(seed, "sgd", rate) for seed in range(2)]
    kind = (theorem.embedding, "squared", 150, theorem.observe)
    trained = train_runs(BASE, rows.by_document(), runs, *kind, trained=[theorem.trained])
    found = optima.gap(WORDS, trained.observed["matrix"][-1].numpy())
    np.testing.assert_allclose(found / optima.theory_gap(WORDS), 1, atol=0.01)


def test_the_optimal_ratio_is_that_of_the_specification() -> None:
    found = {}
    for tau in (1, 2, 3, 5):
        rows = rows_of(WORDS, tau, (100, 150), 2000)
        found[tau] = optima.optimal_attention(WORDS, rows)["ratio"]
    expected = {1: 1.02, 2: 7.10, 3: 8.48, 5: 10.7}
    assert found == pytest.approx(expected, rel=0.08)
    assert (np.diff(list(found.values())) > 0).all()


def test_a_run_is_the_same_whatever_else_is_trained() -> None:
    rows = rows_of(WORDS, 2, (50, 60), 100, attended=False)
    runs = [Run(seed, o, 0.01) for o in ("adam", "sgd") for seed in (3, 1)]
    kind = ("layer_norm", "cross_entropy", 8, lambda p: {"W_K": p["W_K"]})
    together = train_runs(BASE, rows, runs, *kind).observed["W_K"]
    for place, run in enumerate(runs):
        alone = train_runs(BASE, rows, [run], *kind).observed["W_K"]
        np.testing.assert_allclose(together[0, place], alone[0, 0], rtol=1e-4, atol=1e-6)
    assert len({Run(0, "adam", rate).label for rate in (0.001, 0.0010000001)}) == 2


def attention_block(variant: dict, **changes: object) -> AttentionTableSettings:
    known = {"name": "a", "embedding": "one_hot", "rates": {"sgd": [1]}, "released": True}
    common = {"N": (50, 60), "documents": 60, "concentration": 0.1, "steps": 12}
    common |= {"seeds": {"adam": 2, "sgd": 3}, "released_epochs": 8, "released_seeds": {"sgd": 2}}
    common |= {"evaluated_documents": 20, "evaluated_tokens": 40}
    return AttentionTableSettings(variants=[known | variant], **common | changes)


def test_the_first_seeds_go_on_to_the_released_budget_and_pass_the_tables() -> None:
    block = attention_block({})
    averages, kept = attention.topic_attention(BASE, block)
    by = averages.groupby(["budget", "step", "accounting"])["seed"].nunique()
    assert by.xs("correct", level="accounting").to_dict() == {("table", 12): 3, ("released", 24): 2}
    assert kept["S"].shape == kept["weights"].shape == (16, 16)
    alone, _ = attention.topic_attention(BASE, attention_block({"released": False}))
    keys = ["accounting", "seed"]
    both = [t[t["budget"] == "table"].set_index(keys).sort_index() for t in (averages, alone)]
    np.testing.assert_allclose(both[0]["same_topic"], both[1]["same_topic"], rtol=1e-4)


def test_an_optimizer_has_seeds_of_its_own() -> None:
    variant = {"rates": {"sgd": [0.5, 1], "adam": [0.01]}, "released": False}
    averages, _ = attention.topic_attention(BASE, attention_block(variant))
    by = averages.groupby(["optimizer", "learning_rate"])["seed"].nunique()
    assert by.to_dict() == {("adam", 0.01): 2, ("sgd", 0.5): 3, ("sgd", 1): 3}


def test_uniform_attention_is_one_over_the_length_in_every_pair_class() -> None:
    rng = np.random.default_rng(0)
    weights = data.topic_weights(rng, 10, 20, None, 0.1)
    tokens = data.draw_documents(rng, 10, weights, (100, 150), framed=True)
    flat = np.zeros((1, 104, 104))
    for topics in attention.accountings(WORDS).values():
        np.testing.assert_allclose(attention.pair_averages(flat, tokens, topics, 100), 0.01)
    assert np.isnan(attention.pair_averages(flat * np.nan, tokens, topics, 100)).all()


def test_the_printed_averages_are_those_of_whole_documents() -> None:
    """The authors' own file of uniform attention, .01 in each class, counts these pairs."""
    printed = pd.read_csv(ROOT / "workflow/reference/topic_structure_attention.csv")
    means = printed[[f"{name}_mean" for name in attention.PAIR_CLASSES]].to_numpy()
    pairs = np.array([319_724, 1_214_976, 3_132_390])  # of documents cut to 100 tokens
    length = pairs.sum() / (means @ pairs)
    assert ((length > 125) & (length < 129)).all()  # of 102 to 152 tokens


def test_a_variant_is_measured_on_documents_framed_as_it_is_trained() -> None:
    for attended in (True, False):
        block = attention_block({"masked_attended": attended})
        _, kept = attention.topic_attention(BASE, block)
        assert (kept["document"][0] == data.START) != attended


def test_adam_attends_to_the_topic_once_values_are_frozen_at_their_optimum() -> None:
    block = {"embedding": "one_hot", "frozen_value": True, "loss": "squared"}
    block |= {"rates": {"adam": [0.02]}}
    settings = attention_block(block, N=(100, 150), documents=400, steps=80, evaluated_tokens=100)
    averages, _ = attention.topic_attention(BASE.model_copy(update={"model": WORDS}), settings)
    own = averages[averages["accounting"] == "correct"]
    assert (own["same_topic"] >= 1.3 * own["different_topic"]).all()


def history(W_V: list[float], W_K: list[float], diverged_at: int = -1) -> pd.DataFrame:
    known = {"name": "a", "learning_rate": 1.0, "noise": 0.1, "seed": 0}
    norms = {"step": range(len(W_V)), "W_K": W_K, "W_Q": W_K, "W_V": W_V}
    return pd.DataFrame(known | norms | {"diverged_at": diverged_at})


@pytest.mark.parametrize(
    ("W_V", "W_K", "t_V", "t_KQ", "in_order"),
    [
        ([0.1, 0.5, 0.95, 1.0], [0.1, 0.1, 0.1, 0.2], 2, 3, True),
        ([0.1, 0.5, 0.89, 1.0], [0.1, 0.1, 0.2, 0.3], 3, 2, False),
        ([0.1, 0.5, 0.92, 1.0], [0.1, 0.1, 0.13, 0.3], 2, 2, True),
        # By 110% of its start W_K has grown at step 1, but made 2% of its way.
        ([0.1, 0.5, 0.95, 1.0], [0.1, 0.12, 0.12, 1.1], 2, 3, True),
        ([0.1, 0.5, 0.95, 1.0], [0.1, 0.1, 0.1, 0.1], 2, math.nan, False),
        ([0.95, 0.5, 0.95, 1.0], [0.1, 0.1, 0.2, 0.3], 0, 2, False),
    ],
)
def test_stages_are_read_off_the_norms(W_V, W_K, t_V, t_KQ, in_order) -> None:
    [row] = stage_times(history(W_V, W_K)).to_dict("records")
    assert (row["t_V"], row["in_order"]) == (t_V, in_order)
    np.testing.assert_equal(row["t_KQ"], t_KQ)  # NaN equals NaN there


def test_a_lower_bar_calls_the_value_matrix_done_earlier() -> None:
    run = history([0.0, 0.5, 0.82, 0.92, 1.0], [0.1, 0.1, 0.2, 0.3, 0.4])  # W_K begins at step 2
    found = [stage_times(run, bar)[["t_V", "in_order"]].iloc[0].tolist() for bar in (0.8, 0.85)]
    assert found == [[2, True], [3, False]]


def stage_block(settings: list[dict], **changes: object) -> TwoStageSettings:
    known = {"embedding": "one_hot", "loss": "squared", "optimizer": "sgd", "noises": [0.1]}
    panel = {"name": "m", "learning_rates": [0.01, 0.02]}
    common = {"N": (100, 150), "documents": 60, "concentration": 0.1, "steps": 20, "seeds": 1}
    common |= {"map_seeds": 1, "trainings": [known | one for one in (*settings, panel)]}
    return TwoStageSettings(**common | changes)


def test_shares_are_of_all_runs_and_half_the_steps_have_their_own() -> None:
    block = stage_block([{"name": "a", "learning_rates": [1.0]}], steps=10)
    W_K, flat = [*[0.1] * 4, *[0.5] * 7], [0.1, 0.5, *[1.0] * 9]
    runs = [
        history(flat, W_K),
        history([*flat[:6], *[2.0] * 5], W_K),  # W_V grows again in the second half
        history(flat, W_K, diverged_at=8),
    ]
    norms = pd.concat([run.assign(seed=seed) for seed, run in enumerate(runs)])
    norms = pd.concat([norms, norms.assign(name="m")])
    rows = pd.DataFrame(stage_rows(norms, block, {})).set_index(["studied", "quantity"])
    found = rows.loc["setting", "value"].to_dict()
    shares = {"in_order": 1 / 3, "in_order_by_half": 2 / 3, "diverged": 1 / 3}
    assert {name: found[f"share_{name}"] for name in shares} == pytest.approx(shares)
    assert found["t_KQ_median"] == 4
    assert found["share_half_in_order"] == pytest.approx(1 / 3)  # the second's half way is later
    assert rows.loc[("map", "share_of_cells_in_order"), "value"] == 0


def test_norms_of_a_diverged_run_end_where_it_diverged() -> None:
    block = stage_block([{"name": "a", "learning_rates": [1e6]}])
    norms = two_stages(BASE, block).set_index(["name", "step"])
    diverged_at = norms.loc["a", "diverged_at"].iloc[0]
    assert 0 < diverged_at <= 20
    finite = norms.loc["a", "W_V"].notna()
    assert finite.index[finite].tolist() == list(range(diverged_at))
    assert norms.loc["m", ["W_K", "W_Q", "W_V"]].notna().all(axis=None)
    assert not stage_times(norms.loc[["a"]].reset_index())["in_order"].any()


def test_one_hot_words_have_two_stages_by_adam_where_masked_words_are_hidden() -> None:
    adam = {"optimizer": "adam", "learning_rates": [0.003], "noises": [1e-3]}
    hidden = {"name": "hidden", "loss": "mean_squared", "masked_attended": False}
    summed = {"name": "summed", "loss": "squared", "masked_attended": False}
    # With a tenth of the documents W_V never stops growing: it learns them by heart.
    block = stage_block([adam | hidden, adam | summed], documents=4000, steps=300)
    norms = two_stages(BASE.model_copy(update={"model": WORDS, "batch": 40}), block)
    times = stage_times(norms).set_index("name")
    assert times.loc["hidden", "in_order"]
    assert not times.loc["summed", "in_order"]


def test_a_diverged_run_is_never_averaged() -> None:
    assert over_runs([1.0, 3.0, math.nan])["value"] == 2
    assert over_runs([1.0])["state"] == "undecided"  # one run has no interval
    assert over_runs([math.nan])["state"] == "not reached"


def test_the_least_stands_for_all_with_an_interval_as_wide_as_any() -> None:
    points = pd.DataFrame({"of": ["a"] * 2 + ["b"] * 2, "value": [0.5, 3.5, 0.99, 1.01]})
    row, other = (extreme(points, "of", "value", side) for side in (1, -1))
    assert row["value"] == pytest.approx(1)
    assert row["low"] < -10  # that of a
    assert other["value"] == pytest.approx(2)
    assert extreme(points[points["of"] == "b"], "of", "value", 1)["low"] > 0


def test_one_of_several_has_the_interval_of_bonferroni() -> None:
    values = np.array([1.0, 1.2, 1.5, 0.7, 1.1])
    low, high = stats.t.interval(1 - 0.05 / 8, 4, values.mean(), stats.sem(values))
    row = one_of_several(values, 8)
    assert (row["low"], row["high"]) == pytest.approx((low, high))


def test_the_grid_selects_the_proportion_and_changes_one_number_at_a_time() -> None:
    grid = {"N": (20, 30), "documents": 40, "seeds": 2, "tau": 1, "taus": [2], "v": [5], "T": []}
    settings = GapGridSettings(**grid, p_m=[0.5], p_c=[])
    found = gaps.gap_grid(FEW, settings)
    same = gaps.gap_grid(FEW.model_copy(update={"selection": "proportion"}), settings)
    pd.testing.assert_frame_equal(found, same)
    varied = found.groupby("varied", sort=False).first()[["v", "p_m", "tau"]]
    expected = {"base": (4, 0.3, 1), "v": (5, 0.3, 1), "p_m": (4, 0.5, 1), "tau": (4, 0.3, 2)}
    assert {name: tuple(row) for name, row in varied.T.items()} == expected


def settings_with(**changes: dict) -> SyntheticSettings:
    known = yaml.safe_load((ROOT / "config.yaml").read_text())["topic_structure"]["synthetic"]
    for block, values in changes.items():
        known[block] = known[block] | values
    return SyntheticSettings(**known)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model": {"p_c": 0.95}}, "p_c + p_r = 1.05: at most 1"),
        ({"theory": {"N": [1200, 1000]}}, "fewest words of a document"),
        ({"attention": {"documents": 30}}, "attention.documents = 30: at least one batch of 40"),
        ({"stage_two_long": {"taus": [2, 10]}}, "stage_two_long.taus: 10 must be below T = 10"),
        ({"ratio_over_T": {"T": [5, 20]}}, "ratio_over_T.taus: 7 must be below T = 5"),
        ({"gap_grid": {"p_c": [0.95]}}, "gap_grid.p_c: 0.95 + p_r = 0.1"),
        ({"two_stages": {"step": 5}}, "unknown key 'step'"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_one_line(changes, told) -> None:
    with pytest.raises(pydantic.ValidationError) as error:
        settings_with(**changes)
    assert any(told in problem["msg"] for problem in error.value.errors())
