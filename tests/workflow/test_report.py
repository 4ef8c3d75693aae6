"""`make report`: one file that holds every table and figure, and works in a browser, offline."""

import base64
import html
import json
import re
from pathlib import Path

import pytest

from onelayer.evidence.verdicts import KINDS, VERDICTS
from onelayer.report.registry import FOLDERS
from tests.conftest import ROOT, SMOKE, copy_run, snakemake
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


LINKS = "[...document.querySelectorAll('.onelayer a')]"
# Pictures of a page, each with whether it holds one.
LOADED = """Promise.all([...document.querySelectorAll(".onelayer img")].map((image) =>
  image.decode().then(() => image.naturalWidth > 100)))"""
# Three clicks on every column's head; the last column's states.
TURNS = """[...document.querySelectorAll("th")].map((head) => [1, 2, 3].map(() => {
  head.querySelector("button").click();
  return head.getAttribute("aria-sort");
})).at(-1)"""


@pytest.fixture(scope="module")
def report(smoke_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the smoke run, made with the options of `make report`."""
    project = copy_run(smoke_run, tmp_path_factory.mktemp("report") / "project")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    options = re.search(r"--cores \S+ (--report .*)", makefile)[1].split()
    options = [option.replace("$(CURDIR)", str(project)) for option in options]
    run = snakemake(project, "--cores", "1", *SMOKE, *options)
    assert run.returncode == 0, run.stdout
    return project / "results/report.html"


def shown_files(report: Path) -> dict[str, bytes]:
    """Every figure, animation and table as the report should show it, by path."""
    results = report.parent
    shown = ("figures/*/*.png", "animations/*/*.png", "tables/*/*.html")
    files = [path for pattern in shown for path in results.glob(pattern)]
    return {str(path.relative_to(results.parent)): path.read_bytes() for path in files}


def test_the_report_holds_every_figure_and_table_byte_for_byte(report, smoke):
    text = report.read_text(encoding="utf-8")
    files = shown_files(report)
    assert files.keys() == {result.files[-1] for result in smoke.results}
    missing = [name for name, b in files.items() if base64.b64encode(b).decode() not in text]
    assert missing == []


def test_the_report_holds_every_caption(report):
    text = report.read_text(encoding="utf-8")
    captions = sorted((ROOT / "workflow/report").glob("*.rst"))
    assert captions
    for path in captions:
        written = re.sub(r"{[{%].*?[%}]}", "", path.read_text(encoding="utf-8"))
        phrases = re.findall(r"\w+(?: \w+){3,}", written)
        assert phrases[0] in text, path.name


def test_the_report_holds_the_settings_of_the_run(report):
    text = html.unescape(report.read_text(encoding="utf-8"))
    assert '"chunksize": 200' in text
    assert '"max_articles": 2000' in text


def test_tables_in_the_report_load_nothing(report):
    for name, content in shown_files(report).items():
        if name.endswith(".html"):
            loads = rb"<script\s|<link|<iframe|src=(?!\"data:)|url\(|@import|fetch|import\("
            assert not re.search(loads, content), name


@pytest.mark.chromium
def test_the_report_works_in_a_browser_without_errors_or_network(report, smoke, tmp_path):
    opened, described = [], set()
    sections = {
        (FOLDERS[result.name.partition("/")[0]], result.section) for result in smoke.results
    }
    with Page(tmp_path / "profile") as page:
        page.open(report)
        for category, subcategory in sorted(sections):
            # A category with one part has no menu of parts.
            alone = [part for one, part in sections if one == category] == [subcategory]
            for entry in (category,) if alone else (category, subcategory):
                page.evaluate(f"({MENU})('{entry}')")
            results = page.evaluate("document.querySelectorAll('a[iconname=eye]').length")
            for index in range(results):
                page.evaluate(f"({ICON})('eye', {index})")
                if view := page.evaluate(SHOWN):
                    opened.append(view)
            page.evaluate(f"({ICON})('information-circle', 0)")
            if "DESCRIPTION" in page.evaluate("document.body.innerText").upper():
                described.add((category, subcategory))
            page.evaluate(f"({MENU})('Results')")
    assert sorted(view["name"] for view in opened) == sorted(
        Path(path).name for path in shown_files(report)
    )
    # Nothing is cut off at the top of the window, and everything has a readable width.
    assert all(view["top"] >= 0 and view["width"] > 600 for view in opened), opened
    assert described == sections
    assert page.errors == []
    assert set(page.requests) >= {report.as_uri()}
    addresses = [address for address in page.requests if address != report.as_uri()]
    assert {address.partition(":")[0] for address in addresses} == {"data"}


@pytest.mark.chromium
def test_the_first_page_of_the_report_shows_findings_counts_figures_and_settings(
    report, smoke, tmp_path
):
    with Page(tmp_path / "profile") as page:
        page.open(report)
        settings = json.loads(page.evaluate("document.querySelector('pre').innerText"))
        top = page.evaluate("document.querySelector('.prose').getBoundingClientRect().top")
        heading = page.evaluate("document.querySelector('.prose h1').innerText")
        text = page.evaluate("document.querySelector('.onelayer').innerText")
        loaded = page.evaluate(LOADED)
        opened, links = {}, page.evaluate(f"{LINKS}.map((link) => link.getAttribute('href'))")
        # The other test opens everything; here some of the links, spread over the page.
        for link in links[:: max(1, len(links) // 10)]:
            page.evaluate(f"({CLICK})({LINKS}.find((a) => a.getAttribute('href') === '{link}'))")
            opened[link] = page.evaluate(SHOWN)["name"]
            page.evaluate(f"({MENU})('Workflow')")
        # The page itself is not moved sideways, whatever in it is.
        inside = "document.querySelector('.grow.overflow-auto')"
        whole, window = page.evaluate(f"[{inside}.scrollWidth, {inside}.clientWidth]")
        assert whole <= window
        assert page.errors == []
    assert settings == merged_config("smoke.yaml")
    assert top >= 0
    assert heading == "Findings"
    for kind in (*KINDS, *VERDICTS):
        assert kind in text
    figures = [result for result in smoke.results if result.kind != "table"]
    assert loaded == [True] * len(figures)
    assert opened == {link: Path(link).name for link in opened}
    assert set(links) >= {result.files[-1].removeprefix("results/") for result in figures}
    assert {Path(link).suffix for link in opened} >= {".html", ".png"}


@pytest.mark.chromium
def test_the_animation_plays_in_the_report(report, tmp_path):
    [path] = report.parent.glob("animations/*/*.png")
    link = path.relative_to(report.parent)
    with Page(tmp_path / "profile") as page:
        page.open(report)
        page.evaluate(f"({CLICK})({LINKS}.find((a) => a.getAttribute('href') === '{link}'))")
        assert page.evaluate(SHOWN)["name"] == path.name
        # What the window shows changes; a picture that stands still would not.
        drawn = set()
        for _ in range(8):
            page.evaluate("new Promise((done) => setTimeout(done, 150))")
            drawn.add(page.screenshot())
    assert len(drawn) > 1


@pytest.mark.chromium
def test_tables_sort_by_every_column_and_are_no_wider_than_the_page(report, tmp_path):
    with Page(tmp_path / "profile") as page:
        size = {"width": 900, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        page.command("Emulation.setDeviceMetricsOverride", **size)
        for path in sorted(report.parent.glob("tables/*/*.html")):
            page.open(path)
            whole, window = page.evaluate(
                "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
            )
            assert whole <= window, path.name
            assert page.evaluate(f"{TURNS}") == ["ascending", "descending", "none"], path.name
        page.open(report.parent / "tables/decision_lists/theorem_1.html")
        column = "document.querySelectorAll('th button')[1]"
        values = "[...document.querySelectorAll('tr > td:nth-child(2)')].map((c) => +c.innerText)"
        given = page.evaluate(values)
        for turn in (sorted(given), sorted(given, reverse=True), given):
            page.evaluate(f"{column}.click()")
            assert page.evaluate(values) == turn
        assert len(set(given)) > 1
        assert page.errors == []


@pytest.mark.chromium
def test_pages_are_dark_where_the_system_is_and_the_report_is_light(report, tmp_path):
    ink = "getComputedStyle(document.querySelector('.onelayer')).color"
    seen = []
    with Page(tmp_path / "profile") as page:
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            page.command("Emulation.setEmulatedMedia", features=[feature])
            for path in (report.parent / "verdicts.html", report):
                page.open(path)
                seen.append(page.evaluate(ink))
    dark, light = "rgb(34, 34, 34)", "rgb(221, 221, 221)"
    assert seen == [dark, dark, light, dark]
