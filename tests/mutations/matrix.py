"""`make kill-matrix`: which tests notice which slips of the modules that judge.

Every comparison, sign, number and condition of a module is changed, one at a time, and all tests
that could notice are run to their end: not whether a slip is noticed, but by whom. Of each test it
says how many slips it notices, and how many that no other does. Slips that none notices come first.

    python -m tests.mutations.matrix [MODULE ...] [--tests FILE ...] [--to CSV]
"""

import argparse
import ast
import copy
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from tests.conftest import ROOT, copy_project
from tests.mutations import PACKAGE
from tests.mutations.__main__ import run_tests, write

MODULES = [f"evidence/{name}.py" for name in ("verdicts", "intervals", "claims", "findings")]
MODULES += ["evidence/tables.py", "evidence/sentences.py", "report/scoreboard.py"]
SECONDS = 300
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[.*)?(?: - .*)?$", re.MULTILINE)
_SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}  # fmt: skip


def slips(text: str) -> Iterator[tuple[str, str]]:
    """Every slip of a module: what it is, in a line, and the whole text with it."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    encoded = text.encode()
    for node in ast.walk(ast.parse(text)):
        slipped = _slipped(node)
        if slipped is None:
            continue
        first = starts[node.lineno - 1] + node.col_offset
        last = starts[node.end_lineno - 1] + node.end_col_offset
        new = ast.unparse(slipped)
        old = encoded[first:last].decode()
        whole = (encoded[:first] + f"({new})".encode() + encoded[last:]).decode()
        yield f"line {node.lineno}: {' '.join(old.split())} -> {new}", whole


def _slipped(node: ast.AST) -> ast.AST | None:
    changed = copy.deepcopy(node)
    match changed:
        case ast.Compare(ops=[operator, *_]) if type(operator) in _SWAPS:
            changed.ops[0] = _SWAPS[type(operator)]()
        case ast.BoolOp(op=operator) | ast.BinOp(op=operator) if type(operator) in _SWAPS:
            changed.op = _SWAPS[type(operator)]()
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return changed.operand
        case ast.IfExp():
            changed.test = ast.UnaryOp(ast.Not(), changed.test)
        case ast.Constant(value=bool(value)):
            changed.value = not value
        case ast.Constant(value=int(value) | float(value)):
            changed.value = value + 1
        case _:
            return None
    return changed


def noticing(tests: list[str], project: Path) -> set[str] | None:
    """Tests that fail, by name without parameters; None where pytest did not come to its end."""
    status, output = run_tests(tests, project, SECONDS, ["-rfE", "--tb=no"])
    ended = status in (0, 1) and not output.startswith("more than")
    return set(_FAILED.findall(output)) if ended else None


def matrix(modules: list[str], tests: list[str], project: Path) -> pd.DataFrame:
    """A row for each slip and test that notices it; one with an empty test where none does."""
    rows = []
    for module in modules:
        path = project / PACKAGE / module
        whole = path.read_text(encoding="utf-8")
        for what, faulty in slips(whole):
            write(path, faulty)
            # A module that cannot be imported, or never ends, is noticed by whoever looks.
            found = noticing(tests, project)
            names = ["all"] if found is None else sorted(found) or [""]
            rows += [{"module": module, "slip": what, "test": name} for name in names]
            print(f"{module} {what}: {len(found) if found is not None else 'all'}", flush=True)
        write(path, whole)
    return pd.DataFrame(rows)


def summary(table: pd.DataFrame, tests: list[str]) -> str:
    """What nobody notices, then each test with what it notices, and what it alone does."""
    noticed = table[~table["test"].isin(["", "all"])]
    by = noticed.groupby(["module", "slip"])["test"].agg(list)
    all_of, alone = Counter(noticed["test"]), Counter(own[0] for own in by if len(own) == 1)
    lines = [f"SURVIVED {row.module} {row.slip}" for row in table[table["test"] == ""].itertuples()]
    lines += [f"{alone[name]:4} alone, {all_of[name]:4} in all: {name}" for name in tests]
    slipped = len(table[["module", "slip"]].drop_duplicates())
    return "\n".join([*lines, f"{slipped} slips, {slipped - (table['test'] == '').sum()} noticed"])


def _names(tests: list[str], project: Path) -> list[str]:
    """Every test of the files, by name without parameters."""
    _, output = run_tests(["--collect-only", *tests], project, SECONDS, [])
    return list(dict.fromkeys(re.findall(r"^(tests/\S+?::\w+)", output, re.MULTILINE)))


def main() -> int:
    """Try all slips, and say who notices; 1 where tests fail without any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="files below src/onelayer")
    parser.add_argument("--tests", nargs="+", help="files of tests; by default those that import")
    parser.add_argument("--to", type=Path, help="a CSV of slips and tests")
    asked = parser.parse_args()
    tests = asked.tests or [
        str(path.relative_to(ROOT))
        for path in sorted(ROOT.glob("tests/unit/test_*.py"))
        if re.search(r"onelayer\.(evidence|report)", path.read_text(encoding="utf-8"))
    ]
    with tempfile.TemporaryDirectory(prefix="onelayer-matrix-") as folder:
        project = copy_project(Path(folder))
        if noticing(tests, project) != set():
            print("without any slip a test fails: nothing can be said")
            return 1
        table = matrix(asked.modules or MODULES, tests, project)
        print(summary(table, _names(tests, project)))
    if asked.to:
        table.to_csv(asked.to, index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
