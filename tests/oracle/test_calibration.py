"""Calibration against slow loops: permuted ratios, the shuffles' words, coverage, verdicts."""

import copy
import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from onelayer.calibration import simulation
from onelayer.errors import OnelayerError
from onelayer.evidence import intervals
from onelayer.papers.topic_structure.wikipedia.probe import calibration, uncertainty
from onelayer.papers.topic_structure.wikipedia.probe.attention import (
    probe_attention,
    sums_by_document,
)
from onelayer.papers.topic_structure.wikipedia.probe.labels import Variant, labels_of, variants_of
from onelayer.papers.topic_structure.wikipedia.probe.pairs import (
    DIFFERENT_TOPIC,
    SAME_TOPIC,
    Labels,
)
from onelayer.settings.calibration import (
    EffectCalibration,
    IntervalCalibration,
    ProbeCalibrationSettings,
    TextCalibration,
)
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.root import default_settings
from onelayer.text.corpus.articles import tokens
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from tests.tiny_models import save_tiny_bert

PROBED = default_settings().probe.attention
TEXTS = [
    "The frog, the toad; the pond. A froglet, a toad!",
    "Bach, Mozart. Opera, opera! The toad.",
    "pond frog bach mozart toad opera the frog zebra pond",
    "the . the",
    "mozart opera frog pond toad bach",
]
TOPICS = {"frog": 0, "toad": 0, "pond": 0, "bach": 1, "opera": 1, "mozart": 1}
KEPT = pd.DataFrame(
    [("disjoint", "top 3", topic, word, 0.5) for word, topic in TOPICS.items()],
    columns=["overlap", "threshold", "topic", "word", "probability"],
)
VOCABULARY = pd.DataFrame({"word": list(TOPICS), "occurrences": [9, 8, 7, 6, 5, 4]})
ATTENTION = PROBED.but(documents=5, max_tokens=32)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = save_tiny_bert(tmp_path_factory.mktemp("model") / "bert")
    return load_checkpoint(folder), load_tokenizer(folder)


def settings(**texts: int) -> ProbeCalibrationSettings:
    return ProbeCalibrationSettings(
        texts=TextCalibration(**{"documents": 5, "permutations": 100, "shuffles": 2} | texts),
        attention=ATTENTION,
        uncertainty=UncertaintySettings(
            permutations=50, document_resamples=100, frequency_bins=1, seed=3
        ),
        seed=4,
    )


def pairs_and_labels(checkpoint) -> tuple[calibration.PairsOfArticles, Labels]:
    labels = labels_of(KEPT, [TOPICS])
    found = sums_by_document(*checkpoint, TEXTS, labels, ATTENTION)
    return calibration.pairs_of(found, len(TEXTS)), labels


def test_pairs_of_articles_are_the_probes_own_sums_however_topics_are_permuted(checkpoint) -> None:
    """Topics permuted among the words, then probed anew, as if they had been the topics."""
    pairs, labels = pairs_and_labels(checkpoint)
    topics = labels.membership[0].astype(float)
    rng = np.random.default_rng(0)
    for _ in range(5):
        permutation = rng.permutation(len(labels.words))
        moved = Labels(labels.words, labels.membership[:, permutation])
        articles = pd.DataFrame({"id": list("abcde"), "text": TEXTS})
        probed = probe_attention(*checkpoint, articles, moved, variants_of(KEPT), ATTENTION)
        expected = [part[:, [SAME_TOPIC, DIFFERENT_TOPIC]] for part in probed.of_documents(0)]
        found = pairs.by_class(topics @ topics.T > 0, permutation)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


def test_articles_that_are_read_in_another_order_keep_their_places(checkpoint) -> None:
    """On a GPU texts are read by length."""
    _, labels = pairs_and_labels(checkpoint)
    found = list(sums_by_document(*checkpoint, TEXTS, labels, ATTENTION))
    together = labels.membership[0] @ labels.membership[0].T
    own = np.arange(len(labels.words))
    straight, turned = (
        calibration.pairs_of(iter(order), len(TEXTS)).by_class(together, own)
        for order in (found, found[::-1])
    )
    np.testing.assert_allclose(straight, turned)


def test_permuted_topics_are_drawn_within_strata_and_each_has_the_others_as_its_null(
    checkpoint,
) -> None:
    pairs, labels = pairs_and_labels(checkpoint)
    frequencies = np.array([6, 9, 4, 5, 7, 8])
    one = settings()
    measured = calibration.ArticleRatios(labels, Variant("disjoint", "top 3"), frequencies, one)
    rows = measured.permuted(pairs)
    by = rows.pivot(index="seed", columns="quantity", values="value")["attention_ratio"]
    values = by[list(map(str, range(100)))].to_numpy()
    loops = []
    for permutation in measured._permutations(100, "permuted topics"):
        sums, counts = [0.0, 0.0], [0, 0]
        for query, key, weight, count in zip(
            pairs.query, pairs.key, pairs.sums, pairs.counts, strict=True
        ):
            words = [labels.words[permutation[word]] for word in (query, key)]
            other = TOPICS[words[0]] != TOPICS[words[1]]
            sums[other] += weight
            counts[other] += count
        loops.append(sums[0] / counts[0] / (sums[1] / counts[1]))
    np.testing.assert_allclose(values, loops)
    nulls = rows[rows["quantity"] == "attention_ratio_null"].set_index("seed")
    rng = calibration.generator("nulls of permuted topics", 4)
    for draw in range(100):
        others = [loop for place, loop in enumerate(loops) if place != draw]
        chosen = rng.choice(others, 50, replace=False)
        assert nulls.loc[str(draw), "value"] == pytest.approx(chosen.mean())
        ends = np.quantile(chosen, [0.025, 0.975])
        np.testing.assert_allclose(nulls.loc[str(draw), ["low", "high"]].tolist(), ends)


@pytest.mark.parametrize("across", [True, False])
def test_shuffled_words_are_the_same_words_in_articles_as_long(across) -> None:
    rng = np.random.default_rng(0)
    found = calibration.shuffled(TEXTS, across, 6, rng)
    before, after = ([tokens(text) for text in these] for these in (TEXTS, found))
    before = [words[:6] for words in before]
    assert [len(words) for words in after] == [len(words) for words in before]
    assert Counter(itertools.chain(*after)) == Counter(itertools.chain(*before))
    same = [Counter(a) == Counter(b) for a, b in zip(after, before, strict=True)]
    assert all(same) is (not across)
    assert after != before


def test_a_model_that_attends_uniformly_shows_nothing_in_any_text(checkpoint) -> None:
    model, tokenizer = copy.deepcopy(checkpoint[0]), checkpoint[1]
    for layer in model.encoder.layer:
        layer.attention.self.query.weight.data.zero_()
        layer.attention.self.query.bias.data.zero_()
    articles = pd.DataFrame({"id": list("abcde") * 8, "text": TEXTS * 8})
    found = calibration.calibrate(model, tokenizer, articles, KEPT, VOCABULARY, settings())
    ratios = found[found["quantity"] == "attention_ratio"]
    assert Counter(ratios["permuted"]) == {True: 100, False: 3}
    np.testing.assert_allclose(ratios[["value", "low", "high"]], 1, atol=1e-6)
    own = ratios[~ratios["permuted"]].set_index("text")["runs"].to_dict()
    assert own == {calibration.AS_THEY_ARE: 1, calibration.ACROSS: 2, calibration.WITHIN: 2}


def test_too_few_articles_are_refused_in_one_line(checkpoint) -> None:
    articles = pd.DataFrame({"id": ["a"], "text": TEXTS[:1]})
    with pytest.raises(OnelayerError, match=r"^calibration\.texts\.documents: different_topic: no"):
        calibration.calibrate(*checkpoint, articles, KEPT, VOCABULARY, settings())


@pytest.mark.parametrize("shape", simulation.SHAPES)
def test_simulated_intervals_are_those_of_data_written_out(shape) -> None:
    """Every seed reads every document; resampled by hand, from the same random numbers."""
    seeds, documents, trials, resamples = 3, 7, 4, 50
    by_seed, by_document = 0.5, 2.0
    found = simulation.simulated_intervals(
        shape, seeds, documents, (by_seed, by_document), trials, resamples, np.random.default_rng(5)
    )
    rng = np.random.default_rng(5)
    texts = simulation.noise(shape, (documents, trials), rng)
    weights = uncertainty.document_weights(documents, resamples, rng)
    own = simulation.noise(shape, (trials, seeds), rng)
    for trial in range(trials):
        of_texts = by_document * math.sqrt(documents) * texts[:, trial]
        measured = [
            [by_seed * own[trial, seed] + text for text in of_texts] for seed in range(seeds)
        ]
        values = [sum(row) / documents for row in measured]
        means = []
        for drawn in weights:
            copies = [text for text in range(documents) for _ in range(drawn[text])]
            means.append(sum(sum(row[t] for t in copies) for row in measured) / len(copies) / seeds)
        ends = intervals.bootstrap_interval(means, documents)
        expected = intervals.over_seeds(np.array(values), *map(float, ends))
        np.testing.assert_allclose(found[trial], expected, rtol=1e-10)


@pytest.mark.parametrize("shape", simulation.SHAPES)
def test_noise_has_mean_0_and_standard_deviation_1(shape) -> None:
    found = simulation.noise(shape, (200_000,), np.random.default_rng(0))
    assert found.mean() == pytest.approx(0, abs=0.01)
    assert found.std() == pytest.approx(1, abs=0.02)
    assert (found**3).mean() == pytest.approx(2 if shape == simulation.SKEWED else 0, abs=0.2)


@pytest.mark.parametrize(("n", "share"), [(3, 0.1), (5, 0.5), (8, 0.3)])
def test_coverage_of_a_share_is_that_of_all_outcomes(n, share) -> None:
    covered = 0.0
    for outcome in itertools.product([0, 1], repeat=n):
        found = intervals.share(sum(outcome), n)
        chance = math.prod(share if one else 1 - share for one in outcome)
        covered += chance * (found["low"] <= share <= found["high"])
    assert simulation.share_coverage(n, share) == pytest.approx(covered)


def test_coverage_counts_intervals_that_hold_the_truth() -> None:
    """Student's interval of normal runs holds it in 95%, of exponential ones in fewer."""
    small = IntervalCalibration(
        trials=1000, seeds=[3], documents=[30], resamples=100, spreads=[0], shares=[0.5]
    )
    found = simulation.coverage(small, seed=0)
    of = found.set_index(["case", "shape"])
    held = of["covered"] / of["trials"]
    assert held[simulation.MEAN, "normal"] == pytest.approx(0.95, abs=0.02)
    assert 0.86 < held[simulation.MEAN, "skewed"] < 0.91
    assert held[simulation.PLAIN, "skewed"] < held[simulation.DOCUMENTS, "skewed"]
    assert held[simulation.SHARE, ""] == 1
    assert len(found) == 2 * (1 + 2 + 1) + 1


def test_simulated_effects_are_as_uncertain_as_said() -> None:
    """Half widths are those of the normal interval, whatever the number of seeds."""
    asked = EffectCalibration(trials=4000, effects=[0], half_widths=[0.5], documents=200)
    for seeds in (3, 10):
        found = simulation.effect_intervals(asked, "normal", seeds, 0.5, 100, 0)
        assert 1.96 * found[:, 0].std() == pytest.approx(0.5, rel=0.05)


def test_verdicts_of_simulated_effects_are_counted_and_complete() -> None:
    small = EffectCalibration(trials=200, effects=[0, 1], half_widths=[0.05], documents=50)
    found = simulation.effects(small, [10], 100, seed=0)
    totals = found.groupby(["shape", "seeds", "half_width", "true_effect"])["count"].sum()
    assert totals.tolist() == [200] * 4
    by = found.set_index(["shape", "true_effect", "verdict"])["count"]
    assert by["normal", 0, "negligible"] > 150
    assert by["normal", 1, "reproduced"] > 180
    wide = simulation.verdicts_of(np.array([[0.5, 0.4, 0.6], [0.0, -0.5, 0.5], [1.0, 0.2, 1.8]]))
    assert wide == {"smaller": 1, "undecided": 1, "reproduced": 1}
