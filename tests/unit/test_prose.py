"""Facts are columns: no code decides by texts that are written for readers."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

SOURCES = sorted((ROOT / "src/onelayer").rglob("*.py"))
# Columns of tables for readers. A setting's or a label's whole name may be a key, a note never is.
PROSE = {"note", "setting", "label", "claim", "place", "start"}
NEVER_A_KEY = {"note"}
# What takes a text apart, or asks what is in it.
MATCHING = {
    *("str", "startswith", "endswith", "removeprefix", "removesuffix", "split", "rsplit"),
    *("splitlines", "partition", "rpartition", "find", "rfind", "index", "count", "lower", "strip"),
}
EXPRESSIONS = {"re", "fnmatch"}


def prose_of(node: ast.AST) -> str:
    """The column whose text an expression is: `note` of `by["note"]["t"]`; empty for none."""
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in parts:
            if isinstance(part, ast.Constant) and part.value in PROSE:
                return str(part.value)
        return prose_of(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr if node.attr in PROSE else prose_of(node.value)
    if isinstance(node, ast.Call):
        asked = isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args
        if asked and isinstance(node.args[0], ast.Constant) and node.args[0].value in PROSE:
            return str(node.args[0].value)
        return prose_of(node.func)
    if isinstance(node, ast.Name):
        return node.id if node.id in NEVER_A_KEY else ""
    return ""


def decides_by_prose(node: ast.AST) -> bool:
    """Whether a node looks for words in such a text, or compares a note."""
    if isinstance(node, ast.Attribute):
        return node.attr in MATCHING and prose_of(node.value) != ""
    if isinstance(node, ast.Compare):
        inside = [
            right
            for operator, right in zip(node.ops, node.comparators, strict=True)
            if isinstance(operator, ast.In | ast.NotIn)
        ]
        compared = [node.left, *node.comparators]
        return any(map(prose_of, inside)) or any(prose_of(n) in NEVER_A_KEY for n in compared)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        module = node.func.value
        searched = isinstance(module, ast.Name) and module.id in EXPRESSIONS
        kept = node.func.attr == "isin" and prose_of(node.func.value) in NEVER_A_KEY
        return kept or (searched and any(map(prose_of, node.args)))
    return False


def decisions(text: str) -> Iterator[tuple[int, str]]:
    """Lines of a program that decide by prose, with the line itself."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if decides_by_prose(node):
            yield node.lineno, lines[node.lineno - 1].strip()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_no_program_decides_by_texts_for_readers(path: Path) -> None:
    assert sorted(set(decisions(path.read_text(encoding="utf-8")))) == []


@pytest.mark.parametrize(
    "line",
    [
        'shown = table[table["note"].str.contains("runs")]',
        'claimed = "no two stages expected" not in row["note"]',
        'pictured = row["setting"].startswith("cross-entropy, SGD")',
        'counted = own["note"].split(" runs")[0]',
        'near = steps["start"].str.startswith("near")',
        'rest = by["note"]["share_in_order"].partition("; ")[2]',
        'meaningless = MEANINGLESS in by.loc[quantity, "note"]',
        'judged = row.note == ""',
        'kept = table[table["note"] != ""]',
        'kept = table[table["note"].isin(NOTES)]',
        'first = table["label"].str.split(" ").str[0]',
        'found = re.search("of (.*)", row["note"])',
        'lost = "diverged" in row.get("note", "")',
        'lost = note.startswith("3 of")',
        'lost = table.set_index("seed")["setting"].loc[3].endswith("noise .01")',
    ],
)
def test_a_program_that_decides_by_prose_is_found(line: str) -> None:
    assert {place for place, _ in decisions(f"x = 1\n{line}\n")} == {2}


@pytest.mark.parametrize(
    "line",
    [
        'row["note"] = f"{lost} of {runs} runs diverged"',
        'rows.append({"note": row["note"], "verdict": "" if lost else "x"})',
        'for (setting, seed), own in table.groupby(["setting", "seed"]): pass',
        'own = table[table["setting"] == LDA]',
        "known = {t.label for t in thresholds if t.label in published}",
        'note = "; ".join(filter(None, [note, missing]))',
        "label = rows.label.expand(3, 1)",
        'name = table["quantity"].str.removesuffix("_share")',
    ],
)
def test_writing_prose_and_whole_keys_are_no_decision(line: str) -> None:
    assert list(decisions(line)) == []
