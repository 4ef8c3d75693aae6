"""Pretraining: its text, its masks, its inputs, its budget, and that a kill changes nothing."""

import os
import signal
from collections import Counter, defaultdict

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from onelayer.ensemble.execution import Checkpoint, Execution
from onelayer.errors import OnelayerError
from onelayer.settings.models import (
    InputSettings,
    PretrainingSettings,
    SizeSettings,
    TextSettings,
)
from onelayer.text.models.checkpoints import load_checkpoint, save_checkpoint, word_embeddings
from onelayer.text.models.tokenizer import encode, load_tokenizer, piece_ids
from onelayer.text.pretraining import training
from onelayer.text.pretraining.objectives import OBJECTIVES, fill_in_spans, mask_words
from onelayer.text.pretraining.text import (
    COLUMNS,
    MASK_ID,
    SPECIAL,
    Batch,
    build_vocabulary,
    input_sample,
    mix_articles,
    plan_batches,
    probability_of_pieces,
    read_texts,
    segment,
    write_texts,
    write_tokenizer,
)
from onelayer.text.pretraining.training import learning_rate, read_task, train
from tests.tiny_text import SETTINGS, encoded, task

each_family = pytest.mark.parametrize("family", sorted(OBJECTIVES))


def trained(folder, family, path=None, progress=lambda items, **_: items, **changed):
    settings, objective, *texts = task(folder, family, **changed)
    execution = Execution(checkpoint=Checkpoint(path, "same", seconds=0), progress=progress)
    return objective, train(objective, *texts, settings, execution)


# Text


def test_the_vocabulary_has_the_commonest_words_after_the_special_pieces():
    texts = ["The frog the frog.", "the toad", "The frog!"]
    vocabulary = build_vocabulary(texts, TextSettings(min_documents=2))
    assert vocabulary["piece"].tolist() == [*SPECIAL, "the", "frog"]
    assert vocabulary["document_share"].tolist()[-2:] == [1, pytest.approx(2 / 3)]
    with pytest.raises(OnelayerError, match=r"min_documents: 4; .* the commonest by 3"):
        build_vocabulary(["the"] * 3, TextSettings(min_documents=4))


def test_the_tokenizer_is_read_by_the_probe_and_by_transformers(tmp_path):
    write_tokenizer(encoded(tmp_path)[1], tmp_path)
    ours, theirs = load_tokenizer(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert encode(ours, "The frog, a zebra. Toad", 32).words == ["the", "frog", "toad"]
    assert list(piece_ids(ours, ["frog", "zebra"])) == ["frog"]
    assert theirs("The frog. Toad")["input_ids"] == encode(ours, "The frog. Toad", 32).ids
    assert (theirs.mask_token_id, theirs.pad_token) == (MASK_ID, "[PAD]")


def test_segments_stay_within_an_article_and_halve_at_the_end_of_a_sentence(tmp_path):
    _, _, articles = encoded(tmp_path)
    short, whole = (segment(articles, False, longest) for longest in (10, 1000))
    assert short.lengths.max() <= 10
    kept = np.repeat(~articles.held_out, np.diff(articles.starts))
    assert (short.ids == articles.ids[kept]).all()
    assert set(np.cumsum(np.diff(articles.starts)[~articles.held_out])) <= set(short.starts)
    before = whole.ids[whole.starts[:-1] + whole.middles - 1]
    assert np.isin(before, articles.sentence_ends).all()


def test_an_epoch_reads_every_segment_once_without_padding(tmp_path):
    segments = segment(encoded(tmp_path)[2], False, 30)
    plan = plan_batches(segments, 10**5, 256, 2, 0)
    first, second = (np.concatenate([b.rows for b in plan if b.epoch == n]) for n in (0, 1))
    assert sorted(first) == list(range(len(segments.middles)))
    assert first[: len(second)].tolist() != second.tolist()
    for batch in plan:  # cut to the shortest: no row runs into the next segment
        assert (segments.places(batch.rows)[:, -1] < segments.starts[batch.rows + 1]).all()
        read = segments.places(batch.rows).size + 2 * len(batch.rows)  # special pieces count
        assert batch.after - batch.before == read <= 256
    assert plan[-1].before < 10**5 <= plan[-1].after


def test_frequencies_are_those_of_the_training_text_alone(tmp_path):
    vocabulary, _, articles = encoded(tmp_path)
    vocabulary.to_parquet(tmp_path / "vocabulary")
    settings = SETTINGS.training("bert", 0)
    objective, text, _ = read_task(tmp_path / "text.arrow", tmp_path / "vocabulary", settings)
    counts = np.bincount(text.ids, minlength=len(vocabulary)) * objective.predictable + 1
    assert torch.allclose(objective.log_unigram.exp(), torch.tensor(counts / counts.sum()).float())
    assert len(text.ids) < len(articles.ids) and 0.1 < articles.held_out.mean() < 0.3


# Masks


@pytest.mark.parametrize(("family", "masks", "stay"), [("bert", 0.8, 0.1), ("electra", 0.85, 0.15)])
def test_masks_follow_the_shares_of_the_family(family, masks, stay):
    rng = np.random.default_rng(0)
    ids, predictable = rng.integers(5, 100, size=(200, 100)), np.arange(100) < 60
    hidden_as = OBJECTIVES[family].hidden_as
    read, predicted = mask_words(ids, rng.random((3, 200, 100)), predictable, 0.3, *hidden_as)
    assert predictable[ids[predicted]].all()
    assert predicted.sum() == pytest.approx(0.3 * predictable[ids].sum(), rel=0.05)
    assert (read[~predicted] == ids[~predicted]).all()
    hidden, true = read[predicted], ids[predicted]
    assert (hidden == MASK_ID).mean() == pytest.approx(masks, abs=0.02)
    assert (hidden == true).mean() == pytest.approx(stay, abs=0.02)


def test_something_is_predicted_in_every_batch():
    _, predicted = mask_words(
        np.full((2, 3), 7), np.full((3, 2, 3), 0.99), np.zeros(10, bool), 0.3, 0.8, 0.1
    )
    assert predicted.sum() == 1


def test_spans_cover_the_share_and_leave_the_rest_in_order():
    ids = np.arange(5, 5 + 20 * 40).reshape(20, 40)
    read, covered = fill_in_spans(ids, 0.3, 3.0, 40, np.random.default_rng(0))
    assert (covered.sum(axis=1) == 12).all()
    for row, hidden, predicted in zip(ids, read, covered, strict=True):
        assert hidden[hidden != MASK_ID].tolist() == row[~predicted].tolist()
    many, _ = fill_in_spans(ids, 0.3, 0.2, 42, np.random.default_rng(0))
    assert many.shape[1] <= 42


@each_family
def test_masks_are_static_for_bert_and_dynamic_for_the_others(family, tmp_path):
    _, objective, text, _ = task(tmp_path, family)
    batches = (Batch(np.arange(8), epoch, 0, 0, 0) for epoch in (0, 1))
    first, second = (objective.inputs(text, batch)["ids"] for batch in batches)
    assert (first.shape == second.shape and (first == second).all()) == (family == "bert")


# Inputs of several articles


def mixed(folder, **settings):
    _, _, articles = encoded(folder)
    return articles, list(mix_articles(articles, InputSettings(**settings)))


@pytest.mark.parametrize("order", ["pieces", "shuffled"])
def test_every_article_is_read_once_whatever_it_stands_beside(order, tmp_path):
    articles, rows = mixed(tmp_path, articles=3, order=order)
    same = (lambda words: tuple(sorted(words))) if order == "shuffled" else tuple
    found = Counter()
    for row in rows:
        by_article = defaultdict(list)
        for word, article in zip(row["ids"], row["articles"], strict=True):
            by_article[article].append(word)
        assert len(by_article) <= 3
        found += Counter((same(words), row["held_out"]) for words in by_article.values())
    texts = np.split(articles.ids, articles.starts[1:-1])
    assert found == Counter((same(t), h) for t, h in zip(texts, articles.held_out, strict=True))


def test_an_article_stands_in_other_company_every_time(tmp_path):
    once, three = (mixed(tmp_path, articles=4, order="shuffled", draws=n)[1] for n in (1, 3))
    training = [[tuple(r["ids"]) for r in rows if not r["held_out"]] for rows in (once, three)]
    assert sum(r["held_out"] for r in once) == sum(r["held_out"] for r in three)
    assert training[1][: len(training[0])] == training[0]
    assert len({tuple(sorted(text)) for text in training[1]}) > 0.9 * len(training[1])


def test_pieces_of_articles_stand_in_turn_until_each_has_ended(tmp_path):
    for row in mixed(tmp_path, articles=2, piece=4)[1][:20]:
        of, rest = list(row["articles"]), Counter(row["articles"].tolist())
        while of:
            for article in sorted(rest):
                taken = min(4, rest[article])
                assert of[:taken] == [article] * taken
                del of[:taken]
                rest[article] -= taken


def test_drawn_words_come_from_as_many_topics_in_equal_parts(tmp_path):
    _, _, articles = encoded(tmp_path)
    topics = np.kron(np.eye(4), np.full(10, 0.1))
    words = Counter()
    for row in mix_articles(articles, InputSettings(articles=2, order="drawn"), topics):
        used = {(of, word // 10) for of, word in zip(row["articles"], row["ids"], strict=True)}
        assert len(used) == len({of for of, _ in used}) == len({topic for _, topic in used})
        words += Counter((row["ids"] // 10).tolist())
    assert sum(words.values()) == len(articles.ids)
    assert min(words.values()) > 0.8 * len(articles.ids) / 4
    with pytest.raises(OnelayerError, match=r"inputs.articles: 5; the topic model has 4 topics"):
        next(mix_articles(articles, InputSettings(articles=5, order="drawn"), topics))


def test_words_of_a_topic_model_that_are_no_pieces_are_never_drawn():
    found = probability_of_pieces(np.array([[0.5, 0.25, 0.25]]), ["a", "b", "c"], ["x", "c", "a"])
    assert found.tolist() == [[0, pytest.approx(1 / 3), pytest.approx(2 / 3)]]


def test_a_sample_holds_inputs_as_they_are_cut_for_training(tmp_path):
    _, rows = mixed(tmp_path, articles=4)
    write_texts(rows, tmp_path / "mixed.arrow", list(COLUMNS))
    texts = [row["ids"].tolist() for row in rows]
    for ids, articles in input_sample(read_texts(tmp_path / "mixed.arrow"), 20, 5, seed=0):
        assert len(ids) == len(articles) <= 20
        assert any(text[: len(ids)] == ids.tolist() for text in texts)


# Training


def test_the_learning_rate_rises_to_its_peak_and_falls_to_zero():
    rates = [learning_rate(tokens, 1000, 2.0) for tokens in (0, 25, 50, 525, 1000)]
    assert 0 < rates[0] < 0.05 and rates[1] == pytest.approx(1, rel=0.02)
    assert rates[2:] == [2.0, 1.0, 0.0]


@each_family
def test_training_learns_what_frequencies_do_not_tell(family, tmp_path):
    _, objective, _, held_out = task(tmp_path, family)
    batches = plan_batches(held_out, SETTINGS.held_out_tokens, 1024, objective.special, 0)
    before = training.held_out_losses(objective, held_out, batches, "cpu")
    _, history = trained(tmp_path, family, tokens=12_000)
    assert history["tokens"].between(12_000, 12_000 + SETTINGS.batch_tokens).all()
    after = history.set_index("quantity")["value"]
    assert after["loss"] < before["loss"] and abs(before["below_unigram"]) < 0.3
    if family != "electra":  # its generator of width 8 needs longer
        assert after["below_unigram"] > 0.05


@each_family
def test_held_out_inputs_and_masks_are_the_same_for_all_seeds_and_sizes(
    family, tmp_path, monkeypatch
):
    """Also where batches are large enough to be cut to a few words."""
    read, losses = [], training._losses

    def reading(objective, text, batch, device):
        if text.name == "held-out":
            read.append(objective.inputs(text, batch))
        return losses(objective, text, batch, device)

    monkeypatch.setattr(training, "_losses", reading)
    for changed in (
        {},
        {"seed": 1, "batch_tokens": 4096, "size": SizeSettings(width=8, longest=32)},
    ):
        trained(tmp_path, family, tokens=300, held_out_tokens=2000, **changed)
    one, other = read[: len(read) // 2], read[len(read) // 2 :]
    assert len(one) > 1
    for mine, theirs in zip(one, other, strict=True):
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
        assert mine["ids"].shape[1] > 10  # no input is cut to a few words


def test_batches_without_a_word_behind_a_mask_are_left_out_of_the_mean(tmp_path, monkeypatch):
    values = iter([1.0, float("nan"), 3.0])
    losses = lambda *_: {"below_unigram": torch.tensor(next(values))}  # noqa: E731
    monkeypatch.setattr(training, "_losses", losses)
    found = training.held_out_losses(task(tmp_path, "bert")[1], None, [None] * 3, "cpu")
    assert found == {"below_unigram": 2.0}


@each_family
def test_training_masks_differ_from_seed_to_seed(family, tmp_path):
    batch = Batch(np.arange(8), 0, 0, 0, 0)
    texts = [task(tmp_path, family, seed) for seed in (0, 1)]
    one, other = (objective.inputs(text, batch) for _, objective, text, _ in texts)
    assert any(not np.array_equal(one[name], other[name]) for name in one)


@each_family
def test_a_pretrained_model_loads_as_any_other(family, tmp_path):
    objective, _ = trained(tmp_path, family)
    write_tokenizer(encoded(tmp_path)[1], tmp_path)
    (tmp_path / "model").mkdir()
    save_checkpoint(objective.saved, tmp_path / "model", tmp_path)
    raw, _ = word_embeddings(load_checkpoint(tmp_path / "model"), [6, 7])
    theirs = AutoModel.from_pretrained(tmp_path / "model").get_input_embeddings().weight
    assert torch.equal(raw, theirs[[6, 7]].detach().double())


@pytest.mark.parametrize(("width", "heads"), [(8, 1), (16, 2), (25, 1), (100, 10)])
def test_a_generator_of_any_width_has_heads_that_divide_it(width, heads, tmp_path):
    size = SETTINGS.size.model_copy(update={"generator_width": width})
    objective = task(tmp_path, "electra", size=size)[1]
    assert objective.generator.config.num_attention_heads == heads


@each_family
def test_a_killed_training_goes_on_and_ends_with_the_same_bits(family, tmp_path):
    """The child kills itself with SIGKILL in the middle; nothing of it is left but its file."""

    def dying(batches, **_):
        for count, batch in enumerate(batches):
            if count == 7:
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    def later(batches, **_):
        assert batches[0].step == 7
        return batches

    if (child := os.fork()) == 0:
        trained(tmp_path, family, tmp_path / "state", dying)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    resumed, history = trained(tmp_path, family, tmp_path / "state", later)
    whole, expected = trained(tmp_path, family)
    for one, other in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert history.equals(expected) and set(history["split"]) == {"held-out"}


@each_family
def test_a_learning_rate_that_blows_up_is_named(family, tmp_path):
    with pytest.raises(OnelayerError, match=r"lower pretraining\.learning_rate"):
        trained(tmp_path, family, learning_rate=1e20)


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="heads 5 must divide width 16"):
        SizeSettings(width=16, heads=5)
    with pytest.raises(ValueError, match=r"tokens\n.*at least 5 items"):
        PretrainingSettings(corpus="x", tokens={"bert": 10})
