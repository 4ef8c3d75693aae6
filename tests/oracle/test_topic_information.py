"""What topics tell of hidden words: against loops, and on a corpus whose topics are known."""

import math

import numpy as np
import pandas as pd
import pytest

from onelayer.settings.pretraining import InputSettings
from onelayer.settings.root import default_settings
from onelayer.text.pretraining import BELOW, INFORMATION, topic_information
from onelayer.text.pretraining.inputs import mix_articles
from onelayer.text.pretraining.objectives import new_objective
from onelayer.text.pretraining.quantities import OWN_BELOW, TOPICS_BELOW
from onelayer.text.pretraining.text import encoded_articles, segment
from onelayer.text.pretraining.topic_information import (
    HIDDEN,
    KnownTopics,
    measure_learned,
    measure_topic_information,
    unigram_loss,
)
from onelayer.text.pretraining.training import held_out_plan
from onelayer.text.pretraining.vocabulary import MASK_ID
from onelayer.text.topics.model import Topics
from tests.tiny_text import SETTINGS, TOPICS, encoded, task

LDA = default_settings().topics.lda
WORDS = sorted(["absent", *(word for words in TOPICS.values() for word in words)])


def known_topics(forgotten: str = "frog") -> KnownTopics:
    """The corpus's own topics: each has its words, and hardly any others; one word is in none."""
    kept = [word for word in WORDS if word != forgotten]
    weights = [[500.0 if word in words else 0.1 for word in kept] for words in TOPICS.values()]
    topics = Topics(np.array(weights), np.full(len(TOPICS), 0.1), np.full(len(kept), 0.1))
    vocabulary, *_ = encoded()
    settings = LDA.but(topics=len(TOPICS))
    return KnownTopics(topics, pd.DataFrame({"word": kept}), settings, vocabulary["piece"])


def probabilities(objective, known: KnownTopics, shares: np.ndarray) -> np.ndarray:
    """Of every piece, one after the other, in an input whose topics have these shares."""
    unigram = np.exp(objective.words.log_unigram().numpy().astype(float))
    found, told = [], []
    for piece, place in enumerate(known.place):
        if place < 0 or not objective.words.predictable[piece]:
            found.append(unigram[piece])
            continue
        of_topics = known.topics.word_probability[:, place]
        found.append(sum(s * p for s, p in zip(shares, of_topics, strict=True)))
        told.append(piece)
    among = sum(found[piece] for piece in told)
    for piece in told:
        found[piece] *= sum(unigram[told]) / among
    return np.array(found)


FEW = {  # so few words are predicted that some batches hide none
    "objective": SETTINGS.objective.model_copy(update={"predicted_share": 0.1}),
    "batch_tokens": 32,
}


@pytest.mark.parametrize("asked", [{}, FEW])
@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "electra"])
def test_both_losses_are_those_of_loops_over_hidden_words(family, asked) -> None:
    settings, words, _, held_out = task(family, **asked)
    objective = new_objective(family, settings.size, words, settings.objective, 0)
    known = known_topics()
    means = []
    for batch in held_out_plan(objective, held_out, settings):
        inputs, losses = objective.inputs(held_out, batch), []
        shares = known.posterior(inputs["ids"])
        width = inputs["ids"].shape[1]
        for position, label in zip(inputs["positions"], inputs["labels"], strict=True):
            row, column = divmod(int(position), width)
            if inputs["ids"][row, column] == MASK_ID:
                told = probabilities(objective, known, shares[row])
                assert told.sum() == pytest.approx(1, abs=1e-6)
                losses.append([-words.log_unigram()[label].item(), -math.log(told[label])])
        means += [np.mean(losses, axis=0)] if losses else []
    assert bool(asked) == (len(means) < len(held_out_plan(objective, held_out, settings)))
    found = measure_topic_information(objective, held_out, settings, known)
    assert found[:2] == pytest.approx(np.mean(means, axis=0), rel=1e-5)
    assert math.isnan(found[2])


@pytest.mark.parametrize(
    ("family", "order"), [("bert", "pieces"), ("electra", "shuffled"), ("albert", "pieces")]
)
def test_topics_of_a_words_own_article_are_those_of_a_loop(family, order) -> None:
    settings, words, *_ = task(family)
    vocabulary, _, articles = encoded()
    mixed = mix_articles(articles, InputSettings(articles=2, order=order, piece=3))
    text = segment(encoded_articles(mixed, vocabulary["piece"]), True, settings.size.longest - 2)
    objective = new_objective(family, settings.size, words, settings.objective, 0)
    known, means = known_topics(), []
    for batch in held_out_plan(objective, text, settings):
        inputs, losses = objective.inputs(text, batch), []
        width = inputs["ids"].shape[1]
        for position, label in zip(inputs["positions"], inputs["labels"], strict=True):
            row, column = divmod(int(position), width)
            if family != "albert" and inputs["ids"][row, column] == MASK_ID:
                first = text.starts[batch.rows[row]]
                mine = text.articles[first + column - 1]
                own = [
                    inputs["ids"][row, place + 1]
                    for place in range(width - 2)
                    if text.articles[first + place] == mine
                ]
                told = probabilities(objective, known, known.posterior(np.array([own]))[0])
                losses.append(-math.log(told[label]))
        means += [np.mean(losses)] if losses else []
    unigram, posterior, found = measure_topic_information(objective, text, settings, known)
    if family == "albert":  # which of its words stand where is not followed
        assert math.isnan(found)
    else:
        assert found == pytest.approx(np.mean(means), rel=1e-5)
        assert found < posterior - 0.1 < unigram - 0.2


def test_topics_that_are_known_tell_which_third_of_the_words_it_is() -> None:
    settings, words, _, held_out = task("bert")
    objective = new_objective("bert", settings.size, words, settings.objective, 0)
    found = measure_topic_information(objective, held_out, settings, known_topics("absent"))
    assert found[:2] == pytest.approx([math.log(18), math.log(6)], abs=0.1)


def test_topics_of_an_input_are_those_of_the_words_it_shows() -> None:
    known, (vocabulary, *_) = known_topics(), encoded()
    places = {piece: place for place, piece in enumerate(vocabulary["piece"])}
    shown = [[places[word] for word in words[1:5]] for words in TOPICS.values()]
    assert (known.posterior(np.array(shown)).argmax(axis=1) == [0, 1, 2]).all()
    assert known.posterior(np.full((1, 4), MASK_ID)) == pytest.approx(1 / 3)  # nothing is shown


def test_the_loss_of_frequencies_is_that_of_a_loop_over_words_in_spans() -> None:
    settings, words, _, held_out = task("bart")
    objective = new_objective("bart", settings.size, words, settings.objective, 0)
    means = []
    for batch in held_out_plan(objective, held_out, settings):
        labels = objective.inputs(held_out, batch)["labels"]
        means.append(np.mean([-words.log_unigram()[label].item() for label in labels]))
    assert unigram_loss(objective, held_out, settings) == pytest.approx(np.mean(means), rel=1e-6)


@pytest.mark.parametrize(("family", "misled"), [("bert", ()), ("bert", (1,)), ("bart", ())])
def test_what_is_learned_is_measured_below_frequencies_and_as_a_share_where_topics_tell(
    family, misled, tmp_path, monkeypatch
) -> None:
    trainings, histories = [], []
    for seed, (last, losses) in enumerate([(210, (8.0, 2.0)), (200, (6.0, 2.5))]):
        settings, words, _, held_out = task(family, seed)
        name = HIDDEN if family == "bert" else "loss"
        rows = [
            (0, "held-out", name, 9.0),
            (last, "held-out", name, losses[1]),
            (last, "training", name, 0),
            (100, "held-out", name, losses[0]),
            (100, "held-out", "another_loss", 0),
        ]
        histories.append(tmp_path / f"{seed}.parquet")
        columns = ["tokens", "split", "quantity", "value"]
        pd.DataFrame(rows, columns=columns).to_parquet(histories[-1])
        trainings.append(settings)

    def read(text, pieces, training):
        objective = new_objective(family, training.size, words, training.objective, training.seed)
        return objective, None, held_out

    def measured(objective, text, training, known):
        return 8.0, 9.0 if training.seed in misled else 6.0, 5.0 if misled else math.nan

    monkeypatch.setattr(topic_information, "read_task", read)
    monkeypatch.setattr(topic_information, "measure_topic_information", measured)
    given = tmp_path, tmp_path, known_topics()
    found = measure_learned(trainings, histories, *given)
    by = found.set_index(["quantity", "seed", "tokens"])["value"]
    snapshots = [(seed, tokens) for tokens in (100, 205) for seed in ("all", "0", "1")]
    asked = by.index.unique(0)
    assert list(zip(found["seed"], found["tokens"], strict=True)) == snapshots * asked.size
    one = measure_learned(trainings[:1], histories[:1], *given)
    assert set(one["seed"]) == {"all"} and set(one["tokens"]) == {100, 210}
    assert one["low"].isna().all()
    if family == "bart":
        assert set(asked) == {BELOW}
        for training, seed, loss in zip(trainings, "01", (2.0, 2.5), strict=True):
            frequencies = unigram_loss(read(None, None, training)[0], held_out, training)
            assert by[BELOW, seed, 205] == pytest.approx(frequencies - loss)
        return
    assert by[BELOW].tolist() == [1.0, 0.0, 2.0, 5.75, 6.0, 5.5]
    assert by[TOPICS_BELOW].tolist() == 2 * ([0.5, 2.0, -1.0] if misled else [2.0, 2.0, 2.0])
    assert (OWN_BELOW in asked) == bool(misled)
    assert not misled or by[OWN_BELOW].tolist() == 6 * [3.0]
    # A share of what misleads in one of the trainings would be of another sign there.
    assert (INFORMATION in asked) == (not misled)
    assert misled or by[INFORMATION].tolist() == [0.5, 0.0, 1.0, 2.875, 3.0, 2.75]
