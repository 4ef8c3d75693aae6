"""A run as users hand it on: of a text of their own, in a folder of its own, one table of it."""

import json

import pytest
import yaml

from tests.conftest import SMOKE, check_in, run_command, snakemake
from tests.steps import forking

pytestmark = pytest.mark.workflow

THEMES = ("river water bridge fish boat", "piano song band tune choir", "bread flour oven salt")


def test_a_table_of_ones_own_text_packs_and_comes_out_again_to_the_byte(fresh, tmp_path):
    notes = tmp_path / "my notes.jsonl"
    with notes.open("w") as file:
        for n in range(40):
            words = THEMES[n % 3].split()[n % 2 :] * 9 + THEMES[(n + 1) % 3].split()[:2]
            note = {"id": n, "title": f"Note {n}", "body": " ".join(words), "label": str(n % 3)}
            file.write(json.dumps(note) + "\n")
    overlay = {
        "corpora": {
            "notes": {
                "source": {"paths": [str(notes)]},
                "parse": {"format": "json", "columns": {"text": "body"}},
                "credit": "nobody but me",
            }
        },
        "topics": {"words": {"single_piece_in": [], "max_document_share": 1.0}},
        "topic_structure": {"wikipedia": {"corpus": "notes"}},
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(overlay))
    check_in(fresh)
    table = ("--configfile", SMOKE[1], str(tmp_path / "mine.yaml"), "--", "table_topics")
    run = snakemake(fresh, "--cores", "2", "--directory", "runs/mine", *table)
    assert run.returncode == 0, run.stdout

    def onelayer(*words: object) -> str:
        source = str(fresh / "src")
        command = (forking(), "-m", "onelayer", *words)
        done = run_command(*command, folder=tmp_path, PYTHONPATH=source)
        assert done.returncode == 0, done.stdout
        return done.stdout

    results, archive = fresh / "runs/mine/results", tmp_path / "mine.zip"
    assert "hold" in onelayer("verify", results)
    assert "4 files of tables" in onelayer("pack", results, "--to", archive)
    assert "4 files of 5 steps hold" in onelayer("verify", archive)
    options = ("--yes", "--no-install", "--cores", "2")
    said = onelayer("again", archive, "table_topics", *options)
    assert said.splitlines()[-1] == "The same bytes: 4 files of table_topics are the archive's"
