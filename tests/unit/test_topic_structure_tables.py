"""Claims about the tables of topics and of pretraining."""

import numpy as np
import pandas as pd
import pytest

from onelayer.evidence.intervals import mean
from onelayer.papers.topic_structure.wikipedia import losses, over_tokens, topic_tables
from onelayer.papers.topic_structure.wikipedia.probe.value_circuit import GAP
from onelayer.settings.pretraining import PretrainedModel
from onelayer.settings.topic_structure import NamedModel


def test_a_topic_carries_the_commonest_of_its_human_topics() -> None:
    words = pd.DataFrame(
        [
            (0, 1, "frog", 0.2, 0.5, 0.25),
            (0, 2, "toad", 0.1, 0.5, 0.25),
            (1, 1, "bach", 0.3, 0.1, 0.75),
        ],
        columns=["topic", "rank", "word", "probability", "npmi", "prevalence"],
    )
    shares = pd.DataFrame(
        [(0, "Arts", 0.1), (0, "Biology", 0.9)], columns=["topic", "label", "share"]
    )
    shown = topic_tables.readable_topics(words, shares)
    assert shown["topic"].tolist() == [1, 0]  # the most prevalent one first
    assert shown["prevalence"].tolist() == ["75.0%", "25.0%"]
    assert shown["most probable words"].tolist() == ["bach", "frog, toad"]
    assert shown["human topic"].tolist() == ["–", "Biology (90%)"]


def test_losses_are_those_before_training_and_at_its_end() -> None:
    history = pd.DataFrame(
        [
            (0, "held-out", "words_loss", 8.0),
            (500, "training", "words_loss", 6.0),
            (500, "held-out", "words_loss", 6.5),
            (900, "training", "words_loss", 4.0),
            (900, "held-out", "words_loss", 4.5),
        ],
        columns=["tokens", "split", "quantity", "value"],
    )
    table = losses.assemble({("bert-small", 0): history}).set_index("quantity")
    assert table["value"].to_dict() == {
        "tokens_seen": 900,
        "words_loss": 4.5,
        "words_loss_untrained": 8.0,
        "words_loss_training": 4.0,
    }
    assert (table["verdict"] == "").all()  # nothing was published
    assert (table["seed"] == "all").all() and table["low"].isna().all()


def test_losses_of_several_seeds_are_means_with_students_interval() -> None:
    histories = {}
    for seed, end, right in ((0, 4.5, 0.9), (1, 4.9, 0.99), (2, 4.7, 1.0)):
        rows = [(0, "held-out", "words_loss", 8.0), (900, "training", "words_loss", 4.0)]
        rows += [(900, "held-out", "words_loss", end)]
        rows += [(900, "held-out", "sentence_order_accuracy", right)]
        columns = ["tokens", "split", "quantity", "value"]
        histories["albert-small", seed] = pd.DataFrame(rows, columns=columns)
    table = losses.assemble(histories)
    by = table.set_index(["seed", "quantity"])
    expected = mean([4.5, 4.9, 4.7])
    found = by.loc[("all", "words_loss"), ["value", "low", "high", "n"]]
    assert found.tolist() == pytest.approx(list(expected.values()))
    assert by.loc[("all", "sentence_order_accuracy"), "high"] == 1  # a share
    assert by.loc[[(seed, "words_loss") for seed in "012"], "value"].tolist() == [4.5, 4.9, 4.7]
    [row] = losses.readable(table).to_dict("records")
    assert row["seeds"] == "3" and row["replaced found"] == "–"
    assert row["words, held out"] == "4.700 [4.203, 5.197]"


def test_ratios_over_tokens_are_set_beside_their_null() -> None:
    rows = [
        (f"{ratio}{suffix}", value, value - 0.1, value + 0.1, 8)
        for ratio in over_tokens.RATIOS
        for suffix, value in zip(over_tokens.SUFFIXES, (3.0, 2.0, 1.5, 7.0, 0.01), strict=True)
    ]
    measured = pd.DataFrame(rows, columns=["quantity", "value", "low", "high", "n"])
    measured = measured.assign(tokens=1024, overlap="disjoint", threshold="top 1", seed="all")
    alone = [measured.assign(seed=str(seed), value=measured["value"] + seed) for seed in (0, 1)]
    model = PretrainedModel(source="pretrain", family="bert", seeds=[0, 1])
    named = NamedModel(name="small", settings=model)
    table = over_tokens.ratios_over_tokens([pd.concat([measured, *alone])], [named])
    assert table.groupby("seed")["runs"].first().to_dict() == {"all": 2, "0": 1, "1": 1}
    assert (table["verdict"] == "").all()  # nothing was published
    [row] = over_tokens.readable(table).to_dict("records")
    assert row["tokens seen"] == "1,024"
    for name in over_tokens.RATIOS.values():
        assert row[f"{name}: ratio / null [95%]"] == "1.500 [1.400, 1.600]"
        assert row[f"{name}: over seeds"] == "1.500 to 2.500"
        assert row[f"{name}: z"] == "7.0"
    assert row["values: gap - null [95%]"] == "–"  # a series from elsewhere may have none


def test_the_gap_of_values_stands_at_every_snapshot_as_the_mean_of_heads() -> None:
    rows = [
        (quantity, layer, tokens, value * tokens / 1024)
        for tokens in (1024, 2048)
        for quantity, layer, value in (
            *(
                (f"{ratio}{of}", np.nan, 1.5)
                for ratio in over_tokens.RATIOS
                for of in ("_null_corrected", "_z")
            ),
            (f"{GAP}_null_corrected", 0.0, 0.2),
            (f"{GAP}_null_corrected", 1.0, 0.9),
        )
    ]
    measured = pd.DataFrame(rows, columns=["quantity", "layer", "tokens", "value"]).assign(
        low=0.1,
        high=0.5,
        n=8,
        reading="r",
        head=0,
        overlap="disjoint",
        threshold="top 1",
        seed="all",
    )
    model = PretrainedModel(source="pretrain", family="bert")
    table = over_tokens.ratios_over_tokens([measured], [NamedModel(name="small", settings=model)])
    gaps = table[table["quantity"] == f"{GAP}_null_corrected"]
    assert dict(zip(gaps["tokens_seen"], gaps["value"], strict=True)) == {1024: 0.2, 2048: 0.4}
    shown = over_tokens.readable(table)["values: gap - null [95%]"]
    assert shown.tolist() == ["0.200 [0.100, 0.500]", "0.400 [0.100, 0.500]"]
