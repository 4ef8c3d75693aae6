"""The public functions: what they give, what they say when they cannot, what an import costs."""

import ast
import re
import subprocess
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
import torch
from transformers import AutoModel

import onelayer
from onelayer.errors import OnelayerError
from onelayer.evidence.tables import VALUE_COLUMNS
from onelayer.evidence.verdicts import VERDICTS
from onelayer.report.comparison import OUTCOMES, REFERENCE, compare_runs, counted
from onelayer.settings.probe import UncertaintySettings
from onelayer.text.pretraining.vocabulary import (
    build_vocabulary,
    word_level_tokenizer,
    write_tokenizer,
)
from tests.conftest import ROOT, clean_environment
from tests.tiny_models import save_tiny_bert, tiny_config
from tests.tiny_text import SETTINGS, TOPICS, made_up_articles

TABLES = sorted(f"{p.parent.name}/{p.stem}" for p in REFERENCE.glob("tables/*/*.csv"))
ARTICLES = list(made_up_articles(20)["text"])
TEXTS = [f"{one} {other}" for one, other in pairwise(ARTICLES)]  # two topics each
QUICK = UncertaintySettings(document_resamples=100, word_resamples=50, permutations=50)


def kept_words() -> pd.DataFrame:
    """The topics as a run's ambiguity filter writes them."""
    rows = [
        ("disjoint", "top 6", topic, word)
        for topic, words in enumerate(TOPICS.values())
        for word in words
    ]
    return pd.DataFrame(rows, columns=["overlap", "threshold", "topic", "word"])


def refused(message: str):
    return pytest.raises(OnelayerError, match=message)


def copied(table: str, folder: Path, change=lambda rows: rows) -> Path:
    """A run that holds one table of the reference run, changed."""
    path = folder / "tables" / f"{table}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    change(pd.read_csv(REFERENCE / "tables" / f"{table}.csv")).to_csv(path, index=False)
    return folder


# Importing.


HEAVY = {"torch", "transformers", "gensim", "matplotlib"}


@pytest.mark.parametrize(
    ("asked", "without"),
    [
        ("", HEAVY | {"pandas", "numpy", "pydantic"}),
        ("onelayer.__version__; dir(onelayer)", HEAVY | {"pandas", "numpy", "pydantic"}),
        ("onelayer.results('basins', run='reference')", HEAVY),
    ],
)
def test_a_library_is_loaded_when_something_needs_it(asked, without) -> None:
    code = f"import sys, onelayer; {asked}\nprint(*sys.modules)"
    environment = clean_environment(PYTHONPATH=str(ROOT / "src"))
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert not set(run.stdout.split()) & without


@pytest.mark.parametrize("name", onelayer.__all__)
def test_every_public_name_is_there_and_says_what_it_is(name) -> None:
    found = getattr(onelayer, name)
    assert name in dir(onelayer)
    if name != "__version__":
        assert len(found.__doc__.splitlines()) > 1


def test_editors_see_the_same_names() -> None:
    stub = ast.parse((ROOT / "src/onelayer/__init__.pyi").read_text(encoding="utf-8")).body
    imported = {
        alias.asname: f"{node.module}" for node in stub if isinstance(node, ast.ImportFrom)
        for alias in node.names if alias.asname == alias.name
    }  # fmt: skip
    assert imported == onelayer._MODULES
    assert (ROOT / "src/onelayer/py.typed").is_file()


def test_what_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'result'"):
        _ = onelayer.result


# Results.


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_its_keys_then_the_columns_of_all_tables_each_of_its_type(table) -> None:
    found = onelayer.results(table, run="reference")
    assert found.columns[-len(VALUE_COLUMNS) :].tolist() == VALUE_COLUMNS
    types = found.dtypes.astype(str)
    texts = ["quantity", "kind", "verdict", "note", "n", "runs"]
    numbers = [name for name in VALUE_COLUMNS if name not in texts]
    assert set(types[numbers]) == {"float64"}
    assert types["n"] == types["runs"] == "Int64" and types["quantity"] == types["note"] == "str"
    assert found["verdict"].cat.categories.tolist() == list(VERDICTS)
    raw = pd.read_csv(REFERENCE / f"tables/{table}.csv")
    assert found["verdict"].count() == raw["verdict"].count()
    assert found["kind"].count() == raw["kind"].count()


def test_a_run_is_in_results_or_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with refused("^results: no tables here; `make results` makes them"):
        onelayer.results("basins")
    for folder in ("results", "runs/mine/results", "elsewhere"):
        copied("local_to_global/basins", tmp_path / folder)
    expected = onelayer.results("local_to_global/basins", run="reference")
    for named in ({}, {"run": "mine"}, {"folder": "elsewhere"}, {"folder": Path("elsewhere")}):
        pd.testing.assert_frame_equal(onelayer.results("basins", **named), expected)
    with refused("name one of the two"):
        onelayer.results("basins", run="mine", folder="elsewhere")


def test_a_table_shows_itself_as_readers_know_it_until_something_is_done_with_it(tmp_path) -> None:
    folder = copied("local_to_global/basins", tmp_path)
    assert "21 columns" in repr(onelayer.results("basins", folder=folder))  # as pandas shows it
    (folder / "tables/local_to_global/basins.md").write_text("# Basins\n\n| p | q |\n")
    found = onelayer.results("basins", folder=folder)
    assert repr(found) == found._repr_markdown_() == "# Basins\n\n| p | q |\n"
    assert found._repr_html_() is None
    part = found[found["value"] > 0]
    assert type(part) is pd.DataFrame and "21 columns" in repr(part)


def test_tables_are_listed(tmp_path) -> None:
    folder = copied("local_to_global/basins", tmp_path)
    assert onelayer.tables(folder=folder) == ["local_to_global/basins"]
    assert len(onelayer.tables(run="reference")) > 20


def test_a_table_that_is_not_there_is_one_line_with_the_nearest(tmp_path) -> None:
    folder = copied("local_to_global/basins", tmp_path)
    copied("scan_snap/claims", tmp_path)
    with refused(r"no table 'basin'; the nearest is basins; onelayer.tables\(\) names all$"):
        onelayer.results("basin", folder=folder)


def test_a_name_that_two_papers_have_is_not_guessed(tmp_path) -> None:
    folder = copied("scan_snap/claims", tmp_path)
    other = tmp_path / "tables/local_to_global/claims.csv"
    other.parent.mkdir()
    other.write_bytes((tmp_path / "tables/scan_snap/claims.csv").read_bytes())
    with refused("'claims' is local_to_global/claims or scan_snap/claims; name one of them"):
        onelayer.results("claims", folder=folder)


def test_a_reference_run_that_is_not_installed_is_to_be_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("onelayer.runs.REFERENCE", tmp_path / "docs/reference")
    with refused("no tables here; the reference run is docs/reference of a checkout"):
        onelayer.results("basins", run="reference")


def test_a_file_that_is_no_table_is_refused(tmp_path) -> None:
    (tmp_path / "tables/scan_snap").mkdir(parents=True)
    (tmp_path / "tables/scan_snap/claims.csv").write_text("a,b\n1,2\n")
    with refused("no column quantity, value"):
        onelayer.results("claims", folder=tmp_path)


# Comparison.


def shaken(rows: pd.DataFrame) -> pd.DataFrame:
    """Three changes: a value a little, a value by far with its verdict, a row less."""
    rows = rows.copy()
    bounded = rows.index[rows["low"] < rows["high"]]
    rows.loc[bounded[0], "value"] += 0.1 * (
        rows.loc[bounded[0], "high"] - rows["value"][bounded[0]]
    )
    rows.loc[bounded[1], ["value", "low", "high"]] += 100
    rows.loc[bounded[1], "verdict"] = "opposite"
    return rows.drop(bounded[2])


def test_rows_stand_beside_those_of_the_reference_run(tmp_path) -> None:
    folder = copied("local_to_global/initialisation", tmp_path, shaken)
    rows = onelayer.compare("initialisation", folder=folder)
    counts = rows["outcome"].value_counts()
    assert (counts["agree"], counts["moved"], counts["only one"]) == (1, 1, 1)
    [moved] = rows[rows["outcome"] == "moved"].itertuples()
    assert moved.value - moved.value_reference == pytest.approx(100)
    assert moved.verdict == "opposite" != moved.verdict_reference
    [alone] = rows[rows["outcome"] == "only one"].itertuples()
    assert pd.isna(alone.value) and pd.notna(alone.value_reference)


def test_rows_and_the_counts_of_make_compare_are_one(tmp_path) -> None:
    for table in ("local_to_global/initialisation", "scan_snap/claims"):
        copied(table, tmp_path, shaken)
    rows = onelayer.compare(folder=tmp_path)
    found = compare_runs(tmp_path.glob("tables/*/*.csv"), REFERENCE.glob("tables/*/*.csv"))
    counts = rows.groupby("table")["outcome"].value_counts().unstack(fill_value=0)
    pd.testing.assert_frame_equal(
        counted(found, found["table"])[OUTCOMES],
        counts.reindex(columns=OUTCOMES, fill_value=0),
        check_names=False,
        check_column_type=False,
    )


def test_a_comparison_needs_the_table_on_both_sides(tmp_path) -> None:
    ours = copied("local_to_global/basins", tmp_path / "ours")
    theirs = copied("scan_snap/claims", tmp_path / "theirs")
    with refused("theirs: no table 'local_to_global/basins'"):
        onelayer.compare("basins", folder=ours, reference=theirs)
    with refused("have no table in common"):
        onelayer.compare(folder=ours, reference=theirs)
    with refused("nowhere: no tables here"):
        onelayer.compare(folder=ours, reference=tmp_path / "nowhere")


# The probe.


@pytest.fixture(scope="module")
def tiny():
    """A random BERT of a few weights that knows the words of the made-up articles."""
    tokenizer = word_level_tokenizer(build_vocabulary(ARTICLES, SETTINGS.text)["piece"])
    config = tiny_config("bert", tokenizer.get_vocab_size(), max_position_embeddings=128)
    torch.manual_seed(0)
    return AutoModel.from_config(config, attn_implementation="eager").eval(), tokenizer


def test_a_model_is_probed_with_topics_given_by_hand(tiny) -> None:
    found = onelayer.probe_topic_structure(*tiny, TEXTS, TOPICS, max_tokens=32, uncertainty=QUICK)
    rows = found.set_index("quantity")
    assert set(found["overlap"]) == {"disjoint"}
    ratio = rows.loc["attention_ratio"]
    means = rows["value"]
    assert ratio.value == pytest.approx(
        means["attention_same_topic"] / means["attention_different_topic"]
    )
    assert ratio.low <= ratio.value <= ratio.high and ratio.n == len(TEXTS)
    assert rows.loc["embedding_raw_cosine_ratio", "n"] == 18


def test_topics_by_hand_are_those_of_a_run(tiny) -> None:
    by_hand = onelayer.probe_topic_structure(*tiny, TEXTS, TOPICS, max_tokens=32, uncertainty=QUICK)
    kept = kept_words()
    of_run = onelayer.probe_topic_structure(*tiny, TEXTS, kept, max_tokens=32, uncertainty=QUICK)
    pd.testing.assert_frame_equal(by_hand, of_run.assign(threshold="given"))


def test_a_word_in_two_topics_makes_them_overlap_and_case_is_no_matter(tiny) -> None:
    topics = {name: [word.upper() for word in words] for name, words in TOPICS.items()}
    topics["pond"].append("prime")
    found = onelayer.probe_topic_structure(*tiny, TEXTS, topics, max_tokens=32, uncertainty=QUICK)
    assert set(found["overlap"]) == {"overlapping"} and set(found["threshold"]) == {"given"}


@pytest.mark.parametrize("kind", [Path, str])
def test_a_checkpoint_and_its_tokenizer_come_out_of_a_folder(tmp_path, kind) -> None:
    folder = kind(save_tiny_bert(tmp_path / "bert"))
    model, tokenizer = onelayer.load_checkpoint(folder), onelayer.load_tokenizer(folder)
    assert model.config.vocab_size == tokenizer.get_vocab_size()
    for load in (onelayer.load_checkpoint, onelayer.load_tokenizer):
        with refused("bert/config.json: is a file; name the folder that it lies in$"):
            load(kind(f"{folder}/config.json"))
        with refused("^nowhere: there is no such folder$"):
            load(kind("nowhere"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"texts": TEXTS[:1]}, "texts: 1; at least 2"),
        ({"texts": TEXTS[0]}, "texts: one text was given; a list"),
        ({"texts": Path("texts.txt")}, "^texts: a list of texts is needed, found PosixPath$"),
        ({"texts": [1, 2]}, "^texts: a list of texts is needed, found int$"),
        ({"topics": {"pond": TOPICS["pond"]}}, "topics: pond; at least 2"),
        ({"topics": "kept_words.parquet"}, "^topics: words by topic, or a table, are needed"),
        ({"topics": {"a": "frog", "b": ["toad"]}}, "^topics: a: one word was given"),
        ({"topics": pd.DataFrame({"word": ["frog"]})}, "^topics: no column overlap, threshold, t"),
        (
            {"topics": {"a": ["xylophone"], "b": ["zebra"]}},
            "^given, disjoint: none of the 2 words of the topics is one piece in this model's "
            "tokenizer$",
        ),
        (
            {"topics": {"pond": TOPICS["pond"], "b": ["zebra"]}},
            r"^given, disjoint: \d+ of the \d+ words of the topics are one piece in this model's "
            "tokenizer; pairs of one topic and of two are needed$",
        ),
        (
            {"topics": {name: words[:2] for name, words in TOPICS.items()}},
            "^given, disjoint: 6 words of 3 topics are one piece in this model's tokenizer; same_t",
        ),
        (
            {"topics": {name: words[:2] for name, words in list(TOPICS.items())[:2]}},
            "^given, disjoint: .*ratio: the null .* does not vary: no z score; ",
        ),
        ({"topics": {"a": [], "b": []}}, "^topics: none of them has a word$"),
        ({"topics": {"a": ["frog", 5], "b": ["toad"]}}, "^topics: 5 is no text; words are needed$"),
        ({"topics": {"a": 5, "b": ["toad"]}}, "^topics: a: 5 was given; a list of words"),
        (
            {"topics": kept_words().astype({"topic": str})},
            "^topics: column topic needs whole numbers from 0$",
        ),
        ({"topics": kept_words().assign(word=5)}, "^topics: 5 is no text; words are needed$"),
        ({"topics": kept_words()[:0]}, "^topics: none of them has a word$"),
        ({"texts": ["the", "the"]}, "none of 2 articles holds two different words"),
        ({"max_tokens": 4000}, "^max_tokens: 4000; .* from 8 to the 128 tokens that this model"),
        ({"max_tokens": 2.5}, "^max_tokens: 2.5; a whole number"),
        ({"uncertainty": {}}, r"^uncertainty: onelayer\.settings\.\S+ is needed, found dict$"),
        ({"model": "folder"}, r"^model: transformers\.\S+ is needed, found str$"),
        ({"tokenizer": "folder"}, "^tokenizer: tokenizers.Tokenizer is needed, found str$"),
    ],
)
def test_what_cannot_be_probed_is_one_line(tiny, change, message) -> None:
    given = dict(zip(("model", "tokenizer"), tiny, strict=True))
    given |= {"texts": TEXTS, "topics": TOPICS, "max_tokens": 32, "uncertainty": QUICK} | change
    with refused(message):
        onelayer.probe_topic_structure(**given)


def test_no_more_tokens_are_asked_for_than_settings_allow(tiny) -> None:
    tokenizer = tiny[1]
    config = tiny_config("bert", tokenizer.get_vocab_size(), max_position_embeddings=9000)
    model = AutoModel.from_config(config, attn_implementation="eager").eval()
    with refused("^max_tokens: 8192; .* from 8 to the 4096 tokens that the probe reads$"):
        onelayer.probe_topic_structure(model, tokenizer, TEXTS, TOPICS, max_tokens=8192)


def test_the_ensemble_of_the_docstring_is_the_public_one() -> None:
    ensemble = import_module("onelayer.compute.ensemble")
    assert all(getattr(onelayer, name) is getattr(ensemble, name) for name in ensemble.__all__)


# The page.


def test_the_snippets_of_the_page_work_one_after_the_other(tiny, tmp_path, monkeypatch) -> None:
    model, tokenizer = tiny
    home = tmp_path / "checkpoints/mine"
    model.save_pretrained(home)
    write_tokenizer(tokenizer, home)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    copied("topic_structure/wikipedia_disjoint", tmp_path / "runs/quick/results")
    Path("texts.txt").write_text("\n".join(TEXTS))
    kept = Path("results/topics/vital-articles/kept_words.parquet")
    kept.parent.mkdir(parents=True)
    kept_words().to_parquet(kept)
    names: dict = {}
    blocks = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs/python.md").read_text("utf-8"), re.M | re.S
    )
    for block in blocks:
        exec(block, names)  # noqa: S102
    assert len(blocks) == 5
    assert set(names["claims"]["kind"]) >= {"claim", "theory", "analogue", "control"}
    assert set(names["ratios"]["model"]) >= {"minilm", "random"}
    assert set(names["beside"]["outcome"].dropna()) == {"equal"}
    assert "attention_ratio" in set(names["found"]["quantity"])
    assert names["trained"].losses[-1].isfinite().all()
