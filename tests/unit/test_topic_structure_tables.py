"""Claims about the tables of topics and of pretraining."""

import pandas as pd

from onelayer.papers.topic_structure import losses, over_tokens, topic_tables


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


def test_ratios_over_tokens_are_set_beside_their_null() -> None:
    rows = [
        (f"{ratio}{suffix}", value, value - 0.1, value + 0.1, 8)
        for ratio in over_tokens.RATIOS
        for suffix, value in zip(over_tokens.SUFFIXES, (3.0, 2.0, 1.5, 7.0), strict=True)
    ]
    measured = pd.DataFrame(rows, columns=["quantity", "value", "low", "high", "n"])
    measured = measured.assign(tokens=1024, overlap="disjoint", threshold="top 1")
    [row] = over_tokens.readable(over_tokens.assemble({"small": measured})).to_dict("records")
    assert row["tokens seen"] == "1,024"
    for name in over_tokens.RATIOS.values():
        assert row[f"{name}: ratio / null [95%]"] == "1.500 [1.400, 1.600]"
        assert row[f"{name}: z"] == "7.0"
