"""The whole attention probe against loops that start from the text and the model's own output."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import ndtr
from tokenizers import Tokenizer
from transformers import BertModel

from onelayer.compute.seeds import generator
from onelayer.evidence.intervals import bootstrap_interval, over_seeds
from onelayer.papers.topic_structure.wikipedia.probe.attention import probe_attention
from onelayer.papers.topic_structure.wikipedia.probe.labels import Variant, labels_of, variants_of
from onelayer.papers.topic_structure.wikipedia.probe.measures import (
    Sampled,
    _contrasts,
    measure_attention,
    measure_heads,
    permutations_of,
)
from onelayer.papers.topic_structure.wikipedia.probe.pairs import PAIR_CLASSES
from onelayer.papers.topic_structure.wikipedia.probe.sums import (
    read_attention_sums,
    write_attention_sums,
)
from onelayer.papers.topic_structure.wikipedia.probe.uncertainty import (
    document_weights,
    permuted_ratios,
)
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.root import default_settings
from onelayer.text.models.checkpoints import load_checkpoint
from onelayer.text.models.tokenizer import load_tokenizer
from tests.tiny_models import save_tiny_bert

PROBED = default_settings().probe.attention
TEXTS = [
    "The frog, the toad; the pond. A froglet!",
    "Bach, Mozart. Opera, opera! The toad.",
    "pond frog bach mozart toad opera the frog zebra pond",
    "the . the",
]
KEPT = pd.DataFrame(
    [
        ("disjoint", "top 3", 0, "frog", 0.5),
        ("disjoint", "top 3", 0, "toad", 0.2),
        ("disjoint", "top 3", 1, "bach", 0.5),
        ("disjoint", "top 3", 1, "opera", 0.4),
        ("overlapping", "top 3", 0, "frog", 0.5),
        ("overlapping", "top 3", 0, "toad", 0.3),
        ("overlapping", "top 3", 0, "pond", 0.2),
        ("overlapping", "top 3", 1, "bach", 0.5),
        ("overlapping", "top 3", 1, "toad", 0.2),
        ("overlapping", "top 3", 2, "mozart", 0.9),
        ("overlapping", "top 3", 2, "pond", 0.3),
    ],
    columns=["overlap", "threshold", "topic", "word", "probability"],
)
LENGTH = 7


def by_hand(folder, overlap: str) -> dict:
    """Sums and counts per document and pair class, layer and head: loops and sets only."""
    model = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    topics = defaultdict(set)
    for row in KEPT[KEPT["overlap"] == overlap].itertuples():
        topics[row.word].add(row.topic)
    sums, counts = defaultdict(float), defaultdict(int)
    for document, text in enumerate(TEXTS):
        encoding = tokenizer.encode(text)  # running text; words by their character spans
        with torch.no_grad():
            ids = torch.tensor([encoding.ids])
            layers = model(ids, output_attentions=True).attentions
        tokens = len(encoding.ids)
        single = []
        for i, (piece, (start, end)) in enumerate(
            zip(encoding.tokens, encoding.offsets, strict=True)
        ):
            alone = not text[end : end + 1].isalnum() and not piece.startswith("##")
            known = piece != "[UNK]"
            if start < end and text[start:end].isalpha() and alone and known:
                single.append((i, text[start:end].lower()))
        for i, query in single:
            for j, key in single:
                if i == j:
                    continue
                if not topics[query] or not topics[key]:
                    kind = "no_topic"
                elif query == key:
                    kind = "same_word"
                elif topics[query] & topics[key]:
                    kind = "same_topic"
                else:
                    kind = "different_topic"
                counts[document, kind] += 1
                for layer, weights in enumerate(layers):
                    for head in range(weights.shape[1]):
                        weight = float(weights[0, head, i, j]) * tokens / LENGTH
                        sums[document, kind, layer, head] += weight
    return {"sums": sums, "counts": counts}


@pytest.fixture(scope="module")
def probed(tmp_path_factory):
    folder = save_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")
    articles = pd.DataFrame({"id": [str(i) for i in range(len(TEXTS))], "text": TEXTS})
    settings = PROBED.but(documents=4, max_tokens=64, reference_length=LENGTH)
    sums = probe_attention(
        load_checkpoint(folder),
        load_tokenizer(folder),
        articles,
        labels_of(KEPT, [KEPT["word"]]),
        variants_of(KEPT),
        settings,
    )
    return folder, sums


@pytest.mark.parametrize("overlap", ["disjoint", "overlapping"])
def test_sums_and_counts_agree_with_loops_over_the_texts(probed, overlap: str) -> None:
    folder, sums = probed
    expected = by_hand(folder, overlap)
    place = sums.variants.index(Variant(overlap, "top 3"))
    assert sum(expected["counts"].values()) > 100
    totals, pairs = sums.of_documents(place)
    places = list(np.ndindex(sums.head_sums.shape[-2:]))
    for c, kind in enumerate(PAIR_CLASSES):
        weights = np.array(
            [[expected["sums"][d, kind, *head] for head in places] for d in range(len(TEXTS))]
        )
        assert pairs[:, c].tolist() == [expected["counts"][d, kind] for d in range(len(TEXTS))]
        assert totals[:, c] == pytest.approx(weights.mean(axis=1), rel=1e-10, abs=1e-12)
        found = sums.head_sums[place, c].ravel()
        assert found == pytest.approx(weights.sum(axis=0), rel=1e-10, abs=1e-12)


def test_sums_read_back_as_they_were_written(probed, tmp_path) -> None:
    _, sums = probed
    paths = [tmp_path / name for name in ("head.parquet", "distance.parquet", "words.parquet")]
    write_attention_sums(sums, *paths)
    back = read_attention_sums(*paths)
    assert back.documents == sums.documents
    assert back.variants == sums.variants
    assert back.words == sums.words
    for name in ("head_sums", "distance_sums", "distance_counts"):
        assert (getattr(back, name) == getattr(sums, name)).all()
    for name in ("query", "key", "distance", "sums", "counts"):
        assert (getattr(back.word_pairs, name) == getattr(sums.word_pairs, name)).all()


SEVERAL = UncertaintySettings(document_resamples=100, permutations=50)


def of_five_copies(sums):
    """As on five copies of the articles."""
    return replace(
        sums,
        documents=sums.documents * 5,
        head_sums=sums.head_sums * 5,
        distance_sums=np.repeat(sums.distance_sums, 5, axis=0),
        distance_counts=np.repeat(sums.distance_counts, 5, axis=0),
    )


def five_times(sums, variant: Variant):
    """Sums of one variant on five copies of the articles, and its labels."""
    place, labels = sums.variants.index(variant), labels_of(KEPT, [KEPT["word"]])
    five = of_five_copies(sums.of_variant(place))
    return five, replace(labels, membership=labels.membership[[place]])


def test_the_measured_ratio_is_the_ratio_of_means_over_all_documents(probed) -> None:
    folder, sums = probed
    one, only = five_times(sums, Variant("overlapping", "top 3"))
    table = measure_attention([one], only, np.arange(len(only.words)), SEVERAL)
    expected = by_hand(folder, "overlapping")
    means = {}
    for kind in ("same_topic", "different_topic"):
        total = sum(v for (_, k, *_), v in expected["sums"].items() if k == kind)
        pairs = sum(v for (_, k), v in expected["counts"].items() if k == kind)
        means[kind] = total / 4 / pairs  # two layers of two heads
    values = table.set_index("quantity")["value"]
    ratio = means["same_topic"] / means["different_topic"]
    assert values["attention_ratio"] == pytest.approx(ratio, rel=1e-10)
    assert values["attention_same_topic"] == pytest.approx(means["same_topic"], rel=1e-10)
    low, high = table.set_index("quantity").loc["attention_ratio", ["low", "high"]]
    assert low <= ratio <= high
    null = values["attention_ratio_null"]
    corrected = table.set_index("quantity").loc["attention_ratio_null_corrected"]
    ends = [ratio / null, low / null, high / null]
    assert corrected[["value", "low", "high"]].tolist() == pytest.approx(ends)


def test_a_difference_between_variants_has_the_null_of_one_permutation_at_both_ends(probed) -> None:
    sums, labels = of_five_copies(probed[1]), labels_of(KEPT, [KEPT["word"]])
    frequencies = np.arange(len(labels.words))
    found = measure_attention([sums], labels, frequencies, SEVERAL).set_index("quantity")
    rows = found.loc[["attention_ratio_disjoint_minus_overlapping_null"]]
    whole = labels.membership.any(axis=0)
    moved = permutations_of(whole, frequencies, SEVERAL)
    nulls = permuted_ratios(sums.word_pairs, labels.membership, moved)
    ratios = dict(zip(sums.variants, nulls, strict=True))
    for threshold, null in rows.set_index("threshold")["value"].items():
        ends = (ratios[Variant(overlap, threshold)] for overlap in ("disjoint", "overlapping"))
        assert null == pytest.approx(np.nanmean(np.subtract(*ends)))
    same = replace(labels, membership=np.broadcast_to(whole, labels.membership.shape))
    alike = measure_attention([sums], same, frequencies, SEVERAL)["quantity"]
    assert not alike.str.contains("minus_.*_null").any()


@pytest.mark.parametrize(("empty", "has_null"), [(0, True), (2, True), (10, False)])
def test_few_permutations_may_leave_a_class_of_a_difference_without_pairs(empty, has_null) -> None:
    drawn = np.random.default_rng(3).normal(1, 0.1, (2, 50))
    drawn[0, :empty] = np.nan
    both = [Variant(overlap, "x") for overlap in ("disjoint", "overlapping")]
    ends = {variant: Sampled(variant, "r", np.array([1.3]), drawn[1:], 9) for variant in both}
    [contrast] = _contrasts(ends, dict(zip(both, drawn[:, None], strict=True)))
    assert (contrast.null is not None) == has_null
    rows = {row["quantity"]: row["value"] for row in contrast.rows("all", [0])}
    name = "attention_ratio_disjoint_minus_overlapping_null"
    assert (name in rows) == has_null
    assert not has_null or rows[name] == pytest.approx(np.diff(drawn[::-1, empty:], axis=0).mean())


def of_another_seed(sums, seed: int):
    """As if another training had read the same articles: every weight by a factor of its own."""
    rng = np.random.default_rng(seed)
    pairs = sums.word_pairs
    return replace(
        sums,
        head_sums=sums.head_sums * rng.lognormal(0, 0.3, sums.head_sums.shape),
        distance_sums=sums.distance_sums * rng.lognormal(0, 0.3, sums.distance_sums.shape),
        word_pairs=replace(pairs, sums=pairs.sums * rng.lognormal(0, 0.3, len(pairs.sums))),
    )


@pytest.fixture(scope="module")
def trainings(probed):
    """Three trainings on five copies of the articles, of one variant, and its labels."""
    five, alone = five_times(probed[1], Variant("overlapping", "top 3"))
    return [of_another_seed(five, seed) for seed in (4, 5, 9)], alone


def test_a_ratio_over_topics_has_the_same_value_and_disjoint_topics_alone(probed) -> None:
    _, sums = probed
    for variant in sums.variants:
        five, alone = five_times(sums, variant)
        table = measure_attention([five], alone, np.arange(len(alone.words)), SEVERAL)
        found = table.set_index("quantity")
        assert ("attention_ratio_over_topics" in found.index) == (variant.overlap == "disjoint")
        if variant.overlap == "disjoint":
            own = found.loc["attention_ratio_over_topics"]
            assert own["value"] == found.loc["attention_ratio", "value"]
            assert own["n"] == alone.membership[0].any(axis=0).sum()


def test_distances_over_documents_and_topics_add_as_squares() -> None:
    replicates = np.linspace(1.1, 1.5, 1001)[None]
    topics = np.linspace(1.0, 1.4, 1001)[None]
    null = np.linspace(0.9, 1.1, 50)[None]
    one = Sampled(
        Variant("disjoint", "x"), "ratio", np.array([1.3]), replicates, 50, null, topics, 9
    )
    rows = {row["quantity"]: row for row in one.rows("all", [0])}
    plain, both = rows["ratio"], rows["ratio_over_topics"]
    low, high = bootstrap_interval(topics[0], 9)
    assert both["low"] == pytest.approx(1.3 - np.hypot(1.3 - plain["low"], 1.3 - low))
    assert both["high"] == pytest.approx(1.3 + np.hypot(plain["high"] - 1.3, high - 1.3))
    assert (both["n"], plain["n"]) == (9, 50)
    few = replace(one, topics=np.array([[np.nan, *topics[0, 1:]]]))
    [last] = [row for row in few.rows("all", [0]) if row["quantity"] == "ratio_over_topics"]
    assert np.isnan([last["low"], last["high"]]).all() and last["value"] == 1.3


def test_measures_over_seeds_share_documents_and_permutations(trainings) -> None:
    sums, labels = trainings
    frequencies = np.arange(len(labels.words))
    table = measure_attention(sums, labels, frequencies, SEVERAL, seeds=[4, 5, 9])
    by = table.set_index(["seed", "quantity"])
    weights = document_weights(20, 100, generator("documents", 0))
    replicates, values = [], []
    both = [PAIR_CLASSES.index(name) for name in ("same_topic", "different_topic")]
    for one in sums:
        totals, pairs = (part[:, both] for part in one.of_documents(0))
        values.append(np.divide(*(totals.sum(axis=0) / pairs.sum(axis=0))))
        replicates.append(
            [np.divide(*((w @ totals) / (w @ pairs))) for w in weights]  # one resample at a time
        )
    # Student's quantile of 19 degrees of freedom, for 20 documents.
    tail = ndtr(-2.093024054 * np.sqrt(20 / 19))
    low, high = np.quantile(np.mean(replicates, axis=0), [tail, 1 - tail])
    found = by.loc[("all", "attention_ratio")]
    expected = over_seeds(values, low, high)
    assert found[["value", "low", "high"]].tolist() == pytest.approx(expected, rel=1e-10)
    assert by.loc[[("4", "attention_ratio"), ("5", "attention_ratio")], "value"].tolist() == (
        pytest.approx(values[:2], rel=1e-10)
    )
    # Means over seeds are means of the seeds' own rows; a seed's rows are those of it alone.
    seeds = table[table["seed"] != "all"].groupby("quantity")["value"].mean()
    alone = measure_attention(sums[2:], labels, frequencies, SEVERAL).set_index("quantity")
    assert (alone["seed"] == "all").all()
    for quantity in alone.index:
        last, own = by.loc[("9", quantity)], alone.loc[quantity]
        columns = ["value"] if np.isnan(own["low"]) else ["value", "low", "high"]
        assert last[columns].tolist() == pytest.approx(own[columns].tolist(), rel=1e-10)
        if not quantity.endswith(("_z", "_p")):
            assert by.loc[("all", quantity), "value"] == pytest.approx(seeds[quantity], rel=1e-10)


def test_means_over_seeds_rank_the_heads_of_a_layer(trainings) -> None:
    sums, _ = trainings
    table = measure_heads(sums, seeds=[4, 5, 9])
    grids = {seed: rows["ratio"].to_numpy().reshape(2, 2) for seed, rows in table.groupby("seed")}
    for layer in (0, 1):
        ranked = [sorted(grids[seed][layer], reverse=True) for seed in ("4", "5", "9")]
        assert grids["all"][layer] == pytest.approx(np.mean(ranked, axis=0), rel=1e-12)
    alone = measure_heads(sums[:1])
    assert (alone["seed"] == "all").all()
    assert alone["ratio"].tolist() == grids["4"].ravel().tolist()


def test_the_table_of_heads_names_each_layers_heads(probed) -> None:
    folder, sums = probed
    expected = by_hand(folder, "overlapping")
    pairs = {
        kind: sum(v for (_, k), v in expected["counts"].items() if k == kind)
        for kind in ("same_topic", "different_topic")
    }
    table = measure_heads([sums])
    found = table[table["overlap"] == "overlapping"].set_index(["layer", "head"])["ratio"]
    for layer, head in np.ndindex(2, 2):
        same, different = (
            sum(v for (_, *k), v in expected["sums"].items() if k == [kind, layer, head]) / count
            for kind, count in pairs.items()
        )
        assert found[layer + 1, head + 1] == pytest.approx(same / different, rel=1e-10)
