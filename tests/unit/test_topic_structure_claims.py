"""Claims about what the topic-structure paper's claims table measures."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

from onelayer.errors import OnelayerError
from onelayer.evidence.claims import BEYOND, KEYS, tabulated
from onelayer.evidence.tables import ALL
from onelayer.papers.topic_structure.synthetic import claims as synthetic
from onelayer.papers.topic_structure.synthetic import closed_form, data, dyck
from onelayer.papers.topic_structure.synthetic.components import all_components
from onelayer.papers.topic_structure.synthetic.data import draw
from onelayer.papers.topic_structure.synthetic.descent import contraction, stage_one_descent
from onelayer.papers.topic_structure.synthetic.gap_grid import gap_grid
from onelayer.papers.topic_structure.synthetic.norms import stage_gradients
from onelayer.papers.topic_structure.synthetic.stage_tables import over_masks
from onelayer.papers.topic_structure.synthetic.stage_two import ratio_over_masks, ratio_over_topics
from onelayer.papers.topic_structure.synthetic.stages import half_times
from onelayer.settings.root import default_settings
from onelayer.settings.topic_structure_synthetic import StageSetting, TopicModelSettings

SYNTHETIC = default_settings().topic_structure.synthetic
SELECTIONS = ("proportion", "independent")
SMALL = SYNTHETIC.in_common.but(model=SYNTHETIC.model.but(T=4, v=4))


def test_the_proportion_is_exact_in_every_document() -> None:
    rng, vocabulary = np.random.default_rng(0), data.Vocabulary(3, 4)
    masking = SYNTHETIC.model.but(p_m=0.15, p_c=0.1, p_r=0.1, selection="proportion")
    weights = data.uniform_weights(rng, 3, 2, 200)
    tokens = data.draw_documents(rng, vocabulary, weights, (8, 60), framed=True)
    shown, selected = data.mask_documents(rng, vocabulary, tokens, masking)
    words = (tokens >= data.SPECIAL).sum(axis=1)
    expected = [max(1, round(0.15 * n)) for n in words]
    np.testing.assert_array_equal(selected.sum(axis=1), expected)
    assert (tokens[selected] >= data.SPECIAL).all()
    np.testing.assert_array_equal(shown[~selected], tokens[~selected])


@pytest.mark.parametrize("selection", SELECTIONS)
def test_the_gap_at_a_length_is_that_of_enumerated_documents(selection) -> None:
    """Two topics of two words, one topic a document, three or four words: every case counted."""
    model = SYNTHETIC.model.but(T=2, v=2, p_m=0.3, p_c=0.25, p_r=0.25, selection=selection)
    squares, products, weights = 0.0, 0.0, 0.0
    for N in (3, 4):
        for chosen in range(1, 2**N):
            selected = [chosen >> place & 1 for place in range(N)]
            k = sum(selected)
            # of 3 and 4 words exactly .3 are .9 and 1.2: one of them
            exactly = selection == "proportion"
            chance = (k == 1) / N if exactly else 0.3**k * 0.7 ** (N - k)
            if not chance:
                continue
            # The document is of the topic at +1; a selected word stays, is random (either topic,
            # as often), or is a [MASK].
            for outcome in range(4**k):
                signs = [1] * N
                marked = [place for place in range(N) if selected[place]]
                for order, place in enumerate(marked):
                    signs[place] = (1, 1, -1, 0)[outcome // 4**order % 4]
                # kept .25, random .125 to each topic, [MASK] .5
                share = np.prod([(0.25, 0.125, 0.125, 0.5)[outcome // 4**o % 4] for o in range(k)])
                m = sum(signs) / N
                weight = chance * share * k
                weights += weight
                squares, products = squares + weight * m * m, products + weight * m
    exact = products / squares / 2
    found = closed_form.gap_at_length(model, 1, (3, 4))
    assert found == pytest.approx(exact, rel=1e-12)


def test_infinitely_long_documents_have_the_theorems_gap_in_every_setting() -> None:
    for T, v, p_m, p_c, tau in ((10, 10, 0.15, 0.1, 2), (4, 3, 0.5, 0.6, 3), (6, 5, 0.3, 0, 1)):
        model = SYNTHETIC.model.but(T=T, v=v, p_m=p_m, p_c=p_c)
        W_V = closed_form.ridge_value(closed_form.limit_moments(model, tau), 0.0)
        theory = closed_form.theory_gap(model)
        assert closed_form.gap(data.Vocabulary(T, v), W_V) == pytest.approx(theory, rel=1e-9)
        long = closed_form.gap_at_length(model, tau, (10**7, 10**7))
        assert long == pytest.approx(theory, rel=1e-5)


def test_moments_of_long_documents_are_near_those_of_infinite_ones() -> None:
    model = SYNTHETIC.model.but(T=4, v=3)
    rows = draw(model, 200, (4000, 4000), "a test", tau=2)
    drawn = closed_form.moments(rows)
    limit = closed_form.limit_moments(model, 2)
    np.testing.assert_allclose(drawn.xx, limit.xx, atol=1.2e-3)
    np.testing.assert_allclose(drawn.xy, limit.xy, atol=3e-3)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_small_embeddings_lose_a_contrast_for_every_missing_dimension(d) -> None:
    model = SYNTHETIC.model.but(T=4, v=3, p_m=0.2)
    E = closed_form.ridge_embedding(closed_form.limit_moments(model, 2), 0.0, d)
    assert np.linalg.matrix_rank(E, tol=1e-6) <= d
    expected = closed_form.theory_gap_of_rank(model, d)
    assert closed_form.gap(data.Vocabulary(4, 3), E) == pytest.approx(expected, rel=2e-3)


def test_the_grid_varies_one_number_at_a_time_and_is_near_the_theory() -> None:
    grid = {"N": [400, 500], "documents": 150, "seeds": 2, "taus": [1], "v": [3], "T": [4]}
    grid |= {"p_m": [0.4], "p_c": [0.6], "d": [3, 5]}  # 5 is T, which is there anyway
    found = gap_grid(SYNTHETIC.model.but(T=5, v=4), SYNTHETIC.gap_grid.but(**grid))
    assert set(found["varied"]) == {"base", "v", "T", "p_m", "p_c", "tau", "selection", "d"}
    for varied, own in found[~found["varied"].isin(["base", "selection", "d"])].groupby("varied"):
        assert len(set(own[varied])) == 1
        assert (own.drop(columns=varied)["selection"] == "proportion").all()
    np.testing.assert_allclose(found["gap"] / found["expected"], 1, atol=0.03)
    asked = ["parameter", "varied", "v", "T", "p_m", "p_c", "tau", "d", "selection", "seed"]
    assert not found.duplicated(asked).any()


def test_optimal_attention_over_topics_marks_where_beta_is_at_its_bound() -> None:
    block = SYNTHETIC.ratio_over_T.but(documents=300, T=[4, 8], taus=[1, 2], seeds=2)
    found = ratio_over_topics(SYNTHETIC.model.but(v=5), block)
    assert len(found) == (2 + 1) * 2 * 2
    least = found["beta"].min()
    assert found["at_bound"].equals(np.isclose(found["beta"], np.exp(-6)) | (found["beta"] < least))
    at = found[(found["tau"] == 2) & (found["selection"] == "proportion")]
    by = at.groupby("T")["ratio"].mean()
    assert by[8] > by[4] > 1


def loss_of_long_documents(log_alpha: float, words: TopicModelSettings, tau: int) -> float:
    """Squared loss of attention exp(log_alpha) times as large to the topic of what a word shows.

    Of words to predict that show a word, in the limit of long documents: over the topic of what it
    shows and of what is meant, one by one. W_V is the least that is right under uniform attention.
    """
    T, intact, random = words.T, words.intact, words.p_m * words.p_r
    masks = 1 - intact - random
    off = -random / T / intact  # what random words add to every topic is taken off again,
    of_keys = (intact + random) ** 2 / (T * words.v) + masks**2  # by words and masks together
    of_word, of_mask = off * (intact + random) / (T * words.v) / of_keys, off * masks / of_keys
    loss = 0.0
    for shown, meant in itertools.product(range(T), range(tau)):
        keys = [(intact / tau if topic < tau else 0) + random / T for topic in range(T)]
        keys[shown] *= np.exp(log_alpha)
        all_keys = sum(keys) + masks
        chance = ((shown == meant) * words.p_c + words.p_r / T) / tau
        for topic in range(T):
            f = keys[topic] / intact + of_word * sum(keys) + of_mask * masks
            loss += chance * (f / all_keys - (topic == meant)) ** 2
    return loss


def test_the_optimum_over_masks_is_that_of_long_documents_term_by_term() -> None:
    words = SYNTHETIC.model.but(p_c=0.3, p_r=0.3)
    block = SYNTHETIC.over_masks.but(documents=400, taus=[2, 4], kept=[0, 0.25, 0.5], seeds=2)
    found = ratio_over_masks(words, block)
    assert len(found) == 3 * 2 * 2 and (found["p_c"] + found["p_r"]).round(9).eq(0.6).all()
    table = over_masks(found)
    ratios = table[table["quantity"] == "ratio"].set_index(["kept", "tau"])
    for (kept, tau), ratio in found.groupby(["kept", "tau"])["ratio"].mean().items():
        masked = words.but(p_c=0.6 * kept, p_r=0.6 * (1 - kept))
        least = minimize_scalar(loss_of_long_documents, bounds=(-2, 5), args=(masked, tau))
        assert ratio == pytest.approx(np.exp(least.x), rel=0.04)
        if not kept:  # whatever their share
            usual = SYNTHETIC.model.but(p_c=0, p_r=0.2)
            other = minimize_scalar(loss_of_long_documents, bounds=(-2, 5), args=(usual, tau))
            assert np.exp([least.x, other.x]) == pytest.approx(1, abs=1e-4)
        assert ratios["value"][kept, tau] == pytest.approx(ratio)
        assert (ratios["verdict"][kept, tau] == "reproduced") == (kept > 0)


def test_without_shares_of_kept_words_one_line_says_which_setting_has_them() -> None:
    with pytest.raises(OnelayerError, match=r"over_masks.kept: no shares .* from 0 to 1"):
        ratio_over_masks(SYNTHETIC.model, SYNTHETIC.over_masks.but(kept=[]))


@pytest.fixture(scope="module")
def descent() -> pd.DataFrame:
    return stage_one_descent(
        SYNTHETIC.model.but(T=3, v=3),
        SYNTHETIC.theory.but(documents=200, N=(200, 220), tau=2),
        SYNTHETIC.descent.but(starts=2, steps=300, weight_decays=[0, 0.01]),
    )


def test_weight_decay_alone_makes_ends_from_all_starts_the_same(descent) -> None:
    end = descent[descent["step"] == 300].groupby(["parameter", "documents", "weight_decay"])
    between = end["between"].max()
    for parameter in ("W_V", "E"):
        assert between[parameter, "limit", 0.01] < 1e-3 < 0.3 < between[parameter, "limit", 0.0]
        assert end["to_optimum"].max()[parameter, "limit", 0.01] < 1e-3


def test_descent_contracts_no_slower_than_its_slowest_direction(descent) -> None:
    own = descent[(descent["parameter"] == "W_V") & (descent["weight_decay"] > 0)]
    for _, run in own.groupby(["documents", "start"]):
        run = run.sort_values("step")
        bound = run["contraction"].iloc[0] ** run["step"] * run["to_optimum"].iloc[0]
        assert (run["to_optimum"] <= bound * (1 + 1e-6) + 1e-9).all()


def test_the_contraction_leaves_flat_directions_out_without_decay() -> None:
    moments = closed_form.Moments(np.diag([0.4, 0.1, 0.0]), np.eye(3))
    assert contraction(moments, 0.0, 1.0) == pytest.approx(0.8)
    assert contraction(moments, 0.01, 1.0) == pytest.approx(0.99)


def test_the_gradient_of_keys_is_proportional_to_the_queries() -> None:
    one = {"name": "a", "embedding": "one_hot", "loss": "mean_squared", "optimizer": "adam"}
    one |= {"learning_rate": 0.003, "noise": 0.001}
    panel = {"name": "m", "embedding": "one_hot", "loss": "squared", "optimizer": "adam"}
    panel |= {"learning_rates": [0.1], "noises": [0.1]}
    other = one | {"name": "b"}
    stages = SYNTHETIC.two_stages.but(documents=80, steps=20, settings=[one, other], maps=[panel])
    followed = SYNTHETIC.stage_gradients.but(settings=["a"], seeds=2, every=10)
    found = stage_gradients(SMALL, stages, followed)
    assert set(found["name"]) == {"a"}
    assert sorted(found["step"].unique()) == [0, 10, 20]
    start = found[found["step"] == 0]
    np.testing.assert_allclose(start["with_smaller_W_Q"] / start["gradient_W_K"], 0.1, rtol=1e-3)
    assert (start["gradient_W_K"] < 1e-3 * start["gradient_W_V"]).all()


def test_components_are_followed_for_every_size_of_the_embeddings() -> None:
    found = all_components(
        SMALL,
        SYNTHETIC.components.but(documents=80, rates={"squared": {"adam": 0.01}}),
        SYNTHETIC.components_over_steps.but(d=[6], steps=40, every=20, seeds=2),
    )
    assert sorted(found["d"].unique()) == [6, 20]
    assert sorted(found["step"].unique()) == [0, 20, 40]
    assert (found.groupby(["d", "step"]).size() == 2).all()
    assert np.isfinite(found[["gap", "attention"]]).all(axis=None)


def test_half_times_are_the_first_looks_at_half_of_the_end() -> None:
    known = {"loss": "squared", "optimizer": "adam", "d": 4, "seed": 0, "diverged_at": -1}
    run = pd.DataFrame({"step": [0, 10, 20, 30], "gap": [0.1, 0.2, 0.6, 1.1]} | known)
    run["attention"] = np.exp([0.0, 0.6, 0.9, 1.0])
    [row] = half_times(run).itertuples()
    assert (row.t_E, row.t_A) == (20, 10)
    never = half_times(run.assign(attention=1.0))
    assert never["t_A"].isna().all()
    assert half_times(run.assign(attention=[1, 1.001, 1.002, 1.003]))["t_A"].isna().all()


def brackets(tokens: np.ndarray) -> int:
    """The deepest nesting of one word, read with a stack; fails where it is not well-nested."""
    stack, deepest = [], 0
    for token in tokens[tokens != data.PAD] - data.SPECIAL:
        kind, closes = divmod(int(token), 2)
        if closes:
            assert stack.pop() == kind
        else:
            stack.append(kind)
        deepest = max(deepest, len(stack))
    assert not stack
    return deepest


def test_bracket_words_are_well_nested_and_no_deeper_than_asked() -> None:
    block = SYNTHETIC.dyck.but(types=3, depth=4, documents=300, N=(9, 21))
    tokens = dyck.bracket_words(np.random.default_rng(0), block)
    assert {brackets(word) for word in tokens} >= {2, 3, 4}
    assert max(brackets(word) for word in tokens) == 4
    lengths = (tokens != data.PAD).sum(axis=1)
    assert set(lengths) == {10, 12, 14, 16, 18, 20}


def test_brackets_have_the_expected_gaps_and_partners() -> None:
    block = SYNTHETIC.dyck.but(documents=4000, types=3, N=(30, 40), steps=2, seeds=2)
    found, _ = dyck.dyck(SYNTHETIC.in_common, block)
    values = found[found["quantity"].str.startswith("W_V")]
    assert len(values) == 4
    np.testing.assert_allclose(values["value"], values["expected"], rtol=0.1)


def test_partner_minus_self_is_read_off_the_blocks() -> None:
    matrix = np.zeros((8, 8))
    matrix[4:, 4:] = np.kron(np.eye(2), [[1.0, 3.0], [5.0, 2.0]])
    assert dyck.partner_minus_self(matrix) == pytest.approx(2.5)


SETTING = {"embedding": "layer_norm", "loss": "cross_entropy", "optimizer": "sgd", "noise": 0.01}


def grid_rows(*gaps: float, **own: object) -> pd.DataFrame:
    """Gaps of one setting as multiples of the theorem's, a row a draw of documents."""
    theory = 1 / (10 * (1 - 0.9 * 0.15))
    known = {"varied": "base", "parameter": "W_V", "v": 10, "T": 10, "p_m": 0.15, "p_c": 0.1}
    known |= {"tau": 2, "d": 104, "selection": "proportion"} | own
    known |= {"theory": theory, "expected": theory}
    return pd.DataFrame([known | {"seed": s, "gap": gap * theory} for s, gap in enumerate(gaps)])


def test_a_gap_is_granted_what_the_shortest_documents_take_off_and_no_more() -> None:
    # 1,000 words and exactly .15 of them masked: .136% of the theorem's.
    near, far = grid_rows(0.9988, 0.9987, 0.9986), grid_rows(0.9974, 0.9973, 0.9975, tau=1)
    far = far.assign(varied="tau")  # with one topic a document hardly anything is taken off
    each = near.assign(varied="selection", selection="independent")
    table = tabulated(
        [
            one
            for one in synthetic.gap_claims(
                pd.concat([near, far, each]), SYNTHETIC.model, (1000, 1200)
            )
            if one.quantity in ("gap_of_setting", "farthest_gap_to_theory_ratio")
        ]
    ).query("seed == 'all'")
    by = table.set_index("quantity")
    of_setting = by.loc["gap_of_setting"]
    assert of_setting["verdict"].tolist() == ["reproduced", "smaller"]
    granted = of_setting["tolerance"] / of_setting["published"]
    assert granted.tolist() == pytest.approx([0.00136, 0.00004], abs=1e-5)
    assert by.loc["farthest_gap_to_theory_ratio", "value"] == pytest.approx(0.9974)
    assert "tau = 1" in by.loc["farthest_gap_to_theory_ratio", "setting"]


def test_the_farthest_of_many_gaps_is_judged_by_an_interval_for_all_of_them() -> None:
    seeds = np.array([0.99, 0.991, 0.992, 0.993])
    alone = synthetic.farthest([("a", seeds, 0.0)])
    among = synthetic.farthest(
        [(name, seeds * (1 if name == "a" else 1.005), 0.0) for name in "abcdefghij"]
    )
    assert among.setting == "a" and among.estimate["value"] == alone.estimate["value"]
    wider = (among.estimate["high"] - among.estimate["low"]) / (
        alone.estimate["high"] - alone.estimate["low"]
    )
    assert wider == pytest.approx(7.453 / 3.182, rel=0.01)  # t with 3 degrees, .05 / 10 and .05
    granted = synthetic.farthest([("far but granted", seeds, 0.02), ("b", seeds + 0.01, 0.0)])
    assert granted.setting == "b"


def gradient_rows(*names: str) -> pd.DataFrame:
    """Gradients of W_K that grow to half of that of W_V at step 1000."""
    rows = [
        {"name": name, "seed": seed, "step": step, "gradient_W_K": ratio * (1 + 0.1 * seed)}
        for name in names
        for seed in range(3)
        for step, ratio in ((0, 1e-6), (100, 1e-4), (200, 1e-3), (400, 0.02), (1000, 0.5))
    ]
    table = pd.DataFrame(rows).assign(gradient_W_V=1.0, W_K=0.1, W_Q=0.1, diverged_at=-1)
    return table.assign(with_smaller_W_Q=0.1 * table["gradient_W_K"])


def test_gradients_are_judged_in_the_papers_own_setting_and_its_stage_1_alone() -> None:
    # The other setting's name begins as the paper's own does.
    own, other = "cross-entropy, SGD 2", "cross-entropy, SGD 1"
    stages = [
        StageSetting(**SETTING, name=own, learning_rate=2, pictured=True),
        StageSetting(**SETTING, name=other, learning_rate=1),
    ]
    table = tabulated(synthetic.gradient_claims(gradient_rows(own, other), stages, 400.0))
    ratio = table[(table["quantity"] == "gradient_ratio_W_K_to_W_V") & (table["seed"] == ALL)]
    judged = ratio.set_index("setting")["verdict"]
    assert judged[f"{own}, step 400"] == judged[f"{own}, step 0"] == "reproduced"
    assert judged[f"{own}, step 1000"] == judged[f"{other}, step 0"] == ""
    [largest] = table[table["quantity"] == "largest_gradient_ratio_in_stage_1"].to_dict("records")
    assert largest["value"] == pytest.approx(0.022) and largest["verdict"] == "reproduced"
    term = table[table["quantity"] == "gradient_W_K_with_a_tenth_of_W_Q"]
    assert set(term["verdict"]) == {"reproduced"}


def test_what_is_claimed_of_every_setting_must_hold_of_the_least_sure_one() -> None:
    gaps = {"sure": [0.01, 0.011, 0.012], "unsure": [-0.5, 0.02, 0.6]}
    points = pd.DataFrame([(name, gap) for name in gaps for gap in gaps[name]])
    setting, estimate, several = synthetic._extreme(points, 0, 1, 1)
    assert (setting, several) == ("sure", 2) and estimate["low"] < 0 < estimate["value"]


def test_runs_that_diverged_are_counted_in_the_notes_of_gradients() -> None:
    name = "cross-entropy, SGD 2"
    stages = [StageSetting(**SETTING, name=name, learning_rate=2, pictured=True)]
    rows = gradient_rows(name)
    rows.loc[rows["seed"] == 2, "diverged_at"] = 900
    table = tabulated(synthetic.gradient_claims(rows, stages, 400.0))
    notes = table.loc[table["seed"] == ALL, "note"]
    assert notes.str.endswith("; 1 of 3 runs diverged and are left out").all()


def test_one_matrix_from_every_start_is_judged_by_the_largest_distance(descent) -> None:
    table = tabulated(synthetic.descent_claims(descent, (200, 220)))
    by = table[table["seed"] == ALL].set_index("quantity")
    ends = descent[(descent["step"] == 300) & (descent["parameter"] == "W_V")]
    means = ends.groupby(["weight_decay", "documents"])[["between", "to_optimum"]].mean()
    for quantity, expected in (
        ("largest_distance_between_starts", means.loc[0.01, "between"].max()),
        ("least_distance_between_starts", means.loc[0.0, "between"].min()),
        ("largest_distance_to_optimum", means.loc[0.01, "to_optimum"].max()),
    ):
        assert by.loc[quantity, "value"] == pytest.approx(expected)
        assert by.loc[quantity, "verdict"] == "reproduced"
    rates = by.loc["rate"]
    # In the slowest direction alone, or faster while others move.
    assert set(rates.loc[rates["published"].notna(), "verdict"]) <= {"reproduced", "larger"}


def test_what_the_paper_only_asks_is_not_judged_and_brackets_are_analogues() -> None:
    known = {"loss": "squared", "optimizer": "adam", "diverged_at": -1}
    runs = pd.DataFrame(
        known | {"d": d, "seed": seed, "step": step, "gap": gap * step, "attention": 1 + step}
        for d, gap in ((16, 0.1), (6, -0.1))
        for seed in range(3)
        for step in (0, 1, 2)
    )
    runs["gap"] *= 1 + 0.01 * runs["seed"]
    table = tabulated(synthetic.component_claims(runs, {}, 3, 4))
    by = table[table["seed"] == ALL].set_index("quantity")
    assert set(by.loc["attention_ratio", "verdict"]) == {""}
    assert by.loc["least_gap_without_diagonal", "verdict"] == "reproduced"
    assert by.loc["least_gap_of_small_embeddings", "verdict"] == "opposite"
    block = SYNTHETIC.dyck.but(documents=80, types=3, N=(30, 40), steps=2, seeds=2)
    found, norms = dyck.dyck(SYNTHETIC.in_common, block)
    brackets = tabulated(synthetic.dyck_claims(found, norms))
    judged = brackets[(brackets["seed"] == ALL) & (brackets["verdict"] != "")]
    assert set(judged["place"]) == {BEYOND}
    assert set(judged["kind"]) <= {"analogue", ""} and "analogue" in set(judged["kind"])


def ratios(**by_tau: float) -> pd.DataFrame:
    """Optima of T = 10 and T = 20 that differ by a factor of 1.5, three seeds."""
    rows = [
        {"T": T, "tau": int(name[3:]), "seed": seed, "ratio": one * factor * (1 + 0.01 * seed)}
        for name, one in by_tau.items()
        for T, factor in ((10, 1.0), (20, 1.5))
        for seed in range(3)
    ]
    table = pd.DataFrame(rows).assign(selection="proportion", at_bound=True, words="9 to 9 words")
    other = table[table["T"] == 10].assign(selection="independent")
    return pd.concat([table, other]).assign(alpha=2.0, beta=np.exp(-6))


def test_the_band_with_one_topic_a_document_is_another_than_without() -> None:
    table = tabulated(synthetic.ratio_claims(ratios(tau1=0.95, tau2=7.0, tau4=9.0)))
    assert not table.duplicated([*KEYS, "quantity"]).any()
    lowest = table[(table["quantity"] == "lambda_1") & (table["seed"] == ALL)]
    of_all, of_several = lowest["value"]
    assert of_all == pytest.approx(0.95 * 1.01)
    assert of_several == pytest.approx(9 / 4 * 1.01)
    whole = table[table["seed"] == ALL].set_index("quantity")
    beta = whole.loc["beta"]
    assert set(beta["verdict"]) == {""} and set(whole.loc["alpha", "verdict"]) == {"reproduced"}
    assert whole.loc["least_alpha", "value"] == 2
    assert whole.loc["least_ratio_of_one_topic", "verdict"] == "opposite"
    assert beta["note"].str.contains("at the optimiser's lower bound").all()
    exponent = table[(table["quantity"] == "exponent_of_T") & (table["seed"] == ALL)]
    np.testing.assert_allclose(exponent["value"], np.log(1.5) / np.log(2))


def test_targets_of_a_document_are_summed_and_those_without_any_are_zero() -> None:
    targets = np.array([[1, 0, 2], [0, 1, 0], [3, 0, 0]], dtype=np.float32)
    first, keys = np.array([0, 0, 2, 2, 3, 3]), np.ones((5, 3), dtype=np.float32)
    rows = data.CountRows(keys, first, np.zeros(3, dtype=np.int64), targets)
    shares, summed = rows.averages()
    np.testing.assert_allclose(shares, 1 / 3)
    np.testing.assert_array_equal(summed, [[0, 0, 0], [1, 1, 2], [0, 0, 0], [3, 0, 0], [0, 0, 0]])
