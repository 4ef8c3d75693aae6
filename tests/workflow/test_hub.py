"""Checkpoints and articles from a hub, through the real rules, to rows of a table."""

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import yaml

from onelayer.text.corpus.storage import read_column
from tests.conftest import snakemake
from tests.faults.conftest import sha256
from tests.hub import COMMIT, TOKEN, Hub, become_a_client, serve
from tests.tiny_models import FAMILIES, save_tiny
from tests.workflow.conftest import executed

pytestmark = pytest.mark.workflow

SHARDS = [f"20231101.en/train-0000{i}-of-00002.parquet" for i in (0, 1)]
OTHERS = {"20231101.de/train-00000-of-00001.parquet": b"not to be asked for"}
CARD = b"""---
configs:
- {config_name: 20231101.en, data_files: [{split: train, path: 20231101.en/train-*}]}
- {config_name: 20231101.de, data_files: [{split: train, path: 20231101.de/train-*}]}
---
"""
CLAIMS = Path("results/tables/topic_structure/wikipedia_claims.csv")


def articles(start: int) -> bytes:
    """A Parquet file of forty articles about ponds and operas, in Wikipedia's columns."""
    texts = ["frog toad pond frog toad", "bach opera mozart opera bach"] * 12
    texts += ["the frog and mozart at the pond, the opera and bach of the toad"] * 16
    ids = [str(start + i) for i in range(len(texts))]
    table = {"id": ids, "url": "", "title": [f"Article {i}" for i in ids], "text": texts}
    file = io.BytesIO()
    pd.DataFrame(table).to_parquet(file, row_group_size=10)
    return file.getvalue()


def hub_model(family: str) -> dict:
    hub = {"repository": f"tiny/{family}", "revision": COMMIT}
    return {"source": "hub", "hub": hub, "published_as": family}


OVERLAY = {
    "corpora": {
        "tiny": {
            "source": {"dataset": "tiny/corpus", "config": "20231101.en", "revision": COMMIT},
            "parse": {"format": "parquet"},
            "credit": "nobody",
        }
    },
    "models": {family: hub_model(family) for family in FAMILIES},
    "topics": {
        "words": {"min_documents": 2, "max_document_share": 1, "single_piece_in": [*FAMILIES]},
        "lda": {"topics": 2, "passes": 2},
        "ambiguity": {"overlaps": ["disjoint"], "thresholds": [{"count": 2}, {"count": 3}]},
    },
    "probe": {
        "attention": {"documents": 40, "max_tokens": 32},
        "uncertainty": {"document_resamples": 100, "word_resamples": 50, "permutations": 50},
    },
    "topic_structure": {"wikipedia": {"corpus": "tiny", "models": [*FAMILIES]}},
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """All five families and two configurations of a corpus, for those who show a token."""
    with serve(Hub()) as hub:
        files = {name: articles(40 * i) for i, name in enumerate(SHARDS)}
        hub.add("datasets/tiny/corpus", files | OTHERS | {"README.md": CARD})
        for family in FAMILIES:
            hub.add(f"models/tiny/{family}", save_tiny(family, tmp_path / family, published=True))
        hub.gated.update(hub.files)
        become_a_client(hub, tmp_path / "home", monkeypatch)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield hub


def test_five_families_from_a_hub_get_their_rows_and_nothing_else_asks_it(hub, fresh):
    (fresh / "overlay.yaml").write_text(yaml.safe_dump(OVERLAY))
    hub.busy = 1
    run = snakemake(
        fresh, "--cores", "2", "--configfile", "overlay.yaml", "--", "table_wikipedia_claims"
    )
    assert run.returncode == 0, run.stdout

    # Every file once, the first one twice because the hub was busy; and nothing after that.
    files = [f"{name}/resolve/{COMMIT}/{file}" for name in hub.files for file in hub.files[name]]
    files = [file for file in files if not file.endswith(tuple(OTHERS))]
    asked = [request.replace(" /", " models/") for request in hub.requests]
    asked = [request.replace(" models/datasets/", " datasets/") for request in asked]
    listing = f"GET models/api/datasets/tiny/corpus/tree/{COMMIT}"
    assert set(asked) == {listing, *(f"{method} {f}" for f in files for method in ("HEAD", "GET"))}
    assert hub.downloads == len(files) + 1

    table = pd.read_csv(fresh / CLAIMS)
    assert set(table["model"]) == set(FAMILIES)
    assert table["value"].notna().all()
    ids = read_column([fresh / "results/corpus/tiny/articles.arrow"], "id")
    assert list(ids) == [str(i) for i in range(80)]
    fetched = json.loads((fresh / "results/corpus/tiny/source.json").read_text())
    contents = hub.files["datasets/tiny/corpus"]
    assert {one["file"]: one["sha256"] for one in fetched} == {
        name: sha256(contents[name]) for name in SHARDS
    }

    folders = (fresh / "results", fresh / ".snakemake")
    written = [path.read_bytes() for f in folders for path in f.rglob("*") if path.is_file()]
    assert not [text for text in [run.stdout.encode(), *written] if b"swordfish" in text]


def test_files_of_this_machine_are_read_where_they_lie(fresh, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    save_tiny("bart", tmp_path / "bart")
    (tmp_path / "bart" / "tokenizer_config.json").unlink()
    for name, start in (("b", 0), ("a", 40)):
        (tmp_path / f"{name}.parquet").write_bytes(articles(start))
    corpus = {
        "source": {"paths": ["~/b.parquet", str(tmp_path / "a.parquet")]},
        "parse": {"format": "parquet", "max_articles": 50},
        "credit": "nobody",
    }
    models = {"mine": {"source": "local", "local": {"path": "~/bart"}}}
    overlay = fresh / "overlay.yaml"
    rates = {"optimizer": "adam", "lr": 0.01, "lr_feed_forward": 0.01}
    training = {"name": "here", "corpus": "tiny", "positions": False, "seeds": 1, "iterations": 3}
    text = {
        "width": 4,
        "hidden": 4,
        "length": 5,
        "batch": 2,
        "held_out_sequences": 2,
        "maps_at": [0],
    }
    settings = {"corpora": {"tiny": corpus}, "models": models}
    settings["scan_snap"] = {"language_model": text | {"trainings": [training | rates]}}
    overlay.write_text(yaml.safe_dump(settings))
    targets = [
        "results/corpus/tiny/articles.arrow",
        "results/models/mine/config.json",
        "results/scan_snap/language_model/here.parquet",
    ]
    run = snakemake(fresh, "--cores", "1", "--configfile", "overlay.yaml", "--", *targets)
    assert run.returncode == 0, run.stdout
    assert executed(run.stdout) == {"parse_articles", "copy_local_model", "train_text_model"}
    measured = pd.read_parquet(fresh / targets[2])
    assert set(measured["iteration"]) == {0, 3} and set(measured["seed"]) == {0}
    ids = [int(i) for i in read_column([fresh / targets[0]], "id")]
    assert len(ids) == 50 and ids == sorted(ids) and ids[-1] >= 40

    # Others in their place, of older dates.
    for file in ("bart/config.json", "a.parquet"):
        os.utime(tmp_path / file, (1, 1))
    again = ("--dry-run", "--configfile", "overlay.yaml", "--", *targets[:2])
    planned = snakemake(fresh, *again)
    table = planned.stdout.split("Job stats:")[1].split("total")[0]
    assert {"parse_articles", "copy_local_model"} <= set(table.split()), planned.stdout


def test_parts_of_a_dataset_come_one_by_one_and_are_not_asked_for_again(hub, fresh):
    overlay = {"corpora": {"tiny": OVERLAY["corpora"]["tiny"] | {"parts": 3}}}
    (fresh / "overlay.yaml").write_text(yaml.safe_dump(overlay))
    names = [f"{part}-of-3" for part in range(3)]
    files = [f"results/corpus/tiny/articles/{name}.arrow" for name in names]
    run = ("--cores", "1", "--configfile", "overlay.yaml", "--")
    done = snakemake(fresh, *run, *files)
    assert executed(done.stdout) == {"fetch_dataset", "parse_part"}, done.stdout
    ids = read_column([fresh / file for file in files], "id")
    assert list(ids) == [str(i) for i in range(80)]
    assert hub.downloads == 3  # the card and two files, which parts share

    (fresh / "results/corpus/tiny/source/1-of-3.arrow").unlink()
    (fresh / files[1]).unlink()
    hub.requests.clear()
    done = snakemake(fresh, *run, files[1], HF_HUB_OFFLINE="0")
    assert done.returncode == 0, done.stdout
    assert hub.downloads == 0
