"""The site of the documentation: built without a warning, whole, nothing in it from elsewhere."""

import ast
import html
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urldefrag

import pytest
import yaml

import onelayer
from onelayer.evidence.declarations import read_declarations
from onelayer.papers import PAPERS
from onelayer.papers.findings import CLAIMS
from onelayer.report.trained import PICTURE
from tests.conftest import ROOT, run_command
from tests.quoted import quotes

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
KEPT = ROOT / "docs/reference"
STEPS = {path.stem for path in (ROOT / "scripts").glob("*.py")}
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


def build(root: Path, site: Path, results: Path) -> subprocess.CompletedProcess:
    """Build the site without a network: a proxy that nobody answers stands in the way."""
    return run_command(
        *(sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site),
        folder=root,
        RESULTS=str(results),
        PYTHONPATH=str(root / "src"),
        NO_MKDOCS_2_WARNING="1",
        HTTP_PROXY="http://127.0.0.1:9",
        HTTPS_PROXY="http://127.0.0.1:9",
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site of this checkout beside a run that drew one figure."""
    folder = tmp_path_factory.mktemp("docs")
    drawn = folder / "results/figures/scan_snap/scan.png"
    drawn.parent.mkdir(parents=True)
    drawn.write_bytes(PIXEL)
    built = build(ROOT, folder / "site", folder / "results")
    assert built.returncode == 0 and "WARNING" not in built.stdout, built.stdout
    return folder / "site"


def article(page: Path) -> str:
    """What a page says, with its markup."""
    text = page.read_text(encoding="utf-8")
    return text[text.index("<article") : text.index("</article>")]


def words(page: Path) -> str:
    """What a page says."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", article(page))).split())


def test_every_link_and_picture_of_every_page_is_there(site) -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    checked = 0
    for page in pages.keys() - {site / "404.html"}:
        for link in re.findall(r'\b(?:href|src)="([^"]+)"', article(page)):
            if re.match(r"https?:|mailto:|data:", link):
                continue
            path, anchor = urldefrag(html.unescape(link))
            target = (page.parent / path).resolve() if path else page
            assert target.is_file(), f"{page.name}: {link}"
            assert not anchor or anchor in anchors[target], f"{page.name}: {link}"
            checked += 1
    assert checked > 100


def test_a_page_loads_nothing_from_elsewhere(site) -> None:
    loads = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//")
    for page in site.rglob("*.html"):
        assert not loads.search(page.read_text(encoding="utf-8")), page.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//", sheet.read_text("utf-8")), sheet.name


def test_the_gallery_has_every_figure_with_its_caption_and_command(site) -> None:
    page = site / "figures.html"
    text = words(page)
    for caption in (ROOT / "workflow/report").glob("*_*.rst"):
        if caption.name.startswith(("figure_", "animation_")):
            assert f"snakemake --cores all {caption.stem}" in text
            assert " ".join(caption.read_text(encoding="utf-8").split()) in text
    shown = re.findall(r'<img [^>]*src="([^"]+)"', article(page))
    kept = {str(path.relative_to(KEPT)) for path in KEPT.glob("figures/*/*.png")}
    assert "figures/all_papers/scoreboard.png" in kept
    kept -= {"figures/scan_snap/scan.png", PICTURE}  # another run's; of all kept runs, elsewhere
    assert set(shown) == {"pictures/scan_snap/scan.png", *(f"reference/{name}" for name in kept)}
    assert f'src="reference/{PICTURE}"' in article(site / "attention_on_text.html")
    assert (site / "pictures/scan_snap/scan.png").read_bytes() == PIXEL
    assert 'src="../pictures/scan_snap/scan.png"' in article(site / "papers/scan_snap.html")


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_has_its_claims_and_its_findings(site, paper) -> None:
    text = words(site / f"papers/{paper}.html")
    claims = {plain_words(part) for one in CLAIMS[PAPERS[paper]] for part in (one.claim, one.place)}
    assert len(claims) > 5 and {claim for claim in claims if claim not in text.lower()} == set()
    findings = (ROOT / "docs/reference/findings.md").read_text(encoding="utf-8")
    own = [part for part in re.split(r"^##+ ", findings, flags=re.M)
           if part.startswith(f"{PAPERS[paper]}\n")]  # fmt: skip
    said = [sentence.replace("**", "") for _, sentence in quotes("".join(own))]
    assert said and all(sentence in text for sentence in said)


def plain_words(said: str) -> str:
    return " ".join(said.lower().split())


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_has_its_results_each_with_its_function_and_the_steps_that_it_names(site, paper):
    results = re.split(r"<h3 id=", article(site / f"papers/{paper}.html"))
    own = [one for one in read_declarations() if one.folder == paper]
    for declaration in own:
        name = f"{declaration.module}.{declaration.function}".removeprefix(
            f"onelayer.papers.{paper}."
        )
        found = [result for result in results if f"function: <code>{name}</code>" in result]
        assert found, name
        named = {read.partition(".")[0] for read in declaration.reads.values() if "/" not in read}
        for step in named & STEPS:
            assert all(f"<code>{step}</code>" in result for result in found), (name, step)
    assert len(own) > 5


def test_every_step_and_module_stands_on_the_page_of_a_paper(site) -> None:
    rows = {
        name
        for paper in PAPERS
        for name in re.findall(
            r"<tr>\n<td><code>([\w.]+)</code></td>", article(site / f"papers/{paper}.html")
        )
    }
    others = {"make_table", "make_figure", "write_findings", "write_index", "write_crate"}
    others |= {"measure_claims_again", "tabulate_scoreboard", "calibrate_intervals"}
    others |= {"copy_local_model", "gather_series"}  # of models of one's own: docs/own_data.md
    others |= {"follow_circuits"}  # of all papers together
    assert rows >= STEPS - others and not rows & others
    packages = [ROOT / "src/onelayer/papers" / paper for paper in PAPERS]
    modules = {".".join(path.relative_to(package).with_suffix("").parts)
               for package in packages for path in package.rglob("*.py")}  # fmt: skip
    assert rows - STEPS == {name for name in modules if not name.endswith("__init__")}


def test_the_settings_page_has_every_key_and_every_value_of_the_default(site) -> None:
    page = article(site / "settings.html")
    first = re.findall(r"<tr>\n<td><code>([^<]+)</code></td>", page)
    paths = [html.unescape(path) for path in first]
    schema = json.loads((ROOT / "workflow/schemas/config.schema.json").read_text("utf-8"))
    named = {name.removesuffix("[]") for path in paths for name in path.split(".")}
    blocks = [schema, *schema["$defs"].values()]
    assert {key for block in blocks for key in block.get("properties", ())} <= named
    assert len(paths) == len(set(paths))

    def leaves(value: object, path: str):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from leaves(inner, f"{path}.{key}" if path else key)
        else:
            yield path

    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    patterns = [re.compile(re.escape(p).replace("<name>", r"[^.]+") + r"(\.|$)") for p in paths]
    for leaf in leaves(config, ""):
        listed = [p for p in paths if p.startswith(f"{leaf}[]")]
        assert listed or any(pattern.match(leaf) for pattern in patterns), leaf


def test_the_public_functions_are_described(site) -> None:
    page = article(site / "api.html")
    for name, module in onelayer._MODULES.items():
        assert re.search(rf'id="{re.escape(module)}(\.\w+)*\.{name}"', page), name
    assert "Raises" in page and "Parameters" in page


def test_a_link_that_leads_nowhere_ends_the_build(tmp_path) -> None:
    """By the settings of the site, on two pages."""
    ours = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[0]
    (tmp_path / "mkdocs.yml").write_text(re.sub(r"hooks:\n(  - .*\n)+", "", ours))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/targets.md").write_text("# Targets\n\n## All\n")
    page = tmp_path / "docs/index.md"
    for text, sound in (("[all](targets.md#all)", True), ("[none](targets.md#none)", False),
                        ("[nowhere](nowhere.md)", False)):  # fmt: skip
        page.write_text(f"# Start\n\n{text}\n")
        built = build(tmp_path, tmp_path / "site", tmp_path / "results")
        assert (built.returncode == 0) == sound, built.stdout
        assert sound or re.search(r"WARNING.*(nowhere\.md|#none)", built.stdout)


def test_readers_meet_no_word_of_our_own_for_the_project_or_its_parts() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("workflow/report/*.rst")]
    for page in (*pages, *ROOT.glob("src/onelayer/**/*.py"), *ROOT.glob("scripts/*.py")):
        text = page.read_text(encoding="utf-8")
        if page.suffix == ".py":
            nodes = (n for n in ast.walk(ast.parse(text)) if isinstance(n, DOCUMENTED))
            text = "\n".join(filter(None, map(ast.get_docstring, nodes)))
        found = re.search(r"\b(house|rooms?)\b", text, re.IGNORECASE)
        assert not found, f"{page.relative_to(ROOT)}: {found[0]}"
