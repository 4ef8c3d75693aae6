"""Claims about removed heads: which are chosen, which words are asked for, what the table says."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import transformers
from datasets import Dataset
from tokenizers import normalizers

from onelayer.papers.topic_structure.wikipedia import head_removal
from onelayer.papers.topic_structure.wikipedia.figures import head_removal as figure_of
from onelayer.papers.topic_structure.wikipedia.over_tokens import NOT_LEARNED
from onelayer.papers.topic_structure.wikipedia.probe import removals
from onelayer.papers.topic_structure.wikipedia.probe.attention import sample_articles
from onelayer.papers.topic_structure.wikipedia.probe.head_removal import (
    Heads,
    Questioner,
    measure_removal,
    unseen_articles,
)
from onelayer.settings.models import PretrainedModel
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.root import default_settings
from onelayer.settings.topic_structure import NamedModel
from onelayer.text.corpus.storage import read_articles, write_articles, write_rows
from onelayer.text.models.folder import published_bare
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.models.word_heads import load_word_model
from onelayer.text.pretraining.text import ENCODED
from tests.tiny_models import WORDS, save_tiny

STRUCTURE = default_settings().topic_structure
PROBED = default_settings().probe.attention
RATIOS = np.array([[1.0, 4.0, 0.5, 0.9], [3.0, 1.1, 1.0, 0.8]])


def test_other_heads_are_never_the_largest_ones() -> None:
    heads = Heads(RATIOS, 0.25)
    assert np.argwhere(heads.largest).tolist() == [[0, 1], [1, 0]]
    rng, seen = np.random.default_rng(0), set()
    for _ in range(200):
        sets = heads.drawn(rng)
        for name in removals.OTHERS:
            assert sets[name].sum() == 2 and not (sets[name] & heads.largest).any()
        assert sets["same_layers"].sum(axis=1).tolist() == [1, 1]
        seen.add(sets["random"].tobytes())
    assert len(seen) == 15  # every two of six


def test_a_layer_without_enough_other_heads_gives_no_others_of_it() -> None:
    heads = Heads(np.array([[1.0, 1.1], [3.0, 4.0]]), 0.5)
    assert set(heads.drawn(np.random.default_rng(0))) == {"largest", "random"}


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    return save_tiny("bert", tmp_path / "bert", published=True)


def asked(folder: Path, text: str, share: float, mask: int | None, seed: int = 0):
    vocabulary = pd.DataFrame({"word": WORDS[:-1], "occurrences": range(1, len(WORDS))})
    topics = {"frog": frozenset({0}), "toad": frozenset({0}), "opera": frozenset({1})}
    settings = STRUCTURE.wikipedia.head_removal.but(documents=3, asked_share=share, seed=seed)
    questioner = Questioner(load_tokenizer(folder), vocabulary, topics, settings, 32)
    return questioner.ask("a", text, mask)


def test_a_word_is_of_a_topic_that_shows_if_another_one_can_be_seen(bert: Path) -> None:
    both = {}
    for seed in range(40):
        questions = asked(bert, "the frog toad opera frog", 0.4, 4, seed)
        hidden = tuple(questions.positions)  # [CLS] the frog toad opera frog [SEP]
        assert all(questions.ids[place] == 4 for place in hidden)
        assert questions.targets.tolist() == [questions.truth[place] for place in hidden]
        both[hidden] = questions.same_topic.tolist()
    assert both[2,] == [True]  # frog: toad stands there
    assert both[3,] == [True]
    assert both[4,] == [False]  # opera: alone of its topic
    assert both[2, 3] == [False, True]  # frog's toad is hidden; toad's other frog is not
    assert all(1 not in hidden for hidden in both)  # `the` is no word of the vocabulary


def test_a_discriminator_is_asked_of_every_word_whether_it_was_replaced(bert: Path) -> None:
    questions = [asked(bert, "frog toad pond bach " * 5, 0.4, None, s) for s in range(20)]
    assert {len(one.targets) for one in questions} == {20}
    # Of four in ten, one in six is replaced by itself.
    assert 0.27 < np.mean([one.targets for one in questions]) < 0.4
    questions = asked(bert, "frog toad pond bach", 0.9, None)
    for place, replaced in zip(questions.positions, questions.targets, strict=True):
        assert replaced == (questions.ids[place] != questions.truth[place])


def test_a_text_without_known_words_asks_for_none(bert: Path) -> None:
    assert asked(bert, "the the", 0.5, 4) is None


def test_another_spelling_of_the_same_piece_shows_no_topic(bert: Path) -> None:
    tokenizer = load_tokenizer(bert)
    tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=True)
    vocabulary = pd.DataFrame({"word": ["frog", "fróg"], "occurrences": 1})
    topics = dict.fromkeys(vocabulary["word"], frozenset({0}))
    questioner = Questioner(tokenizer, vocabulary, topics, STRUCTURE.wikipedia.head_removal, 32)
    questions = questioner.ask("a", "the fróg frog", 4)
    assert questions.positions.tolist() == [3] and not questions.same_topic.any()


def test_a_replaced_word_shows_no_topic(bert: Path) -> None:
    for seed in range(20):
        questions = asked(bert, "frog toad", 0.4, None, seed)
        if questions.targets.tolist() == [0, 1]:  # toad was replaced
            assert questions.same_topic.tolist() == [False, True]
            return
    raise AssertionError("no draw replaces the second word alone")


def test_a_bare_model_says_that_it_has_no_head(tmp_path: Path) -> None:
    bare = save_tiny("bert", tmp_path / "bare")
    assert published_bare(bare).startswith("published as a bare BertModel")
    assert load_word_model(bare, load_tokenizer(bare)) == published_bare(bare)
    # A checkpoint that does not say so lacks the weights.
    config = json.loads((bare / "config.json").read_text())
    (bare / "config.json").write_text(json.dumps(config | {"architectures": ["BertForMaskedLM"]}))
    assert "is missing" in load_word_model(bare, load_tokenizer(bare))


def test_a_causal_model_has_no_masked_words(tmp_path: Path) -> None:
    folder = save_tiny("gpt2", tmp_path / "gpt2")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["GPT2LMHeadModel"]}))
    assert "no masked-word head of gpt2" in load_word_model(folder, load_tokenizer(folder))


@pytest.mark.parametrize(
    ("family", "head"), [("deberta-v2", "DebertaV2ForMaskedLM"), ("mpnet", "MPNetForMaskedLM")]
)
def test_heads_that_cannot_be_removed_are_a_row_that_says_so(tmp_path, family, head) -> None:
    folder = save_tiny(family, tmp_path / family)
    getattr(transformers, head)(transformers.AutoConfig.from_pretrained(folder)).save_pretrained(
        folder
    )
    tokenizer = load_tokenizer(folder)
    vocabulary = pd.DataFrame({"word": WORDS[:-1], "occurrences": 1})
    questioner = Questioner(tokenizer, vocabulary, {}, STRUCTURE.wikipedia.head_removal, 32)
    articles = pd.DataFrame({"id": ["a", "b"], "text": "the frog toad"})
    ratios = pd.DataFrame({"seed": "all", "overlap": "disjoint", "threshold": "top 2"}, range(4))
    ratios = ratios.assign(layer=[1, 1, 2, 2], head=[1, 2] * 2, ratio=range(4))
    found = measure_removal([folder], [], articles, questioner, ratios)
    assert "heads can only be removed from all of them" in found["missing"].item()


def test_a_mask_may_be_the_first_piece(tmp_path: Path) -> None:
    folder = save_tiny("bert", tmp_path / "bert", published=True)
    swapped = json.loads((folder / "tokenizer.json").read_text())
    pieces = swapped["model"]["vocab"]
    pieces["[MASK]"], pieces["[PAD]"] = pieces["[PAD]"], pieces["[MASK]"]
    (folder / "tokenizer.json").write_text(json.dumps(swapped))
    assert load_word_model(folder, load_tokenizer(folder)).mask == 0


@pytest.fixture
def corpus(tmp_path: Path) -> tuple[Path, Path]:
    """Forty articles, and their text as it is trained on; every other one is held out."""
    articles, encoded = tmp_path / "articles.arrow", tmp_path / "text.arrow"
    text = "the frog toad opera bach mozart pond frog"
    write_articles(((str(i), "title", text, None) for i in range(40)), articles, "here")
    rows = {"ids": [[7]] * 40, "held_out": [i % 2 == 0 for i in range(40)]}
    write_rows(Dataset.from_dict(rows, features=ENCODED), encoded)
    return articles, encoded


def test_no_article_is_measured_that_was_probed_or_trained_on(corpus: tuple[Path, Path]) -> None:
    articles, encoded = corpus
    attention = PROBED.but(documents=10)
    probed = set(sample_articles([articles], attention)["id"])
    held_out = {str(i) for i in range(0, 40, 2)}
    settings = STRUCTURE.wikipedia.head_removal.but(documents=30)
    found = unseen_articles([articles], [articles], [encoded], attention, settings)
    assert set(found["id"]) == held_out - probed and probed & held_out
    few = settings.model_copy(update={"documents": 4})
    assert set(unseen_articles([articles], [], [], attention, few)["id"]).isdisjoint(probed)
    assert len(unseen_articles([articles], [articles], [encoded], attention, few)) == 4
    everything = PROBED.but(documents=40)
    assert not len(unseen_articles([articles], [articles], [encoded], everything, settings))


def test_an_id_of_another_corpus_is_another_article_and_a_title_the_same_one(
    corpus: tuple[Path, Path], tmp_path: Path
) -> None:
    articles, other = tmp_path / "titled.arrow", tmp_path / "other.arrow"
    write_articles(((str(i), f"title {i}", "a frog", None) for i in range(40)), articles, "here")
    write_articles(((str(i), f"title {i + 39}", "frog", None) for i in range(40)), other, "there")
    attention = PROBED.but(documents=10)
    settings = STRUCTURE.wikipedia.head_removal.but(documents=40)
    trained = unseen_articles([articles], [other], [corpus[1]], attention, settings)
    alone = unseen_articles([articles], [], [], attention, settings)
    assert set(trained["id"]) == set(alone["id"])  # title 39 is held out there
    shifted = tmp_path / "shifted.arrow"
    write_articles(((str(i), f"title {i + 1}", "frog", None) for i in range(40)), shifted, "there")
    trained = unseen_articles([articles], [shifted], [corpus[1]], attention, settings)
    read = {str(i + 1) for i in range(1, 40, 2)}
    assert set(trained["id"]) == set(alone["id"]) - read and read & set(alone["id"])


def test_every_seed_answers_the_same_questions(corpus, tmp_path: Path, bert: Path) -> None:
    articles = read_articles([corpus[0]]).select(range(3)).to_pandas()
    folders = {"0": bert, "1": save_tiny("bert", tmp_path / "other", seed=1, published=True)}
    vocabulary = pd.DataFrame({"word": WORDS[:-1], "occurrences": 1})
    heads = [
        (seed, "disjoint", "top 2", layer, head, layer + head / 10 * (-1) ** int(seed))
        for seed in folders
        for layer in (1, 2)
        for head in (1, 2)
    ]
    ratios = pd.DataFrame(heads, columns=["seed", "overlap", "threshold", "layer", "head", "ratio"])
    topics = {"frog": frozenset({0}), "toad": frozenset({0}), "opera": frozenset({1})}
    settings = STRUCTURE.wikipedia.head_removal.but(documents=3)
    questioner = Questioner(load_tokenizer(bert), vocabulary, topics, settings, 32)
    given = list(folders.values()), list(map(int, folders))
    found = measure_removal(*given, articles, questioner, ratios)
    assert set(found) == set(removals.COLUMNS)
    assert set(found["loss_of"]) == {"masked words"} and set(found["missing"]) == {""}
    one, other = (own.drop(columns=["seed", "loss"]) for _, own in found.groupby("seed"))
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True))
    assert set(found["asked"]) - {0} and found["loss"].nunique() > 10
    missing = measure_removal(*given, articles[:1], questioner, ratios)
    assert missing["missing"].item().startswith("articles neither probed nor trained on: 1")
    # As many other heads of one layer are left, so that every kind of heads is there.
    assert set(found["chosen"]) == {"none", "largest", "random", "same_layers"}


def losses(seeds: list[str], rises: dict[str, float]) -> pd.DataFrame:
    """Every document has two words of each kind; without heads each costs so much more."""
    rng, rows = np.random.default_rng(0), []
    for seed in seeds:
        for document in map(str, range(30)):
            for words in ("same_topic", "other"):
                intact = rng.uniform(4, 8)
                rows.append((document, "none", "none", words, intact, 2, seed))
                for removal in removals.REMOVALS:
                    for chosen, rise in rises.items():
                        more = rise * (2 if words == "same_topic" else 1) * rng.uniform(0.8, 1.2)
                        rows.append((document, removal, chosen, words, intact + 2 * more, 2, seed))
    table = pd.DataFrame(rows, columns=removals.COLUMNS[:7])
    return table.assign(loss_of="masked words", missing="")


MODEL = PretrainedModel(source="pretrain", family="bert", seeds=[0, 1, 2])
SETTINGS = UncertaintySettings(document_resamples=200)
RISES = {"largest": 0.3, "random": 0.1, "same_layers": 0.3}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return head_removal.assemble(
        {"a": losses(["0", "1", "2"], RISES), "b": removals.without_losses("bare")},
        {"a": MODEL, "b": MODEL},
        SETTINGS,
    )


def test_differences_of_losses_are_those_put_in(table: pd.DataFrame) -> None:
    keys = ["model", "removal", "words", "quantity"]
    by = table[table["seed"] == "all"].set_index(keys).sort_index()
    own = by.loc["a", "zero"]
    for words, factor in (("same_topic", 2), ("other", 1), ("same_topic - other", 1)):
        found = own.loc[words]
        assert found["value"]["increase_largest"] == pytest.approx(0.3 * factor, rel=0.1)
        assert found["value"]["largest_minus_random"] == pytest.approx(0.2 * factor, rel=0.15)
        assert found["verdict"]["largest_minus_random"] == "reproduced"
        assert found["verdict"]["largest_minus_same_layers"] == "undecided"
        suffers = "reproduced" if words == "same_topic - other" else ""
        assert found["verdict"]["increase_largest"] == suffers
        assert found["kind"]["largest_minus_random"] == "analogue"
    assert set(own["runs"]) == {3}
    alone = table[(table["seed"] != "all") & table["value"].notna()]
    assert set(alone["verdict"]) == {""} and set(alone["runs"]) == {1}
    assert (own["low"] <= own["value"]).all() and (own["value"] <= own["high"]).all()
    without = by.loc["b", "zero", "same_topic", "largest_minus_random"]
    assert without["verdict"] == "not run" and without["note"] == "bare"
    shown = head_removal.readable(table[(table["seed"] == "all") & (table["removal"] != "none")])
    assert len(shown) == 2 * 3 + 1 and shown["what it is"].iloc[-1] == "bare"


def test_without_a_difference_none_is_found() -> None:
    for rise, verdicts in ((0.2, {"undecided", "negligible"}), (0.0, {"negligible"})):
        same = losses(["0", "1", "2"], {"largest": rise, "random": rise})
        found = head_removal.assemble({"a": same}, {"a": MODEL}, SETTINGS)
        judged = found[found["quantity"].isin(head_removal.DIFFERENCES) & (found["seed"] == "all")]
        assert set(judged["quantity"]) == {"largest_minus_random"}
        assert set(judged["verdict"]) <= verdicts
    # Four times the cost of other heads is no absence, however small both are.
    little = losses(["0", "1", "2"], {"largest": 0.004, "random": 0.001})
    found = head_removal.assemble({"a": little}, {"a": MODEL}, SETTINGS)
    judged = found[found["quantity"].isin(head_removal.DIFFERENCES) & (found["seed"] == "all")]
    assert set(judged["verdict"]) == {"reproduced"} and (judged["high"] < 0.01).all()
    by = judged.set_index(["removal", "words"])["tolerance"]
    cost = found[(found["quantity"] == "increase_random") & (found["seed"] == "all")]
    cost = cost.set_index(["removal", "words"])["value"]
    for removal in removals.REMOVALS:
        # Of same topic minus other words the margin is that of words of the topic.
        for words in (removals.SAME_TOPIC, removals.CONTRAST):
            assert by[removal, words] == pytest.approx(cost[removal, removals.SAME_TOPIC])


def test_losses_of_words_that_nobody_asked_for_are_not_measured() -> None:
    measured = losses(["0", "1"], RISES)
    nothing = measured["words"] == "same_topic"
    measured.loc[nothing, ["loss", "asked"]] = 0
    found = head_removal.assemble({"a": measured}, {"a": MODEL}, SETTINGS)
    silent = found[found["words"] != "other"]
    assert silent["value"].isna().all() and set(silent["note"]) == {head_removal.NONE_ASKED}
    assert set(silent["verdict"]) == {"", "not run"} and set(silent["seed"]) == {"all"}
    assert found.loc[found["words"] == "other", ["value", "low", "high"]].notna().all(axis=None)
    # In one document alone, which a third of all resamples leave out.
    measured.loc[nothing & (measured["document"] == "3"), ["loss", "asked"]] = 2.0, 1
    found = head_removal.assemble({"a": measured}, {"a": MODEL}, SETTINGS)
    rare = found[(found["words"] == "same_topic") & (found["seed"] == "all")]
    assert rare["value"].notna().all() and rare["low"].isna().all()
    assert set(rare["verdict"]) == {"", "undecided"}


def test_that_no_head_matters_is_not_said_of_a_model_that_has_not_learned() -> None:
    same = losses(["0", "1", "2"], {"largest": 0.0, "random": 0.0})
    more = losses(["0", "1", "2"], RISES)
    models = {"same": MODEL, "more": MODEL}
    known = dict.fromkeys(models, False)
    found = head_removal.assemble({"same": same, "more": more}, models, SETTINGS, known)
    found = found[found["seed"] == "all"].set_index(["model", "words", "quantity"])
    own = found.loc[("same", "same_topic", "largest_minus_random")]
    assert set(own["verdict"]) == {"not reached"} and set(own["note"]) == {NOT_LEARNED}
    assert set(found.loc[("more", "same_topic", "largest_minus_random"), "verdict"]) == {
        "reproduced"
    }


def test_a_single_training_decides_nothing() -> None:
    one = losses(["0"], {"largest": 0.3, "random": 0.1})
    model = MODEL.model_copy(update={"seeds": [0]})
    found = head_removal.assemble({"a": one}, {"a": model}, SETTINGS)
    judged = found[found["quantity"].isin(head_removal.DIFFERENCES)]
    assert set(judged["verdict"]) == {"undecided"} and set(judged["runs"]) == {1}


def test_a_file_keeps_what_the_loss_is_and_why_there_is_none(tmp_path: Path) -> None:
    tables = {"a": losses(["0", "1"], {"largest": 0.3, "random": 0.1})}
    tables["b"] = removals.without_losses("bare")
    models, read = dict.fromkeys(tables, MODEL), {}
    for name, own in tables.items():
        # As any program leaves it that knows of columns alone.
        pq.write_table(pa.table(own.to_dict("list")), tmp_path / name)
        read[name] = pd.read_parquet(tmp_path / name)
    found = head_removal.assemble(read, models, SETTINGS)
    pd.testing.assert_frame_equal(found, head_removal.assemble(tables, models, SETTINGS))
    assert found.loc[found["model"] == "a", "note"].str.startswith("masked words").all()


def test_notes_say_how_many_heads_are_removed() -> None:
    assert (
        "a share of 0.25 of all heads"
        in head_removal.notes(STRUCTURE.wikipedia.head_removal.but(documents=3))[0]
    )
    fewer = STRUCTURE.wikipedia.head_removal.but(documents=3, heads_share=0.1)
    assert "a share of 0.1 of all heads" in head_removal.notes(fewer)[0]


def test_the_figure_has_a_mark_for_each_kind_of_heads() -> None:
    models = [NamedModel(name=name, settings=MODEL) for name in "ab"]
    bare = removals.without_losses("bare")
    figure = figure_of([losses(["0", "1", "2"], RISES), bare], models, SETTINGS)
    assert [len(axis.containers) for axis in figure.axes] == [3, 3]
    empty = figure_of([bare], models[1:], SETTINGS)
    assert [text.get_text() for text in empty.texts] == ["b: bare"]
