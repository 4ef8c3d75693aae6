"""`onelayer probe`: a checkpoint beside a random control, from a folder to a printed table."""

import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from onelayer.__main__ import main
from tests import tiny_models
from tests.conftest import ROOT, run_script, snakemake
from tests.steps import forking
from tests.tiny_models import save_tiny

pytestmark = pytest.mark.workflow


def probe(directory: Path, *arguments: object) -> subprocess.CompletedProcess:
    """Run the command as a user does, in a folder of its own."""
    command = (forking(), "-m", "onelayer", "probe", *arguments, "--cores", "1")
    return run_script(*command, folder=directory, PYTHONPATH=str(ROOT / "src"))


PONDS = ["frog", "toad", "newt", "pond", "reed", "lily", "heron", "carp"]
OPERAS = ["bach", "opera", "mozart", "fugue", "sonata", "cello", "aria", "tenor"]


@pytest.fixture
def overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings of a tiny corpus on this machine, whose words are pieces of tiny checkpoints."""
    monkeypatch.setattr(tiny_models, "WORDS", [*PONDS, *OPERAS, "the"])
    rng = np.random.default_rng(0)
    words = [PONDS, OPERAS, [*PONDS, *OPERAS]]
    texts = [" ".join(rng.choice([*words[i % 3], "the"], size=25)) for i in range(80)]
    articles = {"id": [str(i) for i in range(80)], "title": "", "text": texts}
    pd.DataFrame(articles).to_parquet(tmp_path / "tiny.parquet")
    corpus = {
        "source": {"paths": [str(tmp_path / "tiny.parquet")]},
        "parse": {"format": "parquet"},
        "credit": "nobody",
    }
    topics = {
        "words": {"min_documents": 2, "max_document_share": 1, "single_piece_in": ["tiny-gpt2"]},
        "lda": {"topics": 2, "passes": 2},
        "ambiguity": {"overlaps": ["disjoint"], "thresholds": [{"count": 6}, {"count": 7}]},
    }
    settings = {
        "corpora": {"tiny": corpus},
        "topics": topics,
        "probe": {
            "attention": {"documents": 40, "max_tokens": 32},
            "uncertainty": {"document_resamples": 100, "word_resamples": 50, "permutations": 50},
        },
        "topic_structure": {"robustness": {"models": ["tiny-gpt2"]}},
    }
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(settings))
    return tmp_path / "tiny.yaml"


def test_a_causal_checkpoint_gets_its_table_and_a_second_run_makes_nothing(tmp_path, overlay):
    folder = save_tiny("gpt2", tmp_path / "tiny-gpt2")
    arguments = (folder, "--corpus", "tiny", "--configfile", overlay)
    run = probe(tmp_path, *arguments)
    assert run.returncode == 0, run.stderr
    assert run.stderr.splitlines()[-1].endswith("steps (100%) done")
    lines = run.stdout.splitlines()
    assert lines[0].startswith("tiny-gpt2") and max(map(len, lines[:-2])) <= 80
    page = tmp_path / lines[-2].removeprefix("Attention on a text: ")
    assert '"name":"random-tiny-gpt2"' in page.read_text(encoding="utf-8")
    table = pd.read_csv(tmp_path / lines[-1].removeprefix("All numbers: "))
    rows = table[(table["model"] == "random-tiny-gpt2") & (table["quantity"] == "attention_ratio")]
    assert (rows.loc[rows["seed"] == "all", "value"] - 1).abs().max() < 0.02
    assert {path.name for path in (tmp_path / "runs/probe/tiny-gpt2").iterdir()} == {
        *("overlay.yaml", "reading.html", "wikipedia_disjoint.csv")
    }
    again = probe(tmp_path, *arguments, "--dry-run")
    assert again.stdout == "Nothing to be done\n"


def test_a_series_of_checkpoints_goes_through_the_figure_over_tokens(tmp_path, overlay, fresh):
    """Two checkpoints of one model; then one more whose folder is not there."""
    folders = {
        1000: save_tiny("gpt_neox", tmp_path / "step1", seed=1),
        64_000: save_tiny("gpt_neox", tmp_path / "step64", seed=2),
    }
    settings = yaml.safe_load(overlay.read_text())
    named = [f"way-{tokens}" for tokens in folders]
    settings["models"] = {
        "way": {"source": "series", "folders": {t: str(path) for t, path in folders.items()}}
    }
    settings["topics"]["words"]["single_piece_in"] = ["way"]
    settings["topic_structure"] = {
        "wikipedia": {"corpus": "tiny", "models": named, "over_tokens": {"series": ["way"]}},
        "robustness": {"models": [named[0]]},
    }
    path = tmp_path / "series.yaml"
    path.write_text(yaml.safe_dump(settings))
    target = "topic_structure_over_tokens"
    arguments = ("--configfile", path, "--", f"table_{target}", f"figure_{target}")
    run = snakemake(fresh, "--cores", "1", *arguments)
    assert run.returncode == 0, run.stdout
    table = pd.read_csv(fresh / f"results/tables/topic_structure/{target}.csv")
    ratios = table[table["quantity"] == "attention_ratio"]
    assert ratios["tokens_seen"].tolist() == [1000, 64_000]
    assert set(table["threshold"]) == {"top 6"} and table["value"].notna().all()
    # As if each stood in the main tables alone.
    for tokens, name in zip(folders, named, strict=True):
        own = pd.read_parquet(fresh / f"results/measures/tiny/{name}/attention.parquet")
        own = own[(own["quantity"] == "attention_ratio") & (own["threshold"] == "top 6")]
        assert ratios.set_index("tokens_seen").loc[tokens, "value"] == pytest.approx(
            own["value"].item(), rel=1e-8
        )

    settings["models"]["way"]["folders"][128_000] = str(tmp_path / "step128")
    path.write_text(yaml.safe_dump(settings))
    run = snakemake(fresh, "--cores", "1", *arguments)
    assert run.returncode == 1 and "Traceback" not in run.stdout
    message = f"config: models.way.folders.128000: folder {tmp_path / 'step128'} does not exist"
    assert [line for line in run.stdout.splitlines() if message in line], run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: there is no such folder; a repository on a hub needs --revision"),
        (["a/b", "--revision", "main"], "config: models.b.hub.revision: a revision is the 40 hex"),
        (["{mine}", "--corpus", "vital"], "unknown name 'vital' (did you mean 'vital-articles'?)"),
        (["{mine}", "--configfile", "no.yaml"], "--configfile: no.yaml does not exist"),
        (["{empty}"], "config: models.empty.local.path: folder {empty} holds no config.json"),
        (["{mine}/config.json"], "config.json: is a file; name the folder that it lies in"),
    ],
)
def test_what_cannot_be_probed_is_one_line(arguments, message, tmp_path):
    folders = {"mine": save_tiny("bert", tmp_path / "mine"), "empty": tmp_path / "empty"}
    folders["empty"].mkdir()
    run = probe(tmp_path, *(argument.format(**folders) for argument in arguments))
    assert run.returncode == 1 and run.stdout == ""
    [line] = run.stderr.splitlines()
    assert line.startswith("onelayer: ") and message.format(**folders) in line


def test_a_step_that_fails_is_named_in_one_line(tmp_path, overlay):
    folder = save_tiny("gpt2", tmp_path / "tiny-gpt2", max_position_embeddings=16)
    run = probe(tmp_path, folder, "--corpus", "tiny", "--configfile", overlay)
    assert run.returncode == 1 and run.stdout == ""
    said = run.stderr.splitlines()[-1]
    assert said.startswith("onelayer: probe_attention: probe.attention.max_tokens: 32; this model")


def test_the_command_is_installed_under_its_name():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"onelayer": f"{main.__module__}:main"}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        *((name, f"{name} is a model of the settings: give yours another --name")
          for name in ("random", "bert-here-0", "bert-here-7")),
        ("7", "random-7 is a model of the settings: give yours another --name"),
        ("results", "results is the folder of the run: give your model another --name"),
    ],
)  # fmt: skip
def test_a_name_that_would_be_in_the_way_is_refused_before_anything_is_made(name, line, tmp_path):
    (tmp_path / name).mkdir()
    run = probe(tmp_path, tmp_path / name)
    assert (run.returncode, run.stdout, run.stderr) == (1, "", f"onelayer: {line}\n")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_dry_run_makes_no_folder(tmp_path, overlay):
    folder = save_tiny("gpt2", tmp_path / "tiny-gpt2")
    before = sorted(tmp_path.rglob("*"))
    run = probe(tmp_path, folder, "--corpus", "tiny", "--configfile", overlay, "--dry-run")
    assert run.returncode == 0 and "table_wikipedia" in run.stdout, run.stderr
    assert sorted(tmp_path.rglob("*")) == before
