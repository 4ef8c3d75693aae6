"""Claims about the synthetic topic-structure data and its closed forms."""

import numpy as np
import pytest

from onelayer.papers.topic_structure.synthetic import attention, closed_form, data, tied
from onelayer.papers.topic_structure.synthetic.training import DocumentBatches
from onelayer.settings.root import default_settings
from onelayer.settings.topic_structure_synthetic import MaskingSettings

SYNTHETIC = default_settings().topic_structure.synthetic
SMALL = data.Vocabulary(T=3, v=4)
CONFIGURATIONS = [
    pytest.param(SYNTHETIC.model, id="default"),
    pytest.param(SYNTHETIC.model.but(T=20, v=5, p_m=0.3), id="T=20, v=5, p_m=.3"),
]


def masked_rows(
    vocabulary: data.Vocabulary,
    masking: MaskingSettings,
    tau: int,
    lengths: tuple[int, int],
    documents: int = 1500,
    attended: bool = True,
) -> data.CountRows:
    rng = np.random.default_rng(0)
    weights = data.uniform_weights(rng, vocabulary.T, tau, documents)
    tokens = data.draw_documents(rng, vocabulary, weights, lengths, framed=not attended)
    shown, selected = data.mask_documents(rng, vocabulary, tokens, masking)
    return data.count_rows(vocabulary, tokens, shown, selected, attended)


def test_a_document_has_tau_equal_topics_and_nothing_else() -> None:
    weights = data.uniform_weights(np.random.default_rng(0), 7, 3, 500)
    assert ((weights > 0).sum(axis=1) == 3).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights.mean(axis=0), 1 / 7, atol=0.03)


def test_words_follow_the_topic_weights_and_their_topics_uniformly() -> None:
    rng = np.random.default_rng(1)
    weights = np.tile([0.7, 0.3, 0.0], (400, 1))
    tokens = data.draw_documents(rng, SMALL, weights, (50, 60), framed=True)
    assert (tokens[:, 0] == data.START).all() and ((tokens == data.END).sum(axis=1) == 1).all()
    length = (tokens >= data.SPECIAL).sum(axis=1)
    assert length.min() == 50 and length.max() == 60
    counts = np.bincount(tokens[tokens >= data.SPECIAL], minlength=SMALL.size)[data.SPECIAL :]
    expected = np.repeat([0.7, 0.3, 0.0], 4) / 4
    np.testing.assert_allclose(counts / counts.sum(), expected, atol=0.01)
    assert counts[8:].sum() == 0


def test_masking_keeps_randomises_and_hides_the_stated_shares() -> None:
    rng = np.random.default_rng(2)
    tokens = data.draw_documents(rng, SMALL, np.full((800, 3), 1 / 3), (100, 100), framed=True)
    shown, selected = data.mask_documents(
        rng, SMALL, tokens, SYNTHETIC.model.but(p_m=0.2, p_c=0.3, p_r=0.4)
    )
    assert not selected[tokens < data.SPECIAL].any()
    assert (shown[~selected] == tokens[~selected]).all()
    assert selected[tokens >= data.SPECIAL].mean() == pytest.approx(0.2, abs=0.01)
    assert (shown[selected] == data.MASK).mean() == pytest.approx(0.3, abs=0.01)
    # a random word is the own one in one of twelve cases
    own = (shown[selected] == tokens[selected]).mean()
    assert own == pytest.approx(0.3 + 0.4 / 12, abs=0.01)


def test_rows_hold_every_key_and_every_target_once() -> None:
    rows = masked_rows(SMALL, SYNTHETIC.model.but(p_m=0.3, p_c=0.1, p_r=0.1), 2, (20, 30), 40)
    shares, targets = rows.averages()
    assert (rows.keys.sum(axis=1) >= 20).all() and (rows.keys.sum(axis=1) <= 30).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert targets.sum() == rows.targets.sum()
    assert (rows.targets.sum(axis=1) >= 1).all()
    pairs = set(zip(rows.document.tolist(), rows.query.tolist(), strict=True))
    assert len(pairs) == len(rows.query)


def test_every_epoch_shows_every_document_once_in_another_order() -> None:
    rows = masked_rows(SMALL, SYNTHETIC.model.but(p_m=0.3, p_c=0.1, p_r=0.1), 2, (20, 30), 40)
    batches = DocumentBatches(rows, [0, 1, 0], 10)
    epochs = [
        np.concatenate([batches.drawn(seed, step) for step in range(4 * epoch, 4 * epoch + 4)])
        for seed in (0, 1)
        for epoch in (0, 1)
    ]
    assert all((np.sort(epoch) == np.arange(40)).all() for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4


@pytest.mark.parametrize("model", CONFIGURATIONS)
def test_closed_form_gaps_are_the_theorems(model) -> None:
    vocabulary = data.Vocabulary(model.T, model.v)
    moments = closed_form.moments(masked_rows(vocabulary, model, 2, (1000, 1200)))
    theory = closed_form.theory_gap(model)
    for optimum in (closed_form.ridge_value, closed_form.ridge_embedding):
        found = closed_form.gap(vocabulary, optimum(moments, 0.0))
        assert found == pytest.approx(theory, rel=0.01)
        assert closed_form.gap(vocabulary, optimum(moments, 1e-3)) < 0.97 * theory


@pytest.mark.parametrize("model", CONFIGURATIONS)
def test_without_masked_keys_the_gap_follows_the_other_formula(model) -> None:
    vocabulary = data.Vocabulary(model.T, model.v)
    rows = masked_rows(vocabulary, model, 2, (1000, 1200), attended=False)
    words = float(rows.keys[:, data.SPECIAL :].sum(axis=1).mean())
    theory = closed_form.theory_gap_hidden(model.v, words)
    found = closed_form.gap(vocabulary, closed_form.ridge_value(closed_form.moments(rows), 0.0))
    assert found == pytest.approx(theory, rel=0.01)
    assert theory < 0.93 * closed_form.theory_gap(model)


def test_the_gap_counts_only_words_and_the_diagonal_unless_told_not_to() -> None:
    matrix = np.full((SMALL.size, SMALL.size), 7.0)
    matrix[data.SPECIAL :, data.SPECIAL :] = np.eye(12)
    assert closed_form.gap(SMALL, matrix) == pytest.approx(1 / 4)
    assert closed_form.gap(SMALL, matrix, diagonal=False) == 0


def test_the_optimal_ratio_grows_with_tau_and_is_one_for_one_topic() -> None:
    vocabulary, masking = data.Vocabulary(10, 10), SYNTHETIC.model.but(p_m=0.15, p_c=0.1, p_r=0.1)
    ratios = []
    for tau in (1, 2, 3, 5):
        rows = masked_rows(vocabulary, masking, tau, (100, 150), 2000)
        W_V = closed_form.stage_one_optimum(vocabulary, rows)
        ratios.append(tied.optimal_attention(vocabulary, rows, W_V)["ratio"])
    assert ratios[0] == pytest.approx(1, abs=0.1)
    assert (np.diff(ratios) > 0).all()


def test_uniform_attention_is_one_over_the_length_in_every_pair_class() -> None:
    vocabulary = data.Vocabulary(10, 10)
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(vocabulary.T, 0.1), 20)
    tokens = data.draw_documents(rng, vocabulary, weights, (100, 150), framed=True)
    counts = attention.evaluation_counts(vocabulary, tokens, 100)
    assert (counts.sum(axis=1) == 100).all()
    flat = np.zeros((1, vocabulary.size, vocabulary.size))
    for topics in (attention.correct_topics(vocabulary), attention.shifted_topics(vocabulary)):
        found = attention.pair_averages(flat, counts, topics, 100)
        np.testing.assert_allclose(found, 0.01)
    assert np.isnan(attention.pair_averages(flat * np.nan, counts, topics, 100)).all()
