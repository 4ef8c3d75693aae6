"""Inputs of several articles, and the probe that tells words of one article from others."""

from collections import Counter, defaultdict

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia import pretraining_figures
from onelayer.papers.topic_structure.wikipedia.over_tokens import NOT_LEARNED, learned
from onelayer.papers.topic_structure.wikipedia.probe.labels import Variant
from onelayer.papers.topic_structure.wikipedia.probe.packed import ACROSS, WITHIN, probe_inputs
from onelayer.papers.topic_structure.wikipedia.probe.pairs import PAIR_CLASSES, Labels
from onelayer.papers.topic_structure.wikipedia.probe.value_circuit import GAP
from onelayer.papers.topic_structure.wikipedia.topics_per_input import (
    BAGS,
    CORRECTED,
    MORE,
    MOST,
    OF_ONE,
    ONE_TOPIC,
    RATIO,
    SIZE,
    TIED,
    USUAL,
    readable,
    topics_per_input,
)
from onelayer.settings.models import PretrainedModel
from onelayer.settings.pretraining import InputSettings, OwnTraining
from onelayer.settings.topic_structure import NamedModel
from onelayer.text.models.checkpoints import forward, load_checkpoint
from onelayer.text.pretraining import BELOW
from onelayer.text.pretraining.inputs import input_sample, mix_articles
from onelayer.text.pretraining.quantities import TOPICS_BELOW
from tests.tiny_models import save_tiny_bert
from tests.tiny_text import encoded


def mixed(**settings):
    _, _, articles = encoded()
    return articles, mix_articles(articles, InputSettings(**settings))


def test_an_article_stands_among_others_every_time():
    once, three = (mixed(articles=4, order="shuffled", draws=draws)[1] for draws in (1, 3))
    held_out, training = (
        [[row["ids"] for row in rows if row["held_out"] == half] for rows in (once, three)]
        for half in (True, False)
    )
    assert held_out[1] == held_out[0]
    assert training[1][: len(training[0])] == training[0]
    words = [Counter(word for text in texts for word in text) for texts in training]
    assert words[1] == {word: 3 * count for word, count in words[0].items()}
    together = {tuple(sorted(text)) for text in training[1]}
    assert len(together) > 0.9 * len(training[1])  # hardly any stand together again


@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("order", ["pieces", "shuffled"])
def test_every_article_is_read_once_whatever_it_stands_beside(order, held_out):
    articles, rows = mixed(articles=3, order=order)
    found = Counter()
    for row in rows.filter(lambda row: row["held_out"] == held_out, new_fingerprint="half"):
        by_article = defaultdict(list)
        for word, article in zip(row["ids"], row["articles"], strict=True):
            by_article[article].append(word)
        assert len(by_article) <= 3
        found += Counter(
            tuple(sorted(words) if order == "shuffled" else words) for words in by_article.values()
        )
    expected = Counter()
    for place in np.flatnonzero(articles.held_out == held_out):
        words = articles.ids[articles.starts[place] : articles.starts[place + 1]].tolist()
        expected[tuple(sorted(words) if order == "shuffled" else words)] += 1
    assert found == expected


def test_pieces_of_articles_stand_in_turn_until_each_has_ended():
    _, rows = mixed(articles=2, piece=4)
    for row in rows.select(range(20), new_fingerprint="some"):
        of, rest = list(row["articles"]), Counter(row["articles"])
        while of:
            for article in sorted(rest):
                taken = min(4, rest[article])
                assert of[:taken] == [article] * taken
                del of[:taken]
                rest[article] -= taken


def test_shuffled_words_stand_in_another_order_and_the_seed_decides_which():
    (_, one), (_, same), (_, other) = (
        mixed(articles=1, order="shuffled", seed=seed) for seed in (0, 0, 1)
    )
    assert one["ids"] == same["ids"] and one["ids"] != other["ids"]
    _, plain = mixed(articles=1)
    assert one["ids"] != plain["ids"]
    assert sorted(map(sorted, one["ids"])) == sorted(map(sorted, plain["ids"]))


def test_drawn_words_come_from_as_many_topics_in_equal_parts():
    _, _, articles = encoded()
    topics = np.zeros((4, 40))
    for topic in range(4):
        topics[topic, 10 * topic : 10 * topic + 10] = 0.1
    rows = mix_articles(articles, InputSettings(articles=2, order="drawn"), topics)
    words = Counter()
    for row in rows:
        used = {(of, word // 10) for of, word in zip(row["articles"], row["ids"], strict=True)}
        assert len(used) == len({of for of, _ in used}) == len({topic for _, topic in used})
        words += Counter(word // 10 for word in row["ids"])
    assert sum(words.values()) == len(articles.ids)
    assert min(words.values()) > 0.8 * len(articles.ids) / 4


def test_words_drawn_several_times_over_are_others_each_time_and_held_out_ones_are_drawn_once():
    _, _, articles = encoded()
    topics = np.full((2, 40), 1 / 40)
    once, thrice = (
        mix_articles(articles, InputSettings(articles=2, order="drawn", draws=draws), topics)
        for draws in (1, 3)
    )
    for held_out, times in ((False, 3), (True, 1)):
        of = [[row for row in rows if row["held_out"] == held_out] for rows in (once, thrice)]
        assert len(of[1]) == times * len(of[0])
        assert len({tuple(row["ids"]) for row in of[1]}) == len(of[1])


def test_more_topics_in_a_text_than_there_are_is_said():
    _, _, articles = encoded()
    with pytest.raises(OnelayerError, match=r"inputs.articles: 3; the topic model has 2 topics"):
        mix_articles(articles, InputSettings(articles=3, order="drawn"), np.full((2, 40), 1 / 40))


def test_a_sample_holds_inputs_as_they_are_cut_for_training():
    _, rows = mixed(articles=4)
    sample = input_sample(rows, 20, 5, seed=0)
    texts = [tuple(row["ids"]) for row in rows]
    assert len(sample) == 5
    for ids, articles in sample:
        assert len(ids) == len(articles) <= 20
        assert any(text[: len(ids)] == tuple(ids) for text in texts)


def by_hand(model, inputs, labels, label_of, length):
    """Sums and counts of every class, by whether two words are of one article: loops alone."""
    sums, counts = defaultdict(float), defaultdict(int)
    for ids, articles in inputs:
        attention = forward(model, [0, *ids.tolist(), 2]).numpy().astype(np.float64)
        scale = (len(ids) + 2) / length
        for i, query in enumerate(ids):
            for j, key in enumerate(ids):
                a, b = label_of[query], label_of[key]
                if i == j or a < 0 or b < 0:
                    continue
                shared = (labels.membership[0, a] & labels.membership[0, b]).any()
                kind = "same_word" if a == b else "same_topic" if shared else "different_topic"
                where = WITHIN if articles[i] == articles[j] else ACROSS
                sums[where, kind] += scale * attention[:, :, i + 1, j + 1].mean()
                counts[where, kind] += 1
    return sums, counts


@pytest.fixture
def probed(tmp_path):
    model = load_checkpoint(save_tiny_bert(tmp_path / "tiny"))
    rng = np.random.default_rng(0)
    inputs = [(rng.integers(5, 12, size=n), rng.integers(3, size=n)) for n in (9, 14, 6)]
    membership = np.zeros((1, 4, 2), dtype=bool)
    membership[0, [0, 1, 2, 3], [0, 0, 1, 1]] = True
    labels = Labels(("a", "b", "c", "d"), membership)
    label_of = np.full(12, -1)
    label_of[[5, 6, 8, 10]] = range(4)
    return model, inputs, labels, label_of


def test_pairs_of_one_article_and_across_articles_are_as_loops_say(probed):
    model, inputs, labels, label_of = probed
    sums = probe_inputs(model, inputs, labels, [Variant("disjoint", "top 2")], label_of, 7)
    expected, counts = by_hand(model, inputs, labels, label_of, 7)
    for where in (WITHIN, ACROSS):
        by_class, pairs = (one.sum(axis=0) for one in sums[where].of_documents(0))
        heads = sums[where].head_sums[0].mean(axis=(1, 2))
        for place, kind in enumerate(PAIR_CLASSES):
            assert pairs[place] == counts[where, kind]
            assert by_class[place] == pytest.approx(expected[where, kind], rel=1e-9, abs=1e-12)
            assert heads[place] == pytest.approx(expected[where, kind], rel=1e-6, abs=1e-7)
        different = counts[where, "same_topic"] + counts[where, "different_topic"]
        assert sums[where].word_pairs.counts.sum() == different


def test_inputs_of_one_article_have_no_pairs_across(probed):
    model, inputs, labels, label_of = probed
    alone = [(ids, np.zeros_like(articles)) for ids, articles in inputs]
    variants = [Variant("disjoint", "top 2")]
    assert list(probe_inputs(model, alone, labels, variants, label_of, 7)) == [WITHIN]
    with pytest.raises(OnelayerError, match="none of 3 inputs holds two different words"):
        probe_inputs(model, alone, labels, variants, np.full(12, -1), 7)


def measures(value, spread, null=1.0, **where):
    """Rows of `measure_attention` with the intervals of a ratio and of it over its null."""
    rows = [
        (RATIO, value, value - spread, value + spread),
        (f"{RATIO}_null", null, null - 0.001, null + 0.001),
        (CORRECTED, value / null, (value - spread) / null, (value + spread) / null),
        (f"{RATIO}_z", 9.0, np.nan, np.nan),
    ]
    table = pd.DataFrame(rows, columns=["quantity", "value", "low", "high"])
    return table.assign(seed="all", overlap="disjoint", threshold="top 2", n=10, **where)


def model(name, seeds=(0, 1), family="bert", **given):
    """A model of settings; what is not one of a model's is one of its inputs."""
    own = {key: given.pop(key) for key in OwnTraining.model_fields if key in given}
    own |= {"inputs": given} if given else {}
    settings = PretrainedModel(source="pretrain", family=family, seeds=list(seeds), **own)
    return NamedModel(name=name, settings=settings)


def snapshots(models, never=()):
    """Rows of `measure_snapshots` of models that learn to predict words, but for some."""
    shares = {one.name: [-0.1, -0.2] if one.name in never else [-0.1, 0.2] for one in models}
    rows = {"quantity": BELOW, "seed": "all", "tokens": [1000, 2000], "n": 2}
    tables = [pd.DataFrame(rows | {"value": values}) for values in shares.values()]
    there = pd.DataFrame(rows | {"quantity": TOPICS_BELOW, "value": 0.7})
    tables = [pd.concat([table, there], ignore_index=True) for table in tables]
    return [table.assign(low=table["value"] - 0.05, high=table["value"] + 0.05) for table in tables]


def test_a_model_that_has_not_learned_to_predict_words_shows_no_absence():
    models = [model("one"), model("four", articles=4), model("two", articles=2)]
    articles = [measures(1.0, 0.01), measures(1.0, 0.01), measures(1.2, 0.01)]
    inputs = [measures(1.0, 0.01, pairs=WITHIN)] * 3
    given = articles, inputs, snapshots(models, never=["four", "two"]), models
    rows = topics_per_input(*given).set_index(["model", "probed", "quantity"])
    at = rows.loc[("four", "articles", RATIO)]
    assert (at["verdict"], at["note"]) == ("not reached", NOT_LEARNED)
    assert np.isnan(at["effect_share"])
    assert rows.loc[("one", "articles", RATIO), "verdict"] == "negligible"
    most = rows.loc[("one", "articles", MOST)]
    assert (most["value"], most["low"], most["verdict"]) == (0.2, pytest.approx(0.15), "")
    assert rows.loc[("four", "articles", MOST), "value"] == -0.1
    assert rows.loc[("four", "articles", TOPICS_BELOW), "value"] == 0.7
    # What is there is there; but it is no difference of what both have learned.
    assert rows.loc[("two", "articles", RATIO), "verdict"] == "reproduced"
    assert rows.loc[("two", "articles", MORE), "verdict"] == "not reached"
    # Nor where that which it is compared with has not.
    given = articles, inputs, snapshots(models, never=["one"]), models
    rows = topics_per_input(*given).set_index(["model", "probed", "quantity"])
    assert set(rows.loc[(slice(None), slice(None), MORE), "verdict"]) == {"not reached"}


def test_whether_a_model_has_learned_is_said_by_its_best_snapshot_over_trainings():
    models = [
        model("came"),
        model("never"),
        model("wide"),
        model("alone", seeds=[0]),
        model("bart"),
        model("bart-never"),
        model("elsewhere"),
    ]
    tables = snapshots(models, never=["never", "bart-never"])
    below = tables[2]["quantity"] == BELOW
    tables[2].loc[below, "low"] = [-0.3, -0.01]  # some trainings may have, and others not
    tables[3][["low", "high"]] = np.nan
    tables[4], tables[5] = tables[4][below], tables[5][below]  # of which no topics are known
    tables[6]["quantity"] = "attention_ratio"  # of whose training nothing is known
    assert learned(models, tables) == {
        "came": True,
        "never": False,
        "wide": False,
        "alone": True,
        "bart": True,
        "bart-never": False,
        "elsewhere": True,
    }


def test_what_several_articles_add_is_judged_beside_one():
    models = [model("one"), model("four", articles=4), model("alone", seeds=[0], articles=2)]
    articles = [measures(0.99, 0.01), measures(1.2, 0.05, null=1.1), measures(1.4, 0.01)]
    inputs = [measures(1.0, 0.01, pairs=WITHIN)] + [
        pd.concat([measures(1.1, 0.01, pairs=WITHIN), measures(0.9, 0.01, pairs=ACROSS)])
    ] * 2
    report = topics_per_input(articles, inputs, snapshots(models), models)
    rows = report.set_index(["model", "probed", "quantity"])
    assert rows.loc[("one", "articles", RATIO), "verdict"] == "negligible"
    assert rows.loc[("four", "articles", RATIO), "verdict"] == "reproduced"
    assert rows.loc[("four", "articles", RATIO), "reference"] == 1.1
    assert rows.loc[("four", f"inputs, words {ACROSS}", RATIO), "verdict"] == "opposite"
    # One training decides nothing.
    assert rows.loc[("alone", "articles", RATIO), "verdict"] == "undecided"
    more = rows.loc[("four", "articles", MORE)]
    assert more["value"] == pytest.approx(1.2 / 1.1 - 0.99)
    # Both intervals, each with the spread of its null.
    four, one = np.hypot(0.05, 0.001) / 1.1, np.hypot(0.01, 0.001)
    assert more["value"] - more["low"] == pytest.approx(np.hypot(four, one))
    assert more["verdict"] == "reproduced" and set(rows["kind"]) <= {"", "analogue"}
    assert ("one", "articles", MORE) not in rows.index


def test_a_model_is_compared_with_one_of_its_family_and_depth():
    models = [
        model("bert"),
        model("deep", layers=4, articles=4),
        model("albert", family="albert"),
        model("albert-4", family="albert", articles=4),
    ]
    articles = [measures(value, 0.01) for value in (1.0, 1.3, 1.1, 1.2)]
    inputs = [measures(1.0, 0.01, pairs=WITHIN)] * 4
    rows = topics_per_input(articles, inputs, snapshots(models), models).query("quantity == @MORE")
    assert rows["model"].tolist() == ["albert-4"]
    assert rows["value"].item() == pytest.approx(0.1)


def test_bags_are_compared_with_as_many_articles_in_order_and_with_bags_of_one():
    models = [
        model("one"),
        model("four", articles=4),
        model("bag-of-one", articles=1, order="shuffled"),
        model("bag-of-four", articles=4, order="shuffled"),
        model("bag-of-two", articles=2, order="shuffled"),  # of which no pieces were read
        model("drawn", articles=4, order="drawn"),
    ]
    articles = [measures(value, 0.01) for value in (1.0, 1.3, 1.1, 1.5, 1.6, 1.7)]
    inputs = [measures(1.0, 0.01, pairs=WITHIN)] * len(models)
    rows = topics_per_input(articles, inputs, snapshots(models), models).set_index(
        ["quantity", "model"]
    )["value"]
    assert rows[BAGS].to_dict() == pytest.approx({"bag-of-one": 0.1, "bag-of-four": 0.2})
    assert rows[OF_ONE].to_dict() == pytest.approx({"bag-of-four": 0.4, "bag-of-two": 0.5})
    assert rows[MORE].to_dict() == pytest.approx(
        {"four": 0.3, "bag-of-one": 0.1, "bag-of-four": 0.5, "bag-of-two": 0.6, "drawn": 0.7}
    )


def test_words_drawn_from_several_topics_are_compared_with_those_of_one():
    models = [model(f"drawn-of-{tau}", articles=tau, order="drawn") for tau in (1, 2, 4)]
    models.append(model("bag", articles=4, order="shuffled"))
    articles = [measures(value, 0.01) for value in (1.0, 1.2, 1.5, 1.6)]
    inputs = [measures(1.0, 0.01, pairs=WITHIN)] * len(models)
    rows = topics_per_input(articles, inputs, snapshots(models), models)
    more = rows[rows["quantity"] == ONE_TOPIC].set_index("model")
    assert more["value"].to_dict() == pytest.approx({"drawn-of-2": 0.2, "drawn-of-4": 0.5})
    assert more["verdict"].tolist() == ["reproduced"] * 2


def test_other_masks_are_compared_with_the_usual_ones_after_the_same_inputs_and_with_one_another():
    seen = {"hidden_as": {"mask": 0.2, "another": 0.4}}
    models = [
        model("one"),
        model("four", articles=4),
        model("seen-four", articles=4, **seen),
        model("seen-one", **seen),
        model("seen-bag", articles=4, order="shuffled", **seen),
        model("less-seen", hidden_as={"mask": 0.2, "another": 0.1}),
    ]
    articles = [measures(value, 0.01) for value in (1.0, 1.3, 1.1, 1.5, 1.6, 1.8)]
    inputs = [measures(1.0, 0.01, pairs=WITHIN)] * len(models)
    rows = topics_per_input(articles, inputs, snapshots(models), models)
    rows = rows[rows["probed"] == "articles"].set_index(["quantity", "model"])["value"]
    assert rows[USUAL].to_dict() == pytest.approx(
        {"seen-four": -0.2, "seen-one": 0.5, "less-seen": 0.8}
    )
    assert rows[MORE].to_dict() == pytest.approx({"four": 0.3, "seen-four": -0.4, "seen-bag": 0.1})
    assert rows[BAGS].to_dict() == pytest.approx({"seen-bag": 0.5})


def test_an_own_output_layer_is_compared_with_tied_embeddings_on_articles_and_on_the_same_inputs():
    seen = {"hidden_as": {"mask": 0.2, "another": 0.4}}
    models = [
        model("drawn", articles=4, order="drawn"),
        model("untied-drawn", articles=4, order="drawn", tied=False),
        model("untied", tied=False),  # of which no tied one reads the same
        model("untied-seen-drawn", articles=4, order="drawn", tied=False, **seen),
    ]
    articles = [measures(value, 0.01) for value in (1.0, 1.3, 1.1, 1.5)]
    inputs = [measures(value, 0.01, pairs=WITHIN) for value in (0.8, 1.4, 1.2, 1.7)]
    rows = topics_per_input(articles, inputs, snapshots(models), models)
    rows = rows.set_index(["quantity", "model", "probed"])["value"]
    on_inputs = "inputs, words of one article"
    assert rows[TIED].to_dict() == pytest.approx(
        {("untied-drawn", "articles"): 0.3, ("untied-drawn", on_inputs): 0.6}
    )
    assert rows[USUAL].to_dict() == pytest.approx(
        {("untied-seen-drawn", "articles"): 0.2, ("untied-seen-drawn", on_inputs): 0.3}
    )


def test_another_size_is_compared_with_the_usual_one_after_the_same_inputs():
    models = [
        model("one"),
        model("four", articles=4),
        model("deep", layers=4),
        model("wide-four", articles=4, width=256),
        model("dropped", dropout=0.1),
        model("deep-bag", articles=4, order="shuffled", layers=4),  # of which no usual one is read
    ]
    articles = [measures(value, 0.01) for value in (1.0, 1.3, 1.1, 1.5, 1.6, 1.9)]
    inputs = [measures(1.0, 0.01, pairs=WITHIN)] * len(models)
    rows = topics_per_input(articles, inputs, snapshots(models), models)
    rows = rows[rows["probed"] == "articles"].set_index(["quantity", "model"])["value"]
    assert rows[SIZE].to_dict() == pytest.approx({"deep": 0.1, "wide-four": 0.2, "dropped": 0.6})
    # They are of another kind, and not compared with the usual ones otherwise.
    assert rows[MORE].to_dict() == pytest.approx({"four": 0.3, "deep-bag": 0.8})


def test_a_comparison_that_no_model_has_is_no_column():
    models = [model("one"), model("deep", layers=4)]
    articles, inputs = [measures(1.0, 0.01)] * 2, [measures(1.0, 0.01, pairs=WITHIN)] * 2
    shown = readable(topics_per_input(articles, inputs, snapshots(models), models))
    assert "more than at the usual size" in shown and "more than after one article" not in shown


def test_shares_far_below_frequencies_stand_at_the_edge_apart_from_the_line():
    shares = [-8.0, -0.26, -0.2, 0.4]
    rows = pd.DataFrame(
        [
            (100 * 2**place, quantity, value, value - 0.1, value + 0.1)
            for place, share in enumerate(shares)
            for quantity, value in ((CORRECTED, 1.0 + place / 10), ("topic_information", share))
        ],
        columns=["tokens", "quantity", "value", "low", "high"],
    ).assign(seed="all")
    _, axes = plt.subplots(1, 2)
    pretraining_figures._draw_learned(axes, rows, "black", 4)
    line, *_, edge = axes[1].lines
    np.testing.assert_array_equal(line.get_xdata(), [np.nan, np.nan, -0.2, 0.4])
    assert edge.get_marker() == "<" and edge.get_xdata().tolist() == [-0.25, -0.25]
    assert edge.get_ydata().tolist() == [1.0, 1.1]
    assert len(axes[0].lines[0].get_xdata()) == 4


def test_panels_that_share_an_axis_show_what_is_drawn_in_any_of_them():
    figure, axes = plt.subplots(1, 4)
    for axis, ratio in zip(axes, (1.1, 0.8, 1.3, 0), strict=True):
        axis.plot([0, 1], [1, ratio])
        axis.get_ylim()  # as when ticks are set: from here on limits stand
    pretraining_figures._set_axes(axes)
    assert all(axis.get_ylim()[0] < 0.8 and axis.get_ylim()[1] > 1.3 for axis in axes[:3])
    plt.close(figure)


def test_the_figure_has_a_row_of_panels_for_each_family_and_budget_with_the_tables_ratios():
    models = [model("one"), model("four", articles=4), model("albert", family="albert")]
    models.append(model("longer"))
    articles = [measures(value, 0.01) for value in (1.05, 1.2, 1.0, 1.3)]
    inputs = [measures(1.0, 0.01, pairs=WITHIN)] * 4
    followed = pd.concat(
        pd.DataFrame(
            {"tokens": [1000, 2000], "quantity": of, "value": 1.0, "low": 0.9, "high": 1.1}
        )
        for of in (CORRECTED, f"{RATIO}_z", f"{GAP}_null_corrected", f"{GAP}_z")
    ).assign(seed="all", overlap="disjoint", threshold="top 2")
    snapshots_of = [pd.concat([followed, shares]) for shares in snapshots(models)]
    snapshots_of[3] = snapshots_of[3].assign(tokens=snapshots_of[3]["tokens"] * 3000)
    rows = {"tau": [1, 2], "ratio": [1.0, 7.0], "method": "optimum", "documents": "short"}
    figure = pretraining_figures.figure_topics_per_input(
        articles, inputs, snapshots_of, pd.DataFrame(rows), models
    )
    names = [axes.get_ylabel().partition(":")[0] for axes in figure.axes]
    of = ["bert, 2k tokens", "albert, 2k tokens", "bert, 6.0M tokens"]
    assert names[:12:4] == of and set(names[1:4]) == {""}
    drawn = {round(y, 6) for line in figure.axes[0].lines for y in np.ravel(line.get_ydata())}
    assert {1.05, 1.2} <= drawn and 1.3 not in drawn
    # The rows share an axis: the lowest has inputs of one article alone, the first of four, too.
    assert all(figure.axes[place].get_xticks().tolist() == [1, 4] for place in (0, 4, 8))
    plt.close(figure)
