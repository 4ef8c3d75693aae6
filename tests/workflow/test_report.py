"""`make report`: one file that holds every table and figure, and works in a browser, offline."""

import base64
import html
import json
import re
import shutil
from pathlib import Path

import pytest

from onelayer.registry import FOLDERS
from tests.conftest import ROOT, SMOKE, snakemake
from tests.workflow.browser import Page
from tests.workflow.conftest import merged_config

pytestmark = pytest.mark.workflow

# Clicks, and waits until the page has drawn what the click changed.
CLICK = """async (element) => {
  element.click();
  for (const _ of [1, 2]) await new Promise(requestAnimationFrame);
}"""
# The page draws its menu after it has loaded.
MENU = f"""async (text) => {{
  const find = () =>
    [...document.querySelectorAll("a")].find((link) => link.innerText.trim() === text);
  for (let frame = 0; !find() && frame < 600; frame++) await new Promise(requestAnimationFrame);
  await ({CLICK})(find());
}}"""
ICON = f"""(icon, index) =>
  ({CLICK})(document.querySelectorAll(`a[iconname=${{icon}}]`)[index])"""
SHOWN = """(async () => {
  const shown = document.querySelector(".grow.overflow-auto :is(img, iframe)");
  if (!shown) return null;
  if (shown.tagName === "IMG") await shown.decode();
  const name = shown.src.match(/filename=([^;]+)/)[1];
  return {name, top: shown.getBoundingClientRect().top, width: shown.clientWidth};
})()"""


@pytest.fixture(scope="module")
def report(smoke_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the smoke run, made with the options of `make report`."""
    project = tmp_path_factory.mktemp("report") / "project"
    shutil.copytree(smoke_run, project, symlinks=True)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    options = re.search(r"--cores \S+ (--report .*)", makefile)[1].split()
    options = [option.replace("$(CURDIR)", str(project)) for option in options]
    run = snakemake(project, "--cores", "1", *SMOKE, *options)
    assert run.returncode == 0, run.stdout
    return project / "results/report.html"


def shown_files(report: Path) -> dict[str, bytes]:
    """Every figure, animation and table as the report should show it, by file name."""
    results = report.parent
    shown = ("figures/*/*.png", "animations/*/*.gif", "tables/*/*.html")
    files = [path for pattern in shown for path in results.glob(pattern)]
    return {path.name: path.read_bytes() for path in files}


def test_the_report_holds_every_figure_and_table_byte_for_byte(report, smoke):
    text = report.read_text(encoding="utf-8")
    files = shown_files(report)
    assert files.keys() == {Path(result.files[-1]).name for result in smoke.results}
    missing = [name for name, b in files.items() if base64.b64encode(b).decode() not in text]
    assert missing == []


def test_the_report_holds_every_caption(report):
    text = report.read_text(encoding="utf-8")
    captions = sorted((ROOT / "workflow/report").glob("*.rst"))
    assert captions
    for path in captions:
        phrases = re.findall(r"\w+(?: \w+){3,}", path.read_text(encoding="utf-8"))
        assert phrases[0] in text, path.name


def test_the_report_holds_the_settings_of_the_run(report):
    text = html.unescape(report.read_text(encoding="utf-8"))
    assert '"chunksize": 200' in text
    assert '"max_articles": 2000' in text


def test_tables_in_the_report_load_nothing(report):
    for name, content in shown_files(report).items():
        if name.endswith(".html"):
            assert not re.search(rb"<script|<link|<iframe|src=|url\(|@import", content), name


@pytest.mark.chromium
def test_the_report_works_in_a_browser_without_errors_or_network(report, smoke, tmp_path):
    opened, described = {}, set()
    sections = {
        (FOLDERS[result.name.partition("/")[0]], result.section) for result in smoke.results
    }
    with Page(tmp_path / "profile") as page:
        for category, subcategory in sorted(sections):
            page.open(report)
            # A category with one part has no menu of parts.
            alone = [part for one, part in sections if one == category] == [subcategory]
            for entry in (category,) if alone else (category, subcategory):
                page.evaluate(f"({MENU})('{entry}')")
            results = page.evaluate("document.querySelectorAll('a[iconname=eye]').length")
            for index in range(results):
                page.evaluate(f"({ICON})('eye', {index})")
                if view := page.evaluate(SHOWN):
                    opened[view["name"]] = view
            page.evaluate(f"({ICON})('information-circle', 0)")
            if "DESCRIPTION" in page.evaluate("document.body.innerText").upper():
                described.add((category, subcategory))
    # Snakemake's page hands an animation to the browser instead of showing it itself.
    assert set(opened) == {name for name in shown_files(report) if not name.endswith(".gif")}
    # Nothing is cut off at the top of the window, and everything has a readable width.
    assert all(view["top"] >= 0 and view["width"] > 600 for view in opened.values()), opened
    assert described == sections
    assert page.errors == []
    assert set(page.requests) >= {report.as_uri()}
    addresses = [address for address in page.requests if address != report.as_uri()]
    assert {address.partition(":")[0] for address in addresses} == {"data"}


@pytest.mark.chromium
def test_the_first_page_of_the_report_shows_the_settings_of_the_run(report, tmp_path):
    with Page(tmp_path / "profile") as page:
        page.open(report)
        settings = json.loads(page.evaluate("document.querySelector('pre').innerText"))
        top = page.evaluate("document.querySelector('.prose').getBoundingClientRect().top")
    assert settings == merged_config("smoke.yaml")
    assert top >= 0
