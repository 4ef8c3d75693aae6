"""Names, paths and texts from elsewhere stay names, paths and texts, wherever they are put."""

import io
import json
import re
import struct
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Template
from markdown_it import MarkdownIt
from matplotlib.figure import Figure

from onelayer.errors import OnelayerError
from onelayer.evidence.figures import house_style, save
from onelayer.evidence.findings import Finding, Remark
from onelayer.evidence.sentences import Places, all_said
from onelayer.evidence.sentences import page as findings_page
from onelayer.evidence.tables import Report, markdown, tidy
from onelayer.evidence.verdicts import Number, judge
from onelayer.fetching.fetch import _extract
from onelayer.papers.scan_snap.figures import attention_maps
from onelayer.papers.topic_structure.wikipedia.figures import word_groups
from onelayer.papers.topic_structure.wikipedia.topic_figures import topics
from onelayer.report import scoreboard
from onelayer.report.overview import overview_page
from onelayer.run.provenance import settings_json
from onelayer.settings.topic_structure import WordGroup
from onelayer.text.models.folder import _check_weights
from tests.conftest import ROOT, snakemake
from tests.faults.generated import GENERATED, Cases
from tests.hub import COMMIT, TOKEN, Hub, become_a_client, serve

HOSTILE = (
    "<script>alert(1)</script> | %50 \\input{/etc/passwd} $\\foo$ ![x](http://a/b) "
    "[y](javascript:z)\n\n# heading\n\n<img src=x onerror=alert(1)> ^^5c ~#&_{}`code` \\| \\](z)"
)
TEXTS = st.text(st.sampled_from("<>|%\\{}$&#_^~`![]()\n\r\t\"' ab/:=-*"), max_size=40)


# The shell.

EXPLOITS = ["x; touch pwned", "$(touch pwned)", "`touch pwned`", "x' || touch pwned '", "--help"]


@pytest.mark.workflow
def test_paths_from_settings_reach_the_shell_as_they_are(fresh: Path) -> None:
    for number, name in enumerate(EXPLOITS):
        (fresh / name).write_text(f"some words {number}")
    corpus = {
        "source": {"paths": EXPLOITS},
        "parse": {"format": "text"},
        "credit": "me; touch pwned $(touch pwned)",
    }
    (fresh / "overlay.yaml").write_text(yaml.safe_dump({"corpora": {"mine": corpus}}))
    articles = "results/corpus/mine/articles.arrow"
    run = snakemake(fresh, "--cores", "1", "--configfile", "overlay.yaml", "--", articles)
    assert run.returncode == 0, run.stdout
    assert (fresh / articles).is_file()
    assert not list(fresh.rglob("pwned"))


@pytest.mark.workflow
def test_a_model_whose_name_is_a_command_is_refused(fresh: Path) -> None:
    model = {"source": "local", "local": {"path": "."}}
    (fresh / "overlay.yaml").write_text(yaml.safe_dump({"models": {EXPLOITS[0]: model}}))
    run = snakemake(fresh, "--dry-run", "--configfile", "overlay.yaml")
    assert run.returncode == 1 and "Traceback" not in run.stdout
    assert "config: models.x; touch pwned: string should match pattern" in run.stdout
    assert not list(fresh.rglob("pwned"))


# Pages, tables and figures.


def written(folder: Path, text: str) -> dict[str, str]:
    """A table of one cell in all its forms; the text is its head, title and note as well."""
    paths = {kind: folder / f"t.{kind}" for kind in ("csv", "md", "tex", "html")}
    table = judge(tidy([{"model": text, "quantity": "r", "value": 1.0, "note": text}], ["model"]),
                  Number())  # fmt: skip
    Report(table, pd.DataFrame({text: [text]}), text, [text]).write(**paths)
    return {kind: path.read_text(encoding="utf-8") for kind, path in paths.items()}


def tags(page: str) -> set[str]:
    return set(re.findall(r"<([a-z0-9]+)", page))


def check_markdown(text: str, rows: int) -> None:
    """One heading, one table of one column with these rows, a list of one; nothing else."""
    shown = MarkdownIt("commonmark").enable("table").render(text)
    table = {"table", "thead", "tbody", "tr", "th", "td"}
    assert tags(shown) <= table | {"h1", "p", "ul", "li", "code", "em", "strong"}
    assert shown.count("<h1>") == 1 and shown.count("<tr>") == rows
    assert shown.count("<th") - shown.count("<thead") == 1


def check_latex(text: str) -> None:
    """No command and no comment that the project does not write itself."""
    bare = re.sub(r"\\[&%$#_{}]|\\text(backslash|asciitilde|asciicircum)\{\}", "", text)
    ours = {
        *("begin", "end", "centering", "caption", "toprule", "midrule", "bottomrule", "par"),
        *("footnotesize", "resizebox", "textwidth", "label"),
    }
    assert set(re.findall(r"\\([a-zA-Z]+)", bare)) <= ours
    assert bare.count("{") == bare.count("}")
    assert "%" not in bare.partition("\n")[2].replace("{%\n", "{\n")
    assert "\n\n" not in text.strip() and "^" not in bare and "$" not in bare


def check_forms(forms: dict[str, str]) -> None:
    check_markdown(forms["md"], 2)
    check_latex(forms["tex"])
    inside = {"meta", "title", "style", "div", "h1", "table", "thead", "tbody", "tr", "th", "td"}
    assert tags(forms["html"]) <= inside | {"ul", "li", "button", "script", "span"}
    assert forms["html"].count("<script>") == 1


def test_a_hostile_text_is_text_in_every_form_of_a_table(tmp_path) -> None:
    forms = written(tmp_path, HOSTILE)
    check_forms(forms)
    assert "&lt;script&gt;alert(1)" in forms["html"]
    assert "&lt;script>alert(1)" in forms["md"]
    assert r"\textbackslash{}input\{/etc/passwd\}" in forms["tex"]


def test_any_text_is_text_in_every_form_of_a_table(tmp_path, request) -> None:
    cases = Cases(request.node)

    @settings(GENERATED, max_examples=40)
    @given(TEXTS.filter(str.strip))
    def tried(text: str) -> None:
        check_forms(written(tmp_path, f"a{text}a"))
        cases.count()

    tried()


NOTHING = pd.DataFrame({"compared with": ["x"]})


def test_a_finding_lets_no_markup_of_a_table_into_the_report() -> None:
    row = {"quantity": "r", "published": 1.0, "note": HOSTILE}
    rows = [row | {"model": "m", "value": 1.0}, row | {"model": "n"}]
    table = judge(tidy(rows, ["model"]), Number())
    said = Remark("one", "a/t", {"model": "m"}, "{it.note} says it.")
    words = {"subject": "it", "does": "is", "does_not": "is not"}
    claim = Finding("two", "c", "1", "published", "a/t", {"model": "n"}, **words)
    assert HOSTILE[:20] in table["note"][1] and table["verdict"][1] == "not run"
    for finding in (said, claim):
        tables = {"a/t": table}
        findings = findings_page(all_said({"Paper": [finding]}, tables), Places(tables))
        shown = overview_page(findings, NOTHING, NOTHING, [])
        assert (
            "<script" not in shown
            and "<img" not in shown
            and "javascript:" not in re.findall(r'href="([^"]*)"', shown)
        )
        assert "&lt;script&gt;alert(1)" in shown
        assert "finding:" not in shown


def test_even_a_page_of_findings_that_holds_markup_lets_none_into_the_report() -> None:
    for text in (f"# Findings\n\n- {HOSTILE}", f"# Findings\n\n## P\n\n- {HOSTILE}"):
        shown = overview_page(text, NOTHING, NOTHING, [])
        assert "<script" not in shown and "onerror=alert(1)>" not in shown


def test_a_claim_lets_no_markup_into_the_scoreboard(tmp_path) -> None:
    words = {"subject": "it", "does": "is", "does_not": "is not"}
    claim = Finding("one", HOSTILE, HOSTILE, "claim", "a/t", {"model": "m"}, **words)
    forms = {form: tmp_path / f"s.{form}" for form in ("csv", "md", "tex", "html")}
    scoreboard.report({"Paper": [claim]}, {}).write(**forms)
    text = {form: path.read_text(encoding="utf-8") for form, path in forms.items()}
    assert "<script" not in text["html"].partition("<script>")[0] and "<img" not in text["html"]
    shown = MarkdownIt("commonmark").enable("table").render(text["md"])
    assert not {"script", "img", "a"} & tags(shown)
    assert "\\input" not in text["tex"]


def test_settings_end_no_script_of_the_report() -> None:
    text = settings_json(note=HOSTILE, path=["</script>"])
    assert "<" not in text
    assert json.loads(text) == {"note": HOSTILE, "path": ["</script>"]}


def test_the_reports_first_page_shows_settings_as_text() -> None:
    template = (ROOT / "workflow/report/workflow.rst").read_text(encoding="utf-8")
    config = {"a": HOSTILE, "b": "\n.. raw:: html\n\n   <script>"}
    shown = Template(template).render(files=[], snakemake=SimpleNamespace(config=config))
    _, _, settings_of_run = shown.partition("**Settings of this run**")
    assert "<" not in settings_of_run
    lines = settings_of_run.partition("::")[2].splitlines()
    assert all(line.startswith("  ") for line in lines if line)


def drawn(figure: Figure) -> list[str]:
    """Every text of a figure, once it has been drawn."""
    with house_style():
        save(figure, io.BytesIO(), io.BytesIO())
    return [text.get_text() for text in figure.findobj(match=lambda a: hasattr(a, "get_text"))]


MATHS = r"a $\foo_$ b"


def test_dollars_of_topics_words_and_tokens_are_no_formulas_in_figures() -> None:
    shown = MATHS.replace("$", r"\$")
    words = pd.DataFrame({"topic": [0], "rank": [1], "word": ["cost"], "prevalence": [1.0]})
    shares = pd.DataFrame({"topic": [0], "label": [MATHS], "share": [1.0]})
    assert shown in drawn(topics(words, shares))
    groups = [
        WordGroup.model_construct(topic=t, words=[word]) for t, word in (("t", MATHS), ("u", "b"))
    ]
    table, vectors = (
        pd.DataFrame({"word": [MATHS, "b"]}),
        {"raw": np.array([[1.0, 0.5], [0.5, 1.0]])},
    )
    assert shown in drawn(word_groups([table], [vectors], ["minilm"], groups))
    one = {"tokens": ["$", r"\foo_", "$"], "maps": [np.eye(3)], "iterations": [0]}
    assert any(r"\$" in text for text in drawn(attention_maps([one], ["sgd"])))


# Archives.


def test_a_wheel_that_would_unpack_without_end_is_refused_before_it_does(tmp_path, little) -> None:
    wheel, target = tmp_path / "a.whl", tmp_path / "out"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model", bytes(1 << 22))
    with pytest.raises(OnelayerError, match=r"model in a\.whl: \d+ bytes would unpack to 4194304"):
        _extract(wheel, {"model": "0" * 64}, {"model": target})
    assert not target.exists()


# Errors, and secrets.


def test_no_error_ends_its_line_or_steers_a_terminal() -> None:
    error = OnelayerError("a\nERROR b\r\x1b[2J\u202e\ud800 größer")
    assert str(error) == "a\\nERROR b\\r\\x1b[2J\\u202e\\ud800 größer"


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_a_token_that_a_hub_sends_back_stands_nowhere(status, fetch, tmp_path, monkeypatch) -> None:
    class Echo(Hub):
        def answer(self, method, path, token):
            seen.append(token)
            said = f"Authorization: Bearer {token}"
            return status, said.encode(), {"X-Error-Message": said}

    seen: list[str] = []
    with serve(Echo()) as hub:
        become_a_client(hub, tmp_path / "home", monkeypatch)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        settings = json.dumps({"hub": {"repository": "tiny/bert", "revision": COMMIT}})
        files = [tmp_path / "model" / name for name in ("config.json", "model.safetensors")]
        run = fetch(
            "fetch_hub_model",
            *("--model", *files, "--settings", settings),
            *("--log", tmp_path / "log.txt", "--record", tmp_path / "record.json"),
        )
    assert run.returncode == 1 and any(TOKEN in str(token) for token in seen)
    everything = run.stdout + run.stderr + (tmp_path / "log.txt").read_text()
    assert TOKEN not in everything and "Bearer" not in everything


def test_a_header_of_weights_is_bounded_before_it_is_read(tmp_path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(struct.pack("<Q", 1 << 40) + b"{}")
    with pytest.raises(OnelayerError, match="header too large"):
        _check_weights(path, "folder x")


def test_markdown_leaves_numbers_and_signs_as_they_are() -> None:
    for text in ("1.55 [1.47, 1.62]", "p + q < 1", "a_b", "x <= 3", "`topics.lda`", "−0.5 ± 0.1"):
        assert markdown(text) == text
