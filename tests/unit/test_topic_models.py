"""Claims about many topic models: fitted together, probed in one pass, compared in one table."""

import itertools

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer, normalizers

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia import robustness
from onelayer.papers.topic_structure.wikipedia.probe import attention, repeated, value_circuit
from onelayer.papers.topic_structure.wikipedia.probe.embeddings import extract_embeddings
from onelayer.papers.topic_structure.wikipedia.probe.labels import (
    Variant,
    labels_of,
    stack_labels,
    tightest_variant,
    variants_of,
)
from onelayer.papers.topic_structure.wikipedia.probe.measures import measure_attention
from onelayer.papers.topic_structure.wikipedia.probe.pairs import Labels
from onelayer.papers.topic_structure.wikipedia.probe.similarity import PairSimilarity, unit_vectors
from onelayer.settings.models import RandomModel
from onelayer.settings.probe import ProbeSettings, UncertaintySettings
from onelayer.settings.root import default_settings
from onelayer.settings.topic_structure import NamedModel
from onelayer.settings.topics import Threshold
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.topics.bag_of_words import count_words
from onelayer.text.topics.model import Fit, read_topic_models, write_topic_models
from onelayer.text.topics.variation import fit_topic_models
from tests.tiny_models import save_tiny_bert
from tests.unit.test_topics import planted

SEEN_WORDS = default_settings().topics.words
LDA = default_settings().topics.lda
PROBED = default_settings().probe.attention
STRUCTURE = default_settings().topic_structure

# Fitting


@pytest.fixture(scope="module")
def fitted():
    texts, labels = planted(60)
    bag = count_words(texts, SEEN_WORDS.but(min_documents=2, max_document_share=1.0))
    lda = LDA.but(topics=2, passes=2, chunksize=30)
    fits = [Fit("gensim", lda.topics, seed) for seed in (3, 12)]
    return fit_topic_models(bag, [str(label) for label in labels], lda, fits, 5)


def test_every_backend_and_seed_is_fitted_and_judged(fitted) -> None:
    models, quality = fitted
    assert list(models) == [Fit("gensim", 2, 3), Fit("gensim", 2, 12)]
    assert (models[Fit("gensim", 2, 3)].dirichlet != models[Fit("gensim", 2, 12)].dirichlet).any()
    assert quality.groupby(["backend", "topics", "seed"]).size().tolist() == [4, 4]
    assert quality[quality["quantity"] == "topics_used"]["value"].tolist() == [2, 2]


def test_topic_models_read_back_in_the_order_of_their_numbers(fitted, tmp_path) -> None:
    models, _ = fitted
    write_topic_models(models, tmp_path / "models.safetensors")
    back = read_topic_models(tmp_path / "models.safetensors")
    assert list(back) == [Fit("gensim", 2, 3), Fit("gensim", 2, 12)]  # as words, 12 comes before 3
    for fit, topics in models.items():
        for name, array in vars(topics).items():
            assert (getattr(back[fit], name) == array).all()


# Probing


def kept(*topics: str) -> pd.DataFrame:
    rows = [
        ("disjoint", "top 3", topic, word, 0.1)
        for topic, words in enumerate(topics)
        for word in words.split()
    ]
    return pd.DataFrame(rows, columns=["overlap", "threshold", "topic", "word", "probability"])


KEPT = {
    Fit("gensim", 2, 0): kept("frog toad", "bach opera"),
    Fit("tomotopy", 3, 0): kept("mozart bach", "pond frog", "the"),
}
VOCABULARY = pd.DataFrame(
    {"word": ["bach", "frog", "mozart", "opera", "pond", "the", "toad"], "occurrences": range(1, 8)}
)
TEXTS = [
    "The frog, the toad; the pond. Bach, opera!",
    "Bach, Mozart. Opera, opera! The toad. Frog frog.",
    "pond frog bach mozart toad opera the frog pond",
] * 4
ARTICLES = pd.DataFrame({"id": [str(i) for i in range(len(TEXTS))], "text": TEXTS})
ATTENTION = PROBED.but(documents=12, max_tokens=64)
UNCERTAINTY = UncertaintySettings(document_resamples=100, permutations=50, word_resamples=50)
PROBE = ProbeSettings(attention=ATTENTION, uncertainty=UNCERTAINTY)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = save_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")
    return load_checkpoint(folder), load_tokenizer(folder)


def cosine_ratio(vectors: dict[str, np.ndarray], labels: Labels) -> float:
    means = PairSimilarity(unit_vectors(vectors["output"]), labels.membership[0]).means()
    return means.same_mean / means.different_mean


@pytest.fixture
def plain_cosines(monkeypatch):
    """Embedding ratios without a bootstrap, in which so few words would lose all pairs."""

    def measured(checkpoints, variants, labels, *_, **__):
        row = ("embedding_cosine_ratio", cosine_ratio(checkpoints[0], labels))
        return pd.DataFrame([row], columns=["quantity", "value"])

    for module in (repeated, value_circuit):
        monkeypatch.setattr(module, "measure_embeddings", measured)


def test_stacked_labels_are_those_of_every_topic_model() -> None:
    parts = [labels_of(words, [words["word"]]) for words in KEPT.values()]
    stacked = stack_labels(parts)
    assert stacked.words == ("bach", "frog", "mozart", "opera", "pond", "the", "toad")
    assert stacked.membership.shape == (2, 7, 3)
    for place, words in enumerate(KEPT.values()):
        topics = dict(zip(words["word"], words["topic"], strict=True))
        for word, row in zip(stacked.words, stacked.membership[place], strict=True):
            expected = [topics[word]] if word in topics else []
            assert np.flatnonzero(row).tolist() == expected


def test_one_pass_measures_what_a_pass_for_each_topic_model_does(
    tiny, plain_cosines, monkeypatch
) -> None:
    passes = []
    forward = attention.forward
    monkeypatch.setattr(attention, "forward", lambda *a: passes.append(1) or forward(*a))
    together = repeated.measure_topic_models(*tiny, ARTICLES, KEPT, VOCABULARY, PROBE)
    assert len(passes) == len(TEXTS)
    for fit, words in KEPT.items():
        labels = labels_of(words, [words["word"]])
        sums = attention.probe_attention(*tiny, ARTICLES, labels, variants_of(words), ATTENTION)
        frequencies = VOCABULARY.set_index("word")["occurrences"].loc[list(labels.words)]
        alone = measure_attention([sums], labels, frequencies.to_numpy(), UNCERTAINTY)
        own = together[(together["backend"] == fit.backend) & (together["topics"] == fit.topics)]
        found = own.set_index("quantity").loc[alone["quantity"]]
        for column in ("value", "low", "high"):
            assert found[column].to_numpy() == pytest.approx(
                alone[column].to_numpy(), rel=1e-9, nan_ok=True
            )
        values = own.set_index("quantity")["value"]
        vectors = extract_embeddings(*tiny, labels.words).of(labels.words)
        assert values["embedding_cosine_ratio"] == pytest.approx(cosine_ratio(vectors, labels))
        assert values["words_kept"] == len(words)
        assert values["topics_kept"] == words["topic"].nunique()


def test_sums_of_one_variant_keep_its_name_and_axis(tiny) -> None:
    parts = [labels_of(words, [words["word"]]) for words in KEPT.values()]
    variants = [Variant("disjoint", "top 3"), Variant("overlapping", "top 3")]
    sums = attention.probe_attention(*tiny, ARTICLES, stack_labels(parts), variants, ATTENTION)
    one = sums.of_variant(1)
    assert one.variants == variants[1:]
    for found, wanted in zip(one.of_documents(0), sums.of_documents(1), strict=True):
        assert (found == wanted).all()
    assert one.head_sums.shape[0] == one.distance_sums.shape[1] == 1


def test_a_topic_model_without_a_pair_of_some_class_is_named(tiny, plain_cosines) -> None:
    one_topic = {**KEPT, Fit("gensim", 5, 2): kept("frog toad bach")}
    message = r"topic model \(gensim, 5 topics, seed 2\): .*different_topic: no pairs"
    with pytest.raises(OnelayerError, match=message):
        repeated.measure_topic_models(*tiny, ARTICLES, one_topic, VOCABULARY, PROBE)


# Words of several pieces: `froglet` is two, `zebra` unknown

WORDS = VOCABULARY["word"].tolist()
MORE_WORDS = pd.DataFrame({"word": [*WORDS, "froglet", "zebra"], "occurrences": range(1, 10)})
MORE_TEXTS = ARTICLES.assign(text=ARTICLES["text"] + " The froglet, a zebra.")


def with_words_in_pieces(words: pd.DataFrame) -> pd.DataFrame:
    """The same topics, each of the first two with one more word, which is not one piece."""
    return pd.concat([words, kept("froglet", "zebra")], ignore_index=True)


def test_topic_models_are_measured_on_their_words_of_one_piece(tiny, plain_cosines) -> None:
    whole, broken = (
        repeated.measure_topic_models(*tiny, MORE_TEXTS, topics, MORE_WORDS, PROBE)
        for topics in (KEPT, {fit: with_words_in_pieces(words) for fit, words in KEPT.items()})
    )
    filtered = whole["quantity"] == "words_kept"  # what the filter keeps, whatever the model
    assert (broken.loc[filtered, "value"] - whole.loc[filtered, "value"]).tolist() == [2, 2]
    pd.testing.assert_frame_equal(broken[~filtered], whole[~filtered])


def test_words_that_share_a_piece_are_one_for_all_topic_models(tiny, plain_cosines) -> None:
    model, tokenizer = tiny[0], Tokenizer.from_str(tiny[1].to_str())
    tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=True)
    accented = pd.concat([VOCABULARY, pd.DataFrame({"word": ["fróg"], "occurrences": [1]})])
    mixed = {fit: pd.concat([words, kept("fróg")]) for fit, words in KEPT.items()}
    texts = ARTICLES.assign(text=ARTICLES["text"] + " fróg")
    measured = [
        repeated.measure_topic_models(model, tokenizer, texts, topics, accented, PROBE)
        for topics in (KEPT, mixed)
    ]
    whole, same = (rows[rows["quantity"] != "words_kept"] for rows in measured)
    pd.testing.assert_frame_equal(whole, same)


def test_snapshots_are_measured_on_the_words_of_one_piece(tiny, plain_cosines) -> None:
    model, tokenizer = tiny
    seeds = {seed: [(8, model), (16, model)] for seed in (0, 1)}
    topics = KEPT[Fit("gensim", 2, 0)]
    whole, broken = (
        repeated.measure_snapshots(seeds, tokenizer, MORE_TEXTS, words, MORE_WORDS, PROBE)
        for words in (topics, with_words_in_pieces(topics))
    )
    assert whole["tokens"].unique().tolist() == [8, 16]
    pd.testing.assert_frame_equal(broken, whole)


def test_the_tightest_variant_is_of_one_overlap_mode_and_one_threshold() -> None:
    words = pd.concat(
        kept("frog", "bach").assign(overlap=overlap, threshold=threshold)
        for overlap in ("disjoint", "overlapping")
        for threshold in ("top 1", "top 2")
    )
    [variant] = variants_of(tightest_variant(words))
    assert str(variant) == "top 1, disjoint"


def test_a_topic_model_without_a_word_of_one_piece_is_named(tiny) -> None:
    message = r"topic model \(gensim, 5 topics, seed 2\): .*none of the 2 words of the topics"
    with pytest.raises(OnelayerError, match=message):
        broken = {**KEPT, Fit("gensim", 5, 2): kept("froglet", "zebra")}
        repeated.measure_topic_models(*tiny, MORE_TEXTS, broken, MORE_WORDS, PROBE)


def test_checkpoints_that_know_different_words_are_not_measured_together(tiny) -> None:
    words = KEPT[Fit("gensim", 2, 0)]
    labels = [labels_of(words, [known]) for known in (WORDS, ["frog", "toad", "bach"])]
    sums = [
        attention.probe_attention(*tiny, ARTICLES, own, variants_of(words), ATTENTION)
        for own in labels
    ]
    with pytest.raises(OnelayerError, match="know different words of the topics as one piece"):
        measure_attention(sums, labels[1], np.arange(3), UNCERTAINTY)


# The table

SETTINGS = STRUCTURE.robustness.but(
    models=["real", "random"],
    backends=["tomotopy", "gensim"],
    topics=[50, 100],
    seeds=[0, 1, 2],
    overlap="disjoint",
    threshold=Threshold(count=20),
    documents=12,
    uncertainty=UNCERTAINTY,
)
RANDOM = RandomModel(source="random", like="real")
MODELS = [
    NamedModel.model_construct(name="real", settings=RANDOM.model_copy(update={"source": "wheel"})),
    NamedModel(name="random", settings=RANDOM),
]
FITS = [Fit(*key) for key in itertools.product(SETTINGS.backends, SETTINGS.topics, SETTINGS.seeds)]


def measures(ratio) -> pd.DataFrame:
    """Rows whose ratios are `ratio(fit)`, with intervals of ± .02, in no particular order."""
    rows = []
    ratios = [*robustness.RATIOS, robustness.OVER_TOPICS]
    for fit, quantity in itertools.product(reversed(FITS), ratios):
        value = ratio(fit)
        rows.append((*fit, "disjoint", "top 20", quantity, value, value - 0.02, value + 0.02, 9))
    for fit in FITS:
        rows.append((*fit, "disjoint", "top 20", "words_kept", 100.0, np.nan, np.nan, 100))
        rows.append((*fit, "disjoint", "top 20", "attention_same_topic", 1.0, 1.0, 1.0, 9))
    columns = [*Fit._fields, "overlap", "threshold", "quantity", "value", "low", "high", "n"]
    return pd.DataFrame(rows, columns=columns)


QUALITY = pd.DataFrame(
    [(*fit, "npmi", 0.1 * (fit.backend == "gensim"), fit.topics) for fit in FITS],
    columns=[*Fit._fields, "quantity", "value", "n"],
)


def assembled(ratio) -> pd.DataFrame:
    ours = [measures(ratio), measures(lambda fit: 1.0)]
    return robustness.assemble(ours, QUALITY, MODELS, SETTINGS)


def cell(table: pd.DataFrame, *key: str) -> pd.Series:
    return table.set_index([*robustness.KEYS, "quantity"]).loc[key]


def test_every_topic_model_has_its_row_and_the_settings_give_the_order() -> None:
    table = assembled(lambda fit: 1.3)
    assert not table.duplicated([*robustness.KEYS, "quantity"]).any()
    own = table[(table["model"] == "real") & (table["quantity"] == "attention_ratio")]
    keys = [tuple(map(str, fit)) for fit in FITS]
    assert list(own[["backend", "topics", "seed"]].itertuples(index=False, name=None))[:12] == keys
    assert "attention_same_topic" not in set(table["quantity"])


def test_a_mean_over_seeds_has_students_interval() -> None:
    table = assembled(lambda fit: 1.2 + 0.1 * fit.seed)
    mean = cell(table, "real", "gensim", "50", "all", "attention_ratio")
    assert mean["value"] == pytest.approx(1.3)
    assert mean["high"] == pytest.approx(1.3 + 4.302652730 * 0.1 / 3**0.5)
    assert mean["n"] == mean["runs"] == 3
    spread = cell(table, "real", "gensim", "50", "all", "attention_ratio_sd")
    assert spread["value"] == pytest.approx(0.1)
    npmi = cell(table, "all", "gensim", "100", "all", "npmi")
    assert npmi["value"] == pytest.approx(0.1)


def test_the_ratio_over_topic_models_covers_their_seeds_topics_and_articles() -> None:
    table = assembled(lambda fit: 1.3 + 0.1 * fit.seed + 0.4 * (fit.backend == "gensim"))
    found = cell(table, "real", "all", "all", "all", robustness.OVER_TOPICS)
    assert found["value"] == pytest.approx(1.6)
    # Four kinds of three seeds: pooled standard deviation .1, 8 degrees of freedom. The intervals
    # of the topic models, ± .02, are of the same topics and articles, and do not shrink.
    seeds = 2.306004135 * 0.1 / 12**0.5
    assert found["high"] - 1.6 == pytest.approx(np.hypot(seeds, 0.02))
    assert 1.6 - found["low"] == pytest.approx(np.hypot(seeds, 0.02))
    assert found["runs"] == found["n"] == 12
    shown = robustness.readable(table)
    row = shown[(shown["model"] == "real") & (shown["topics"] == "mean, topics like these")].iloc[0]
    assert row["attention ratio"] == "1.600 [1.530, 1.670]"


def test_one_seed_of_each_topic_model_leaves_seeds_out() -> None:
    rows = pd.DataFrame({"backend": ["a", "b"], "topics": ["5", "5"], "value": [1.2, 1.4]})
    rows = rows.assign(low=rows["value"] - 0.1, high=rows["value"] + 0.2)
    found = robustness.over_topic_models(rows)
    assert [found[end] for end in ("value", "low", "high")] == pytest.approx([1.3, 1.2, 1.5])


def test_sign_changes_are_counted_and_named() -> None:
    agreeing = assembled(lambda fit: 1.01 if fit.seed == 2 else 1.3)
    row = cell(agreeing, "real", "all", "all", "all", "attention_ratio_sign_changes")
    assert row["value"] == 0
    assert row["note"] == "12 of 12 above 1; 8 intervals exclude 1"
    contrary = assembled(lambda fit: 0.9 if fit == Fit("gensim", 100, 2) else 1.3)
    row = cell(contrary, "real", "all", "all", "all", "attention_ratio_sign_changes")
    assert row["value"] == 1
    assert "gensim, 100 topics, seed 2" in row["note"]
    notes = robustness.reader_notes(contrary, SETTINGS)
    assert "attention ratio: YES (11 of 12 above 1" in notes[0]
    shown = robustness.readable(contrary).set_index("topics")
    assert shown.loc["sign changes", "attention ratio"] == "1 of 12"


def test_a_random_model_has_no_sign_and_no_raw_ratio() -> None:
    own = assembled(lambda fit: 1.3).query("model == 'random'")["quantity"]
    drawn = assembled(lambda fit: 1.3).query("model == 'random' and seed != 'all'")
    assert set(drawn["runs"]) == {1}  # of a model with several checkpoints the first
    assert not own.str.contains("raw|sign").any()
    assert own.str.startswith("attention_ratio").any()


def test_readers_see_means_and_the_share_of_each_choice() -> None:
    table = assembled(lambda fit: 1.2 + 0.1 * (fit.backend == "gensim"))
    shown = robustness.readable(table)
    assert shown[["backend", "topics"]].to_numpy().tolist()[:5] == [
        ["tomotopy", "50"],
        ["tomotopy", "100"],
        ["gensim", "50"],
        ["gensim", "100"],
        ["all", "all"],
    ]
    assert shown.loc[0, "attention ratio"] == "1.200 ± 0.000"
    shares = shown[shown["model"] == "real"].set_index("topics")
    assert shares.loc["share: backend", ["attention ratio", "NPMI"]].tolist() == ["100%", "100%"]
    assert shares.loc["share: seed", "attention ratio"] == "0%"


def test_one_seed_is_shown_without_a_spread() -> None:
    settings = SETTINGS.model_copy(update={"seeds": [1]})
    ours = [measures(lambda fit: 1.3).query("seed == 1")]
    table = robustness.assemble(ours, QUALITY.query("seed == 1"), MODELS[:1], settings)
    mean = cell(table, "real", "gensim", "50", "all", "attention_ratio")
    assert mean["value"] == 1.3 and np.isnan(mean["low"])
    assert robustness.readable(table).loc[0, "attention ratio"] == "1.300"


def test_variance_shares_are_those_of_a_balanced_design() -> None:
    rng = np.random.default_rng(0)
    shape = (2, 3, 4)
    backend, topics = np.array([0.0, 1.0])[:, None, None], np.array([0.0, 1.0, 5.0])[None, :, None]
    additive = np.broadcast_to(backend + topics, shape)
    shares = robustness.variance_shares(additive)
    assert shares["backend_x_topics"] == pytest.approx(0, abs=1e-12)
    assert shares["seed"] == pytest.approx(0, abs=1e-12)
    # Between the rows: 24 * .25; between the columns: 8 * (4 + 1 + 9).
    assert shares["backend"] == pytest.approx(6 / (6 + 112))
    noisy = robustness.variance_shares(additive + rng.standard_normal(shape))
    assert sum(noisy.values()) == pytest.approx(1)
    seeds = robustness.variance_shares(np.broadcast_to(np.arange(4.0), shape))
    assert seeds["seed"] == pytest.approx(1)
    assert all(np.isnan(share) for share in robustness.variance_shares(np.ones(shape)).values())


@pytest.mark.parametrize("value", [0.1, 1.1, 1.3])
def test_what_differs_by_rounding_alone_has_no_shares_and_no_spread(value: float) -> None:
    shape = (2, 3, 5)
    shares = robustness.variance_shares(np.full(shape, value))
    assert all(np.isnan(share) for share in shares.values())
    table = assembled(lambda fit: value)
    varied = table["quantity"].str.contains("_sd|_eta2") & (table["model"] == "real")
    assert set(table.loc[varied, "value"]) == {0.0}
