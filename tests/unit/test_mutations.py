"""Claims about the table of faults: it fits the library and the tests as they are."""

import ast
import functools

from tests.conftest import ROOT
from tests.mutations import Fault
from tests.mutations.table import FAULTS

# What runs Snakemake; a fault is to be noticed within seconds.
WORKFLOW = {"smoke_run", "finished", "fresh", "battered", "unchanged", "lda_missing", "project"}


@functools.cache
def names_in(path: str) -> dict[str, set[str]]:
    """The tests of a file, and what each of them asks for."""
    module = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {
        node.name: {argument.arg for argument in node.args.args}
        for node in module.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def has_a_quick_test(fault: Fault) -> bool:
    """Whether the test that must fail is there and needs no run of the workflow."""
    path, _, name = fault.test.partition("::")
    folders = ("unit", "oracle", "faults", "gpu")
    quick = path.startswith(tuple(f"tests/{folder}/test_" for folder in folders))
    return quick and name in names_in(path) and not names_in(path)[name] & WORKFLOW


def test_every_fault_applies_at_one_place() -> None:
    texts = {fault.path: (ROOT / fault.path).read_text(encoding="utf-8") for fault in FAULTS}
    assert [fault for fault in FAULTS if fault.applied(texts[fault.path]) is None] == []


def test_every_fault_leaves_another_program() -> None:
    texts = {fault.path: (ROOT / fault.path).read_text(encoding="utf-8") for fault in FAULTS}
    programs = {path: ast.dump(ast.parse(text)) for path, text in texts.items()}
    for fault in FAULTS:
        applied = fault.applied(texts[fault.path])
        assert ast.dump(ast.parse(applied)) != programs[fault.path], fault


def test_every_fault_names_a_test_that_runs_no_workflow() -> None:
    assert [fault for fault in FAULTS if not has_a_quick_test(fault)] == []


def test_every_fault_has_a_line_of_its_own() -> None:
    assert len({(fault.module, fault.why) for fault in FAULTS}) == len(FAULTS)
