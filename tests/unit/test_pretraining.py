"""Claims about pretraining: its text, its masks, its budget, and that a kill changes nothing."""

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from transformers import AutoModel, AutoTokenizer

from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.execution import Execution
from onelayer.errors import OnelayerError
from onelayer.settings.pretraining import (
    AdamWSettings,
    HiddenAs,
    SizeSettings,
    TextSettings,
)
from onelayer.settings.root import default_settings
from onelayer.text.corpus.storage import read_articles, write_articles, write_rows
from onelayer.text.models.checkpoints import load_checkpoint, word_embeddings
from onelayer.text.models.families import FAMILIES
from onelayer.text.models.tokenizer import encode, load_tokenizer, piece_id
from onelayer.text.pretraining.objectives import (
    OBJECTIVES,
    fill_in_spans,
    mask_words,
    new_objective,
)
from onelayer.text.pretraining.storage import read_snapshots, read_task, save_model, save_snapshots
from onelayer.text.pretraining.text import Batch, Segments, encode_articles, plan_batches, segment
from onelayer.text.pretraining.training import (
    Training,
    held_out_plan,
    learning_rate,
    passes_snapshot,
    train,
)
from onelayer.text.pretraining.vocabulary import MASK_ID, SPECIAL, build_vocabulary, write_tokenizer
from tests.tiny_text import SETTINGS, encoded, made_up_articles, task

PRETRAINING = default_settings().pretraining

each_family = pytest.mark.parametrize("family", sorted(FAMILIES))


def trained(
    family: str,
    path: Path | None = None,
    tokens: int = SETTINGS.tokens,
    settings: dict | None = None,
    **options,
):
    settings, words, training, held_out = task(family, tokens=tokens, **(settings or {}))
    objective = new_objective(family, settings.size, words, settings.objective, settings.seed)
    execution = Execution(checkpoint=Checkpoint(path, "same", seconds=0), **options)
    return train(objective, training, held_out, settings, execution)


def weights(run) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in run.objective.model.named_parameters()}


def test_every_family_has_an_objective() -> None:
    assert set(FAMILIES) == set(OBJECTIVES)


def test_the_vocabulary_has_the_commonest_words_after_the_special_pieces() -> None:
    vocabulary = build_vocabulary(
        ["The frog the frog.", "the toad", "The frog!"], TextSettings(min_documents=2)
    )
    assert vocabulary["piece"].tolist() == [*SPECIAL, "the", "frog"]
    assert vocabulary["document_share"].tolist()[-2:] == [1, pytest.approx(2 / 3)]
    with pytest.raises(OnelayerError, match=r"min_documents: 4; .* the commonest by 3"):
        build_vocabulary(["the"] * 3, TextSettings(min_documents=4))


def test_the_tokenizer_is_read_by_the_probe_and_by_transformers(tmp_path) -> None:
    _, tokenizer, _ = encoded()
    write_tokenizer(tokenizer, tmp_path)
    ours = load_tokenizer(tmp_path)
    assert encode(ours, "The frog, a zebra. Toad", 32).words == ["the", "frog", "toad"]
    assert piece_id(ours, "frog") is not None and piece_id(ours, "zebra") is None
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    assert theirs("The frog. Toad")["input_ids"] == encode(ours, "The frog. Toad", 32).ids
    assert (theirs.mask_token_id, theirs.pad_token) == (MASK_ID, "[PAD]")


def test_segments_stay_within_an_article_and_within_the_length() -> None:
    _, _, articles = encoded()
    short = segment(articles, False, 10)
    assert short.lengths.max() <= 10
    kept = np.repeat(~articles.held_out, np.diff(articles.starts))
    assert (short.ids == articles.ids[kept]).all()
    edges = np.cumsum(np.diff(articles.starts)[~articles.held_out])
    assert set(edges) <= set(short.starts)
    with pytest.raises(OnelayerError, match="held_out_share"):
        segment(
            type(articles)(**{**vars(articles), "held_out": articles.held_out * False}), True, 9
        )


def test_segments_halve_at_the_end_of_a_sentence() -> None:
    _, _, articles = encoded()
    whole = segment(articles, False, 1000)
    before = whole.ids[whole.starts[:-1] + whole.middles - 1]
    assert np.isin(before, articles.sentence_ends).all()


def test_an_epoch_reads_every_segment_once_without_padding() -> None:
    _, _, articles = encoded()
    segments = segment(articles, False, 30)
    plan = plan_batches(segments, 10**5, 256, 2, 0)
    first = np.concatenate([batch.rows for batch in plan if batch.epoch == 0])
    assert sorted(first) == list(range(len(segments)))
    for batch in plan:  # cut to the shortest: no row runs into the next segment
        assert (segments.places(batch.rows)[:, -1] < segments.starts[batch.rows + 1]).all()
    lost = sum(segments.lengths[b.rows].sum() - segments.places(b.rows).size for b in plan)
    read = sum(segments.places(batch.rows).size for batch in plan)
    assert lost < 0.05 * read
    assert all(batch.after - batch.before <= 256 for batch in plan)
    assert plan[-1].before < 10**5 <= plan[-1].after
    second = np.concatenate([batch.rows for batch in plan if batch.epoch == 1])
    assert first[: len(second)].tolist() != second.tolist()


@pytest.mark.parametrize(("family", "masks", "stay"), [("bert", 0.8, 0.1), ("electra", 0.85, 0.15)])
def test_masks_follow_the_shares_of_the_family(family, masks, stay) -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 100, size=(200, 100))
    predictable = np.arange(100) < 60
    hidden_as = OBJECTIVES[family].hidden_as
    masked = mask_words(ids, rng.random((3, 200, 100)), predictable, 0.3, 100, *hidden_as)
    assert predictable[ids[masked.predicted]].all()
    assert masked.predicted.sum() == pytest.approx(0.3 * predictable[ids].sum(), rel=0.05)
    assert (masked.ids[~masked.predicted] == ids[~masked.predicted]).all()
    hidden, true = masked.ids[masked.predicted], ids[masked.predicted]
    assert (hidden == MASK_ID).mean() == pytest.approx(masks, abs=0.02)
    assert (hidden == true).mean() == pytest.approx(stay, abs=0.02)
    assert (hidden >= len(SPECIAL))[hidden != MASK_ID].all()


@each_family
def test_other_masks_are_those_of_the_settings(family) -> None:
    usual = SETTINGS.objective.model_copy(update={"predicted_share": 1.0})
    others = usual.model_copy(update={"hidden_as": HiddenAs(mask=0.25, another=0.5)})
    read = []
    for asked in (usual, others):
        settings, words, text, _ = task(family, objective=asked)
        objective = new_objective(family, settings.size, words, settings.objective, 0)
        batch = plan_batches(text, 10**4, 4096, objective.special, 0)[0]
        read.append(objective.inputs(text, batch))
    if family == "bart":  # which hides spans
        assert (read[0]["ids"] == read[1]["ids"]).all()
        return
    before, after = (one["ids"].flatten()[one["positions"]] for one in read)
    assert (before == MASK_ID).mean() > 0.75
    assert (after == MASK_ID).mean() == pytest.approx(0.25, abs=0.05)
    assert (after == read[1]["labels"]).mean() == pytest.approx(0.28, abs=0.05)


def test_what_the_generator_guesses_does_not_follow_the_other_word_that_stands_there() -> None:
    replaced = {"predicted_share": 1.0, "hidden_as": HiddenAs(mask=0.1, another=0.9)}
    asked = SETTINGS.objective.model_copy(update=replaced)
    settings, words, text, _ = task("electra", objective=asked)
    objective = new_objective("electra", settings.size, words, asked, 0)
    read = objective.inputs(text, plan_batches(text, 10**4, 4096, objective.special, 0)[0])
    seen = read["ids"].flatten()[read["positions"]]
    others = seen != MASK_ID
    assert abs(np.corrcoef(seen[others], read["draws"][others])[0, 1]) < 0.1


def test_something_is_predicted_in_every_batch() -> None:
    ids = np.full((2, 3), 7)
    masked = mask_words(ids, np.full((3, 2, 3), 0.99), np.zeros(10, bool), 0.3, 10, 0.8, 0.1)
    assert masked.predicted.sum() == 1


def test_spans_cover_the_share_and_leave_the_rest_in_order() -> None:
    ids = np.arange(5, 5 + 20 * 40).reshape(20, 40)
    masked = fill_in_spans(ids, 0.3, 3.0, 40, np.random.default_rng(0))
    assert (masked.predicted.sum(axis=1) == 12).all()
    masks = (masked.ids == MASK_ID).sum(axis=1)
    assert (masks == masks[0]).all() and masks[0] >= 2
    for row, hidden, predicted in zip(ids, masked.ids, masked.predicted, strict=True):
        assert hidden[hidden != MASK_ID].tolist() == row[~predicted].tolist()
    assert len({tuple(row) for row in masked.predicted}) > 1


def test_a_text_with_many_empty_spans_is_no_longer_than_the_model_reads() -> None:
    asked = SETTINGS.objective.model_copy(update={"span_length": 0.2})
    settings, words, text, _ = task("bart", objective=asked)
    objective = new_objective("bart", settings.size, words, asked, 0)
    lengths = [
        objective.inputs(text, batch)["ids"].shape[1]
        for batch in plan_batches(text, 1000, 256, objective.special, 0)
    ]
    assert max(lengths) == settings.size.longest


@each_family
def test_masks_are_static_for_bert_and_dynamic_for_the_others(family) -> None:
    settings, words, training, _ = task(family)
    objective = new_objective(family, settings.size, words, settings.objective, 0)
    rows = np.arange(8)
    first, second = (
        objective.inputs(training, Batch(rows, epoch, 0, 0, 0))["ids"] for epoch in (0, 1)
    )
    assert (first.shape == second.shape and (first == second).all()) == (family == "bert")


def test_the_learning_rate_rises_to_its_peak_and_falls_to_zero() -> None:
    settings = AdamWSettings(learning_rate=2.0, warmup=0.1)
    rates = [learning_rate(tokens, 1000, settings) for tokens in (0, 50, 100, 550, 1000)]
    assert 0 < rates[0] < 0.05 and rates[1] == pytest.approx(1, rel=0.02)
    assert rates[2:] == [2.0, 1.0, 0.0]


def test_a_constant_rate_falls_in_the_cool_down_alone() -> None:
    constant = AdamWSettings(
        learning_rate=2.0, warmup_tokens=100, schedule="constant", cool_down=0.2
    )
    places = (0, 50, 100, 500, 800, 900, 1000)
    rates = [learning_rate(tokens, 1000, constant) for tokens in places]
    assert rates[0] < 0.05 and rates[1] == pytest.approx(1, rel=0.02)
    assert rates[2:] == [2.0, 2.0, 2.0, 1.0, 0.0]


def test_a_constant_rate_is_the_same_training_for_every_budget_until_its_cool_down() -> None:
    constant = AdamWSettings(
        learning_rate=2e-2, warmup_tokens=500, schedule="constant", cool_down=0.2
    )
    size = SETTINGS.size.model_copy(update={"dropout": 0.1})
    short, long = (
        trained("bert", tokens=n, settings={"optimizer": constant, "size": size})
        for n in (3000, 6000)
    )
    before = [tokens for tokens in short.snapshots if tokens < 0.8 * 3000]
    assert len(before) == 3
    for tokens in before:
        kept = short.snapshots[tokens].items()
        assert all(torch.equal(long.snapshots[tokens][name], w) for name, w in kept)
    falling = trained("bert", tokens=6000, settings={"size": size})
    assert not all(
        torch.equal(falling.snapshots[before[-1]][name], w)
        for name, w in short.snapshots[before[-1]].items()
    )


@each_family
def test_dropout_is_of_training_alone(family) -> None:
    settings, words, _, held_out = task(family)
    size = settings.size.model_copy(update={"dropout": 0.5})
    objective = new_objective(family, size, words, settings.objective, 0)
    plain = new_objective(family, settings.size, words, settings.objective, 0)
    plain.model.load_state_dict(objective.model.state_dict())
    [batch, *_] = plan_batches(held_out, 500, 256, objective.special, 0)
    inputs = {
        name: torch.from_numpy(array) for name, array in objective.inputs(held_out, batch).items()
    }
    dropped = objective.losses(inputs)["loss"]
    objective.model.eval()
    assert dropped != objective.losses(inputs)["loss"] == plain.losses(inputs)["loss"]


@pytest.mark.parametrize(("width", "heads"), [(8, 1), (16, 2), (10, 1), (25, 1), (100, 10)])
def test_a_generator_of_any_width_has_heads_that_divide_it(width, heads) -> None:
    asked = SETTINGS.objective.model_copy(update={"generator_width": width})
    run = trained("electra", tokens=300, settings={"objective": asked})
    assert run.objective.generator.config.num_attention_heads == heads


UNTIED = {"size": SETTINGS.size.model_copy(update={"tied": False})}


@each_family
def test_an_output_layer_of_its_own_starts_at_the_frequencies_and_is_trained(family) -> None:
    run = trained(family, settings=UNTIED)
    model = run.objective.saved
    losses, tied = (
        table[(table["split"] == "held-out") & (table["quantity"] == "loss")]["value"].tolist()
        for table in (run.history_table(), trained(family).history_table())
    )
    if family in ("electra", "bart"):  # which have none
        assert losses == tied
        return
    output, embeddings = model.get_output_embeddings(), model.get_input_embeddings()
    assert output.weight is not embeddings.weight and output.weight.grad.any()
    assert losses[0] == pytest.approx(tied[0], abs=0.4) and losses[0] != tied[0]


@each_family
def test_training_learns_and_keeps_snapshots_at_powers_of_two(family) -> None:
    run = trained(family, tokens=12_000)
    table = run.history_table()
    end = table["tokens"].max()
    assert 12_000 <= end < 12_000 + SETTINGS.batch_tokens
    held_out = table[(table["split"] == "held-out") & (table["quantity"] == "loss")]
    losses = held_out.set_index("tokens")["value"]
    assert losses[end] < losses[0]
    assert sorted(run.snapshots) == losses.index[1:].tolist()
    assert [t.bit_length() for t in sorted(run.snapshots)] == [10, 11, 12, 13, 14, 14]


@pytest.mark.parametrize("end", [4096, 4100, 4300, 4400])
def test_all_seeds_keep_as_many_snapshots_wherever_their_last_batches_end(end) -> None:
    settings, _, text, _ = task("bart", tokens=end)
    plans = [plan_batches(text, end, settings.batch_tokens, 2, seed) for seed in range(30)]
    kept = [
        [b.after for b in plan if b is plan[-1] or passes_snapshot(settings, b)] for plan in plans
    ]
    assert {len(snapshots) for snapshots in kept} == {5 if end == 4400 else 4}


def test_large_batches_do_not_cut_held_out_inputs_to_a_few_words() -> None:
    settings, words, *_ = task("bert", held_out_tokens=10**4)
    objective = new_objective("bert", settings.size, words, settings.objective, 0)
    lengths = np.repeat([4, 30], [200, 300])
    starts = np.concatenate([[0], lengths.cumsum()])
    text = Segments("held-out", np.full(starts[-1], len(SPECIAL)), starts, lengths // 2)
    usual, large = (
        held_out_plan(objective, text, settings.model_copy(update={"batch_tokens": tokens}))
        for tokens in (1024, 10**5)
    )
    assert [batch.rows.tolist() for batch in large] == [batch.rows.tolist() for batch in usual]
    read = {row: text.places(batch.rows).shape[1] for batch in large for row in batch.rows}
    assert np.mean([read[row] == lengths[row] for row in read]) > 0.7


@pytest.mark.parametrize("family", ["bert", "electra"])
def test_held_out_batches_without_a_hidden_word_are_left_out_of_its_loss(family) -> None:
    few = SETTINGS.objective.model_copy(update={"predicted_share": 0.05})
    small = {"objective": few, "batch_tokens": 32}
    run = trained(family, settings=small, tokens=100)
    settings, _, _, held_out = task(family, **small)
    run.objective.model.eval()
    losses = []
    for batch in held_out_plan(run.objective, held_out, settings):
        arrays = run.objective.inputs(held_out, batch)
        inputs = {name: torch.from_numpy(array) for name, array in arrays.items()}
        losses.append(run.objective.losses(inputs)["hidden_words_loss"].item())
    assert np.isnan(losses).any()
    table = run.history_table()
    last = table[(table["quantity"] == "hidden_words_loss") & (table["tokens"] > 0)]
    assert last["value"].tolist() == pytest.approx([np.nanmean(losses)])


@each_family
def test_a_training_repeats_itself_to_the_last_bit(family) -> None:
    first, second = weights(trained(family)), weights(trained(family))
    assert all(torch.equal(first[name], second[name]) for name in first)


@each_family
def test_a_training_in_bfloat16_attends_in_float32_and_repeats_itself(family, monkeypatch) -> None:
    seen = set()

    def attend(*tensors, **options):
        seen.update(tensor.dtype for tensor in tensors[:3])
        return attention(*tensors, **options)

    attention = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", attend)
    settings, words, training, held_out = task(family, tokens=1000, precision="bfloat16")
    first, second = (
        train(
            new_objective(family, settings.size, words, settings.objective, 0),
            training,
            held_out,
            settings,
        )
        for _ in range(2)
    )
    assert seen == {torch.float32}
    found, again = weights(first), weights(second)
    assert all(torch.equal(found[name], again[name]) for name in found)
    assert {weight.dtype for weight in found.values()} == {torch.float32}


@each_family
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_killed_training_goes_on_and_ends_with_the_same_bits(family, dropout, tmp_path) -> None:
    """The child kills itself with SIGKILL in the middle; nothing of it is left but its file."""
    size = SETTINGS.size.model_copy(update={"dropout": dropout, "tied": not dropout})
    other = SETTINGS.optimizer.model_copy(update={"schedule": "constant"})
    settings = {"size": size} | ({"optimizer": other} if dropout else {})
    checkpoint = tmp_path / "training.safetensors"
    read: list[int] = []

    def dying(batches, **_):
        for count, batch in enumerate(batches):
            if count == 7:
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    def counting(batches, **_):
        read.append(len(batches))
        return batches

    if (child := os.fork()) == 0:
        trained(family, checkpoint, settings=settings, progress=dying)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    resumed, whole = (
        trained(family, checkpoint, settings=settings, progress=counting),
        trained(family, settings=settings, progress=counting),
    )
    assert read[0] == read[1] - 7
    first, second = weights(resumed), weights(whole)
    assert all(torch.equal(first[name], second[name]) for name in second)
    assert resumed.history_table().equals(whole.history_table())
    assert resumed.snapshots.keys() == whole.snapshots.keys()
    for tokens, kept in whole.snapshots.items():
        assert all(torch.equal(resumed.snapshots[tokens][name], w) for name, w in kept.items())


def test_a_checkpoint_of_another_training_is_not_taken_up(tmp_path) -> None:
    path = tmp_path / "training.safetensors"
    trained("bert", path)
    another = Execution(checkpoint=Checkpoint(path, "another"))
    settings, words, training, held_out = task("bert")
    objective = new_objective("bert", settings.size, words, settings.objective, 0)
    run = train(objective, training, held_out, settings, another)
    assert torch.equal(*(weights(r)["cls.predictions.bias"] for r in (run, trained("bert"))))


@each_family
def test_a_model_and_its_last_snapshot_are_the_same_and_load(family, tmp_path) -> None:
    run = trained(family)
    save_model(run.objective, tmp_path)
    save_snapshots(run.snapshots, tmp_path / "snapshots.safetensors")
    model = load_checkpoint(tmp_path)
    theirs = AutoModel.from_pretrained(tmp_path)
    for (tokens, probed), expected in zip(
        read_snapshots(tmp_path, tmp_path / "snapshots.safetensors"),
        sorted(run.snapshots),
        strict=True,
    ):
        assert tokens == expected
        raw, output = word_embeddings(probed, [6, 7])
    assert torch.equal(raw, word_embeddings(model, [6, 7])[0])
    assert torch.equal(output, word_embeddings(model, [6, 7])[1])
    assert torch.equal(raw, theirs.get_input_embeddings().weight[[6, 7]].detach().double())
    assert load_file(tmp_path / "model.safetensors")


def test_a_learning_rate_that_blows_up_is_named() -> None:
    settings, words, training, held_out = task("bert", optimizer=AdamWSettings(learning_rate=1e20))
    objective = new_objective("bert", settings.size, words, settings.objective, 0)
    with pytest.raises(OnelayerError, match=r"lower pretraining\.optimizer\.learning_rate"):
        train(objective, training, held_out, settings)


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match="heads 5 must divide width 16"):
        SizeSettings(width=16, heads=5)


def test_held_out_articles_depend_on_their_ids_alone() -> None:
    _, _, articles = encoded()
    assert 0.1 < articles.held_out.mean() < 0.3
    assert len(made_up_articles()) == len(articles.held_out)


def test_an_article_of_two_corpora_is_held_out_of_both_or_of_none() -> None:
    one, tokenizer = made_up_articles(), encoded()[1]
    both = one.add_column("title", one["id"]).to_pandas()
    both = pd.concat([both, both.assign(id="p" + both["id"])], ignore_index=True)
    alone = encode_articles(one, tokenizer, SETTINGS.text)["held_out"]
    ends = [len(one), 2 * len(one)]
    rows = encode_articles(Dataset.from_pandas(both), tokenizer, SETTINGS.text, ends=ends)
    assert rows["held_out"][:] == [*alone, *alone]
    untitled = Dataset.from_pandas(both.assign(title="", id=[*one["id"], *one["id"]]))
    rows = encode_articles(untitled, tokenizer, SETTINGS.text, ends=ends)
    first, second = np.reshape(rows["held_out"][:], (2, -1))
    assert 0.1 < first.mean() < 0.3 and (first != second).any()
    several = PRETRAINING.but(corpus=["vital-articles", "dump-excerpt"])
    assert several.text_name == "vital-articles+dump-excerpt"
    assert PRETRAINING.text_name == "vital-articles"


def test_biases_and_norms_do_not_decay() -> None:
    settings, words, _, _ = task("bert")
    objective = new_objective("bert", settings.size, words, settings.objective, 0)
    decays = {
        id(parameter): group["weight_decay"]
        for group in Training(objective, settings, "cpu").optimizer.param_groups
        for parameter in group["params"]
    }
    for name, parameter in objective.model.named_parameters():
        free = name.endswith("bias") or "LayerNorm" in name
        assert decays[id(parameter)] == (0 if free else settings.optimizer.weight_decay), name


def test_output_biases_start_at_the_frequencies_of_the_training_text_alone(tmp_path) -> None:
    vocabulary, tokenizer, articles = encoded()
    vocabulary.to_parquet(tmp_path / "vocabulary")
    rows = encode_articles(made_up_articles(), tokenizer, SETTINGS.text)
    write_rows(rows, tmp_path / "text")
    settings = SETTINGS.of("bert", 0)
    objective, training, _ = read_task(tmp_path / "text", tmp_path / "vocabulary", settings)
    counted = np.bincount(training.ids, minlength=len(vocabulary))
    assert (objective.words.occurrences == counted).all()
    assert len(training.ids) < len(articles.ids)


def test_several_processes_encode_the_same_bytes(tmp_path) -> None:
    _, tokenizer, _ = encoded()
    rows = [(row["id"], "", row["text"], None) for row in made_up_articles(2500)]
    write_articles(rows, tmp_path / "articles", "here")
    for workers in (1, 2):
        settings = SETTINGS.text.model_copy(update={"workers": workers})
        articles, folder = read_articles([tmp_path / "articles"]), tmp_path / str(workers)
        folder.mkdir()
        encoding = encode_articles(articles, tokenizer, settings, folder / "encoded.arrow")
        write_rows(encoding, folder / "text")
    assert (tmp_path / "1/text").read_bytes() == (tmp_path / "2/text").read_bytes()
