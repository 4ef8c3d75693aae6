"""Tables and figures that stand at their functions: what is read of them, and how they are made."""

import json
from pathlib import Path

import pandas as pd
import pytest

from onelayer.errors import OnelayerError
from onelayer.evidence.declarations import read_declarations
from onelayer.evidence.tables import VALUE_COLUMNS, Report, reported, tidy
from onelayer.run.provenance import code_closure
from tests.conftest import ROOT, run_step
from tests.faults.conftest import error_line

MODULE = '''"""A module of a paper."""

from pathlib import Path

import pandas as pd

from onelayer.evidence.tables import table


@table(
    "toy/counts",
    "Section",
    "table: counts",
    title="Counts",
    notes=["A note."],
    readable=lambda table: table[["quantity"]],
    reads={{"counted": "count.counts"}},
    {more}
)
def counts(counted: pd.DataFrame) -> pd.DataFrame:
    """Counts of words."""
    return counted
'''


def declared(folder: Path, more: str = ""):
    package = folder / "onelayer"
    (package / "papers").mkdir(parents=True, exist_ok=True)
    (package / "papers/toy.py").write_text(MODULE.format(more=more), encoding="utf-8")
    return read_declarations(package)


def test_a_declaration_is_read_without_importing_its_module(tmp_path):
    [found] = declared(tmp_path, 'settings={"size": "corpora"}, priority=3, made="models",')
    assert (found.kind, found.name, found.section, found.label) == (
        "table",
        "toy/counts",
        "Section",
        "table: counts",
    )
    assert found.reads == {"counted": "count.counts"} and found.settings == {"size": "corpora"}
    assert (found.priority, found.made, found.purpose) == (3, "models", "Counts of words")
    assert found.step == "make_table:onelayer.papers.toy.counts"
    assert found.rule == "table_counts" and found.folder == "toy"


def test_a_rule_is_named_by_the_target_without_its_wildcards():
    by_function = {declaration.function: declaration for declaration in read_declarations()}
    assert by_function["wikipedia"].rule == "table_wikipedia"
    assert by_function["decision_list_claims"].rule == "table_decision_lists_claims"


def test_a_declaration_that_is_not_written_out_is_one_line(tmp_path):
    with pytest.raises(
        OnelayerError, match=r"onelayer\.papers\.toy:counts: name, section, label, reads"
    ):
        declared(tmp_path, "priority=1 + other,")


def test_a_declaration_without_a_label_is_one_line(tmp_path):
    path = tmp_path / "onelayer/toy.py"
    path.parent.mkdir()
    path.write_text('@figure("toy/x", "Section")\ndef x():\n    """A figure."""\n')
    with pytest.raises(OnelayerError, match=r"onelayer\.toy:x: its declaration has no label"):
        read_declarations(path.parent)


def test_functions_of_each_kind_have_one_rule_each():
    found = read_declarations()
    rules = [declaration.rule for declaration in found]
    assert len(set(rules)) == len(rules) > 50
    assert all(declaration.purpose for declaration in found)


def test_a_declared_step_depends_on_its_module_and_on_the_script_that_calls_it():
    closure = code_closure("make_table:onelayer.papers.decision_lists.tables.theorem_1")
    assert {"scripts/make_table.py", "src/onelayer/papers/decision_lists/tables.py"} <= set(closure)
    assert not [path for path in closure if "figures" in path or "topic_structure" in path]


def test_a_report_is_made_of_a_table_and_what_is_declared():
    table = tidy([{"quantity": "x", "value": 1.0}], [])
    shown = {"title": "T", "notes": ["n"], "readable": lambda table: table[["value"]]}
    made = reported(table, **shown)
    assert made.title == "T" and made.shown.columns.tolist() == ["value"]
    finished = Report(table, table, "own", [])
    assert reported(finished, **shown) is finished
    with pytest.raises(OnelayerError, match=r"^T: a table without the columns quantity; .*tidy"):
        reported(table.drop(columns="quantity"), **shown)


def make(tmp_path: Path, function: str, *words: object, **settings: object):
    files = {f"--{name}": tmp_path / name for name in ("record", "log")}
    given = [word for pair in files.items() for word in pair]
    told = ["--settings", json.dumps(settings)]
    return run_step(ROOT, "make_table", function, *words, *told, *given)


def test_a_declared_table_is_made_by_hand_as_by_the_workflow(tmp_path):
    solved = tmp_path / "solved.parquet"
    numbers = dict.fromkeys(
        ("t_star", "gamma", "bound", "t_star_to_bound_ratio", "t_star_gamma_log_l", "order"), 0.5
    )
    sizes = {"L": 12, "n": 4, "m": 3, "shortest": 3, "delta": 1.0}
    pd.DataFrame([sizes | numbers]).to_parquet(solved)
    tables = [tmp_path / f"theorem_1.{form}" for form in ("csv", "md", "tex", "html")]
    function = "onelayer.papers.decision_lists.tables.theorem_1"
    run = make(tmp_path, function, "--solved", solved, "--tables", *tables)
    assert run.returncode == 0, run.stderr
    assert set(VALUE_COLUMNS) <= set(pd.read_csv(tables[0]))
    assert tables[1].read_text("utf-8").startswith("# Decision lists, Theorem 1")
    assert json.loads((tmp_path / "record").read_text())["step"] == f"make_table:{function}"


@pytest.mark.parametrize(
    "function",
    [
        "",
        "os.path.join",
        "onelayer.papers.nothing.here",
        "onelayer.nothing.at.all",
        "onelayer.evidence.tables.number",
        "onelayer.evidence.tables.nothing",
    ],
)
def test_what_is_no_declared_function_is_one_line(tmp_path, function):
    run = make(tmp_path, function)
    assert run.returncode == 1
    assert f"the first word names a declared function, found {function!r}" in run.stderr


def test_a_result_of_which_these_settings_have_nothing_is_one_line(tmp_path):
    function = "onelayer.papers.topic_structure.wikipedia.over_tokens.topic_structure_over_tokens"
    run = make(tmp_path, function, "--measures", "--tables", tmp_path / "x.csv", models=[])
    assert run.returncode == 1 and "Traceback" not in run.stderr
    assert run.stderr.strip().endswith("no measures with these settings: nothing to show")
    assert not (tmp_path / "x.csv").exists()


def test_settings_that_a_function_does_not_ask_for_are_one_line(tmp_path):
    solved = tmp_path / "solved.parquet"
    solved.write_text("")
    function = "onelayer.papers.decision_lists.tables.theorem_1"
    words = ["--solved", solved, "--tables", tmp_path / "x.csv"]
    run = make(tmp_path, function, *words, size=3)
    assert run.returncode == 1 and "unknown key 'size'" in error_line(run)
