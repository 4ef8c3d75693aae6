"""README and docs: every snippet works as it is written, every link leads somewhere."""

import bz2
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml

from onelayer.__main__ import _parser
from onelayer.settings.root import default_settings
from onelayer.text.topics.bag_of_words import count_words, write_bag_of_words
from tests.conftest import ROOT, copy_project, run_command
from tests.steps import forking
from tests.tiny_models import save_tiny_bert
from tests.tiny_text import made_up_articles

SEEN_WORDS = default_settings().topics.words

pytestmark = pytest.mark.workflow

PAGES = sorted(
    str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
)
# What stands in a snippet for a reader and is nothing to try here.
NOT_RUN = {
    "git clone": "needs the network",
    "source .venv/bin/activate": "the tests have their environment",
    "python3 -m venv": "the tests have their environment",
    ".venv/bin/pip install": "needs the network",
    "squeue": "needs a cluster",
}


def snippets(language: str) -> list:
    """Every fenced block of a language, by page and number."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
        found += [pytest.param(block, id=f"{page} {n}") for n, block in enumerate(blocks, 1)]
    return found


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown below it."""
    found = []
    for line in block.replace("\\\n", " ").splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((shlex.join(shlex.split(line[2:], comments=True)), ""))
        else:
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory):
    """Run a command in a project whose user has a checkpoint, texts and a counted corpus."""
    home = tmp_path_factory.mktemp("home")
    project = copy_project(home / "onelayer")
    for name in ("mine", "step1000", "step64000"):
        save_tiny_bert(home / "checkpoints" / name)
    for name in ("", "-multistream"):
        dump = home / f"enwiki-latest-pages-articles{name}.xml.bz2"
        dump.write_bytes(bz2.compress(b"<mediawiki/>"))
    (home / "notes").mkdir()
    for name in ("notes/2026.jsonl", "more-notes.jsonl"):
        (home / name).write_text('{"body": "text"}\n')
    topics = project / "results/topics/vital-articles"
    topics.mkdir(parents=True)
    bag = count_words(list(made_up_articles()["text"]), SEEN_WORDS.but(max_document_share=1))
    write_bag_of_words(bag, topics / "vocabulary.parquet", topics / "counts.npz")

    def run(command: str) -> str:
        done = run_command(
            *("bash", "-c", command),
            folder=project,
            HOME=str(home),
            PYTHONPATH=str(project / "src"),
            PATH=f"{forking().parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}"
        return done.stdout

    run.project = project
    return run


def planned(command: str) -> str:
    """A Snakemake command that only plans."""
    assert command.startswith("snakemake ")
    return command.replace("snakemake ", "snakemake --dry-run ", 1)


@pytest.mark.parametrize("block", snippets("console"))
def test_a_console_snippet_works_as_written(block, shell):
    for command, shown in commands(block):
        if command.startswith("cat "):
            (shell.project / command.removeprefix("cat ")).write_text(shown)
        elif command.startswith("snakemake "):
            shell(planned(command))
        elif command.startswith("make "):
            printed = shell(f"make --old-file=.venv/.installed --dry-run {command[5:]}")
            for line in printed.replace("\\\n", " ").splitlines():
                if line.startswith("snakemake "):
                    shell(planned(line))
        elif command.startswith("onelayer probe "):
            assert "probe_attention " in shell(f"python -m {command} --dry-run")
        elif command.startswith("onelayer "):
            _parser().parse_args(shlex.split(command)[1:])
        elif command.startswith("python scripts/"):
            shell(command)
        else:
            assert command.startswith(tuple(NOT_RUN)), f"nothing tries {command}"


@pytest.mark.parametrize("block", snippets("yaml"))
def test_a_yaml_snippet_is_an_overlay_that_plans_what_it_names(block, shell):
    (shell.project / "overlay.yaml").write_text(block)
    targets = (
        "table_wikipedia_disjoint table_topic_model_robustness table_topic_structure_over_tokens"
    )
    plan = shell(planned(f"snakemake --configfile overlay.yaml -- {targets}"))
    overlay = yaml.safe_load(block)
    for name in (*overlay.get("models", ()), *overlay.get("corpora", ())):
        assert re.search(rf"\[{name}\]", plan), f"{name} is not used"


def test_make_install_keeps_a_torch_that_is_there():
    [line] = [
        line
        for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
        if line.endswith(" -m venv .venv")
    ]
    assert "--clear" not in line


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_a_heading(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?://|mailto:", link):
            continue
        name, _, heading = link.partition("#")
        target = (ROOT / page).parent / name if name else ROOT / page
        assert target.exists(), f"{page}: {link}"
        assert not heading or heading in headings(target), f"{page}: {link}"


def headings(page: Path) -> set[str]:
    """The anchors that a page's headings have."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_readme_is_short():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"<!-- block: .*?<!-- end of block -->", "", text, flags=re.DOTALL)
    assert len(text.splitlines()) <= 120
