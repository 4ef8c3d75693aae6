"""Claims about the probe under all choices: tf-idf, one pass for all, what all of them say."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from gensim.models import TfidfModel

from onelayer.papers.topic_structure.wikipedia import choices as table
from onelayer.papers.topic_structure.wikipedia.probe import choices
from onelayer.papers.topic_structure.wikipedia.probe.attention import probe_attention
from onelayer.papers.topic_structure.wikipedia.probe.labels import labels_of, variants_of
from onelayer.papers.topic_structure.wikipedia.probe.measures import measure_attention
from onelayer.settings.models import PretrainedModel
from onelayer.settings.probe import ProbeSettings, UncertaintySettings
from onelayer.settings.root import default_settings
from onelayer.settings.topic_structure import NamedModel
from onelayer.text.models.checkpoints import forward
from onelayer.text.models.tokenizer import encode
from onelayer.text.topics.bag_of_words import count_words
from onelayer.text.topics.bags import TfIdf
from tests.conftest import ROOT
from tests.unit.test_topic_models import ARTICLES, TEXTS, VOCABULARY, kept, tiny  # noqa: F401

STRUCTURE = default_settings().topic_structure
PROBED = default_settings().probe.attention
SEEN_WORDS = default_settings().topics.words
LDA = default_settings().topics.lda
ALL_OF_IT = STRUCTURE.choices.but(
    models=["tiny"],
    weights=["counts", "tf-idf"],
    schedules=["ours", "authors"],
    topics=[2],
    seeds=[0],
    words=[3],
    overlaps=["disjoint", "overlapping"],
    pooling=["mean", "last layer", "largest head"],
    lengths=["corrected", "as it is"],
    documents=12,
)
KEPT = kept("frog toad pond", "bach opera mozart").merge(VOCABULARY)
OURS = choices.Choice("counts", "ours", 2, 0, 3, "disjoint")
SEEN = PROBED.but(documents=12, max_tokens=64)
UNSURE = UncertaintySettings(document_resamples=100, permutations=50, word_resamples=50)
PROBE = ProbeSettings(attention=SEEN, uncertainty=UNSURE)


@pytest.fixture(scope="module")
def measured(tiny):  # noqa: F811
    given = {OURS: KEPT}, ALL_OF_IT, PROBE
    return choices.measure_choices(*tiny, ARTICLES, *given)


def test_weights_are_those_of_gensim() -> None:
    texts = ["frog frog toad", "frog pond", "", "opera bach bach bach toad"]
    bag = count_words(texts, SEEN_WORDS.but(min_documents=1, max_document_share=1.0))
    corpus = [[(int(w), int(c)) for w, c in entries] for entries in bag.documents()]
    theirs = TfidfModel(corpus, normalize=True)
    order = [3, 0, 1, 2]
    for place, ours in zip(order, TfIdf(bag.vocabulary, bag).documents(order), strict=True):
        assert [tuple(entry) for entry in ours] == pytest.approx(theirs[corpus[place]])


def test_the_authors_schedule_is_one_pass_of_gensims_defaults() -> None:
    lda = ALL_OF_IT.lda(LDA.but(passes=6, seed=3), "authors", 100)
    assert (lda.topics, lda.passes, lda.decay, lda.offset, lda.seed) == (100, 1, 0.5, 1.0, 3)
    assert ALL_OF_IT.lda(LDA.but(passes=6), "ours", 20).passes == 6


def by_a_slow_loop(tiny, pooling: str, length: str) -> float:  # noqa: F811
    model, tokenizer = tiny
    topic = dict(zip(KEPT["word"], KEPT["topic"], strict=True))
    weights = {True: [], False: []}
    for text in TEXTS:
        encoded = encode(tokenizer, text, 64)
        attention = forward(model, encoded.ids).double().numpy()  # [layers, heads, T, T]
        words = dict(zip(encoded.positions, encoded.words, strict=True))
        for i, j in permutations(words, 2):
            one, other = words[i], words[j]
            if one == other or one not in topic or other not in topic:
                continue
            heads = [layer[:, i, j] for layer in attention]
            weight = {
                "mean": np.mean(heads),
                "last layer": heads[-1].mean(),
                "largest head": np.mean([head.max() for head in heads]),
            }[pooling]
            scale = len(encoded.ids) if length == "corrected" else 1
            weights[topic[one] == topic[other]].append(weight * scale)
    return np.mean(weights[True]) / np.mean(weights[False])


def test_every_pooling_and_length_is_that_of_a_slow_loop(tiny, measured) -> None:  # noqa: F811
    ratios = measured[measured["quantity"] == choices.RATIO]
    found = ratios.set_index(["pooling", "length"])["value"]
    for pooling, length in product(ALL_OF_IT.pooling, ALL_OF_IT.lengths):
        assert found[pooling, length] == pytest.approx(by_a_slow_loop(tiny, pooling, length))


def test_our_choice_is_what_the_other_tables_have(tiny, measured) -> None:  # noqa: F811
    labels = labels_of(KEPT, [KEPT["word"]])
    sums = probe_attention(*tiny, ARTICLES, labels, variants_of(KEPT), SEEN)
    frequencies = VOCABULARY.set_index("word")["occurrences"].loc[list(labels.words)].to_numpy()
    theirs = measure_attention([sums], labels, frequencies, UNSURE).set_index("quantity")
    ours = measured[measured["choice"] == "ours"].set_index("quantity")
    for quantity, same in (
        ("attention_ratio", "attention_ratio"),
        ("attention_ratio_null", "attention_ratio_null"),
        ("attention_over_null", "attention_ratio_null_corrected"),
    ):
        found, wanted = (
            rows.loc[name, ["value", "low", "high"]].to_numpy(dtype=float)
            for rows, name in ((ours, quantity), (theirs, same))
        )
        assert found == pytest.approx(wanted)


def test_topics_that_leave_no_pair_are_not_measured(tiny) -> None:  # noqa: F811
    one_topic = KEPT[KEPT["topic"] == 0]
    given = {OURS: one_topic}, ALL_OF_IT, PROBE
    rows = choices.measure_choices(*tiny, ARTICLES, *given)
    assert rows.loc[rows["quantity"] == choices.CORRECTED, "value"].isna().all()


def test_the_authors_way_beside_ours_is_a_mean_over_the_seeds_of_lda(tiny) -> None:  # noqa: F811
    seeds = ALL_OF_IT.but(seeds=[0, 1])
    other = KEPT.assign(topic=[0, 1, 0, 1, 0, 1])
    authors = choices.named(seeds)["authors"]._replace(pooling="", length="")
    kept_of = {
        **{OURS._replace(seed=seed): KEPT for seed in seeds.seeds},
        **{authors._replace(seed=seed): words for seed, words in enumerate((KEPT, other))},
    }
    rows = choices.measure_choices(*tiny, ARTICLES, kept_of, seeds, PROBE)
    over = rows[rows["quantity"] == choices.CORRECTED]
    mean = over[over["pooling"] == "mean"].set_index(["overlap", "length", "seed"])["value"]
    each = [
        mean["overlapping", "as it is", seed] / mean["disjoint", "corrected", seed]
        for seed in seeds.seeds
    ]
    [row] = rows[rows["quantity"] == choices.AUTHORS_OVER_OURS].to_dict("records")
    assert row["value"] == pytest.approx(np.mean(each)) and row["runs"] == 2
    assert each[0] != pytest.approx(each[1]) and row["low"] < min(each)
    marked = rows[(rows["choice"] != "") & rows["choice"].notna()]
    assert marked.groupby("choice")["seed"].unique().map(list).to_dict() == {
        "ours": [0],
        "authors": [0],
    }


# The table


PUBLISHED = ROOT / "workflow/reference/topic_structure_wikipedia.csv"


def tiny_model(like: str = "bert") -> NamedModel:
    settings = PretrainedModel(source="pretrain", family="bert", published_as=like)
    return NamedModel(name="tiny", settings=settings)


def made(*ratios: tuple, spread: float = 0.0) -> pd.DataFrame:
    """Ratios, their nulls of 2 and what they are over these, of which low ends are given."""
    rows = [
        {"weights": w, "schedule": "ours", "topics": 2, "seed": 0, "words": 3, "choice": ""}
        | {"overlap": o, "pooling": "mean", "length": "as it is", "quantity": quantity}
        | {"value": value * unit, "low": least * unit, "high": most * unit, "n": 12}
        for w, o, over, low in ratios
        for quantity, unit, value, least, most in (
            (choices.RATIO, 2, over, low, over + 0.1),
            (f"{choices.RATIO}_null", 2, 1, 1 - spread, 1 + spread),
            (choices.CORRECTED, 1, over, low, over + 0.1),
        )
    ]
    return pd.DataFrame(rows)


def test_all_choices_are_counted_and_the_least_is_named() -> None:
    rows = made(
        ("counts", "disjoint", 2.0, 0.9),
        ("counts", "overlapping", 1.2, 1.1),
        ("tf-idf", "disjoint", 1.5, 1.2),
        ("tf-idf", "overlapping", np.nan, np.nan),
    )
    found = table.probe_choices([rows], PUBLISHED, [tiny_model()])
    assert not found.duplicated([*table.KEYS, "quantity"]).any()
    by = found.set_index("quantity")
    assert by.loc[table.ABOVE, ["value", "n"]].tolist() == [0.5, 4]
    least = by.loc[table.LEAST]
    assert (least["value"], least["verdict"]) == (2.0, "undecided")
    assert least["low"] == pytest.approx(0.9)
    assert least["note"].startswith("counts, ours, 2, 0, 3, disjoint")
    assert by.loc[table.MOST, "value"] == 2.0
    assert (by.loc[choices.CORRECTED, "verdict"] == "not reached").sum() == 1
    # What permuted topics reach is not above them.
    unsure = made(("counts", "disjoint", 1.5, 1.4), ("tf-idf", "disjoint", 1.2, 1.1), spread=0.3)
    by = table.probe_choices([unsure], PUBLISHED, [tiny_model()]).set_index("quantity")
    assert by.loc[table.ABOVE, "value"] == 0.5
    least = by.loc[table.LEAST]
    below = np.hypot(np.log(1.2 / 1.1), np.log(1.3))
    above = np.hypot(np.log(1.3 / 1.2), np.log(1 / 0.7))
    assert least["low"] == pytest.approx(1.2 * np.exp(-below))
    assert least["high"] == pytest.approx(1.2 * np.exp(above))
    means = found[(found["quantity"] == "mean_over_null") & (found["weights"] == "counts")]
    assert means["value"].tolist() == pytest.approx([np.sqrt(2.0 * 1.2)])


def test_the_authors_choice_stands_beside_what_they_publish() -> None:
    rows = made(("tf-idf", "overlapping", 1.2, 1.15), ("counts", "disjoint", 1.5, 1.4))
    rows["choice"] = [*["authors"] * 3, *["ours"] * 3]
    rows.loc[rows["quantity"] != choices.CORRECTED, ["value", "low", "high"]] /= 2  # a null of 1
    for like, number, verdict in (("bert", 1.23, "reproduced"), ("electra", 1.7, "smaller")):
        by = table.probe_choices([rows], PUBLISHED, [tiny_model(like)]).set_index("choice")
        over = by[by["quantity"] == choices.RATIO]
        assert over["published"].to_dict() == pytest.approx(
            {"authors": number, "ours": np.nan}, nan_ok=True
        )
        assert over["verdict"].to_dict() == {"authors": verdict, "ours": ""}
    # As far beyond its null as what they publish is beyond it.
    rows = made(("tf-idf", "overlapping", 1.2, 1.15), spread=0.01).assign(choice="authors")
    rows.loc[rows["quantity"] != choices.CORRECTED, ["value", "low", "high"]] *= 0.6
    row = table.probe_choices([rows], PUBLISHED, [tiny_model()]).set_index("quantity")
    row, null = row.loc[choices.RATIO], 1.2
    assert row["reference"] == pytest.approx(null)
    low = 1.2 * np.exp(-np.hypot(np.log(1.2 / 1.15), np.log(1.01)))
    assert row["effect_low"] == pytest.approx(null * (low - 1) / (1.23 - null))


def test_the_authors_way_with_more_words_stands_beside_its_own_published_number() -> None:
    ways = [("tf-idf", "overlapping", 1.2, 1.15)] * 4 + [("counts", "overlapping", 1.2, 1.15)]
    rows = made(*ways)
    rows["words"] = np.repeat([51, 101, 201, 100, 101], 3)
    rows["choice"] = [*["authors"] * 3, *[""] * 12]
    found = table.probe_choices([rows], PUBLISHED, [tiny_model()])
    ratios = found[found["quantity"] == choices.RATIO].set_index(["weights", "words"])["published"]
    assert ratios["tf-idf"].to_dict() == pytest.approx(
        {"51": 1.23, "101": 1.17, "201": 1.13, "100": np.nan}, nan_ok=True
    )
    assert np.isnan(ratios["counts", "101"])


def test_main_effects_of_a_balanced_design_add_up() -> None:
    cells = pd.DataFrame(list(product("ab", "xyz")), columns=["one", "other"])
    values = cells["one"].map({"a": 0, "b": 1}) + cells["other"].map({"x": 0, "y": 2, "z": 5})
    shares = [table.variance_share(values.astype(float), cells[name]) for name in cells]
    assert sum(shares) == pytest.approx(1)
    assert shares[0] == pytest.approx(0.25 / (0.25 + np.var([0, 2, 5])))
