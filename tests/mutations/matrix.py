"""`make kill-matrix`: which tests notice which slips of the modules that judge.

Every comparison, sign, number and condition of a module is changed, one at a time, and so is what
the table of faults changes there. Of each slip the tests that come past it are run until some have
noticed it, those of quick files first: not whether it is noticed, but by whom. Slips that none
notices come first, then what each test notices, alone and of all that were tried with it, and at
last the tests whose slips are all noticed by others that stay.

A slip within a function is made in a fork of a process that has collected the tests, by giving the
function other code; any other in a copy of the module.
"""

import argparse
import ast
import copy
import gc
import inspect
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple, TextIO

import pandas as pd
import pytest

from tests.conftest import ROOT
from tests.mutations import PACKAGE
from tests.mutations.table import FAULTS
from tests.mutations.trials import in_copies, run_tests, wait_for, write

MODULES = [f"evidence/{name}.py" for name in ("verdicts", "intervals", "claims", "findings")]
MODULES += ["evidence/tables.py", "evidence/sentences.py", "report/scoreboard.py"]
SECONDS = 300  # for all tests of a slip
WITHOUT_WORDS = ("--tb=no", "--assert=plain")  # to explain why a test fails takes long
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[.*)?(?: - .*)?$", re.MULTILINE)
_SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}  # fmt: skip

_OPPOSITES = {"max": "min", "min": "max", "any": "all", "all": "any"}


class Slip(NamedTuple):
    """A module with one thing changed, and the lines by which tests come past it."""

    module: str
    what: str
    lines: range
    whole: str
    text: str

    @property
    def within_functions(self) -> bool:
        """Whether all that differs is the code of functions that their names tell apart."""
        names = [name for name, _ in _codes(compile(self.text, "", "exec"))]
        return len({*names}) == len(names) and _outline(self.whole) == _outline(self.text)


def slips(module: str) -> Iterator[Slip]:
    """Every slip of a module."""
    text = (ROOT / PACKAGE / module).read_text(encoding="utf-8")
    for fault in FAULTS:
        if fault.module == module:
            before = text[: text.index(fault.old)].count("\n") + 1
            lines = range(before, before + fault.old.count("\n") + 1)
            yield Slip(module, fault.why, lines, text, text.replace(fault.old, fault.new))
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    encoded = text.encode()
    for node, lines in _with_lines(ast.parse(text), range(0)):
        if (slipped := _slipped(node)) is not None:
            first = starts[node.lineno - 1] + node.col_offset
            last = starts[node.end_lineno - 1] + node.end_col_offset
            new, old = ast.unparse(slipped), encoded[first:last].decode()
            whole = (encoded[:first] + f"({new})".encode() + encoded[last:]).decode()
            what = f"{node.lineno}:{node.col_offset}: {' '.join(old.split())} -> {new}"
            yield Slip(module, what, lines, text, whole)


def _with_lines(node: ast.AST, lines: range) -> Iterator[tuple[ast.AST, range]]:
    """All below a node, each with the lines of its statement, without the statements in that."""
    for child in ast.iter_child_nodes(node):
        own = lines
        if isinstance(child, ast.stmt):
            body = getattr(child, "body", None)
            own = range(child.lineno, (body[0].lineno if body else child.end_lineno) + 1)
        yield child, own
        yield from _with_lines(child, own)


def _slipped(node: ast.AST) -> ast.AST | None:
    changed = copy.deepcopy(node)
    match changed:
        case ast.Compare(ops=[operator, *_]) if type(operator) in _SWAPS:
            changed.ops[0] = _SWAPS[type(operator)]()
        case ast.BoolOp(op=operator) | ast.BinOp(op=operator) if type(operator) in _SWAPS:
            changed.op = _SWAPS[type(operator)]()
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return changed.operand
        case ast.Call(func=ast.Name(id=name)) if name in _OPPOSITES:
            changed.func.id = _OPPOSITES[name]
        case ast.IfExp():
            changed.test = ast.UnaryOp(ast.Not(), changed.test)
        case ast.Constant(value=bool(value)):
            changed.value = not value
        case ast.Constant(value=int(value) | float(value)):
            changed.value = value + 1
        case _:
            return None
    return changed


def _outline(text: str) -> str:
    """A module without the bodies of its functions."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = []
    return ast.dump(tree)


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    """All functions of a module, with those of classes and of functions, by their names."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & inspect.CO_OPTIMIZED and not inner.co_name.startswith("<"):
                yield inner.co_qualname, inner
            yield from _codes(inner)


class Matrix:
    """A plugin of pytest that makes the slips instead of running the tests once.

    Attributes:
        failed: tests that have failed in this process, by name without parameters.
        now: the test that is running, or its file while something that it shares is set up.
    """

    def __init__(
        self,
        project: Path,
        tried: list[Slip],
        asked: argparse.Namespace,
        to: Path,
        screen: TextIO,
    ) -> None:
        self.project, self.tried, self.asked = project, tried, asked
        self.to, self.screen = to, screen
        self.failed: set[str] = set()
        self.now = ""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef) -> Iterator[None]:
        """What several tests share is run by the first of them for all of its file."""
        test = self.now
        if fixturedef.scope != "function":
            self.now = test.partition("::")[0]
        yield
        self.now = test

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(test_of(report))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        passing = _end(_begin(lambda: self._trace(session.items)), 3600)
        assert passing is not None, "the tests do not end"
        assert not passing["failed"], passing["failed"]
        files = {str(self.project / PACKAGE / slip.module) for slip in self.tried}
        functions = [one for one in gc.get_objects() if isinstance(one, FunctionType)]
        functions = [one for one in functions if one.__code__.co_filename in files]
        gc.collect()
        gc.freeze()  # after which nothing is found among objects
        quick = _quick_files_first(session.items, passing["tests"])
        shares = range(self.asked.processes)
        trying = partial(self._try, functions, quick, passing["lines"])
        begun = [_begin(partial(trying, share)) for share in shares]
        ended = [_end(one, 24 * 3600) for one in begun]
        assert None not in ended, "some slips were not tried to the end"
        noticed = [one for some in ended for one in some]
        self.to.write_text(json.dumps(passing | {"noticed": noticed}), encoding="utf-8")
        return True

    def _try(
        self,
        functions: list[FunctionType],
        items: list[pytest.Item],
        lines: list[tuple[str, int, list[str]]],
        share: int,
    ) -> list[tuple[int, list[str] | None]]:
        """By place, who notices the slips within functions that are one process's."""
        noticed = []
        for place, slip in list(enumerate(self.tried))[share :: self.asked.processes]:
            if slip.within_functions:
                names = {*past(slip, lines)}
                passing = [one for one in items if test_of(one) in names]
                trial = partial(self._slipped, slip, functions, passing)
                found = _end(_begin(trial), SECONDS)
                noticed.append((place, found))
                print(_line(slip, found, names), file=self.screen, flush=True)
        return noticed

    def _trace(self, items: list[pytest.Item]) -> dict[str, Any]:
        """Run all tests; which lines of the modules each comes past, and how long it takes."""
        modules = {str(self.project / PACKAGE / slip.module): slip.module for slip in self.tried}
        lines: dict[tuple[str, int], set[str]] = defaultdict(set)
        seconds: Counter[str] = Counter()

        def see(frame: FrameType, event: str, _: object) -> Callable | None:
            module = modules.get(frame.f_code.co_filename)
            if module and event in ("call", "line"):
                lines[module, frame.f_lineno].add(self.now)
            return see if module else None

        for place, item in enumerate(items):
            self.now, start = test_of(item), time.process_time()
            sys.settrace(see)
            run(item, items[place + 1 :])
            sys.settrace(None)
            seconds[test_of(item)] += time.process_time() - start
        quick = {name: took for name, took in seconds.items() if took <= self.asked.slowest}
        found = [
            (*line, [name for name in quick if {name, name.partition("::")[0]} & names])
            for line, names in lines.items()
        ]
        return {"lines": found, "failed": sorted(self.failed), "tests": quick}

    def _slipped(
        self, slip: Slip, functions: list[FunctionType], items: list[pytest.Item]
    ) -> list[str]:
        """Tests that fail with the slip, until there are enough."""
        file = str(self.project / PACKAGE / slip.module)
        new = dict(_codes(compile(slip.text, file, "exec")))
        for function in functions:
            code = function.__code__
            if code.co_filename == file and code.co_qualname in new:
                function.__code__ = new[code.co_qualname]
        for place, item in enumerate(items):
            run(item, items[place + 1 :])
            if len(self.failed) == self.asked.enough:
                break
        return sorted(self.failed)


def test_of(ran: pytest.Item | pytest.TestReport) -> str:
    """The test, by name without parameters."""
    return ran.nodeid.partition("[")[0]


def run(item: pytest.Item, others: list[pytest.Item]) -> None:
    """Run a test before others."""
    following = others[0] if others else None
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _quick_files_first(items: list[pytest.Item], seconds: dict[str, float]) -> list[pytest.Item]:
    """Tests file by file, as they share what they set up; seconds are by test."""
    of_file: Counter[str] = Counter()
    for name, took in seconds.items():
        of_file[name.partition("::")[0]] += took
    return sorted(items, key=lambda one: of_file[test_of(one).partition("::")[0]])


def past(slip: Slip, lines: list[tuple[str, int, list[str]]]) -> list[str]:
    """Tests that come past a slip; past anything of the module where it is outside functions."""
    anywhere = not slip.within_functions
    names = [
        n for module, line, n in lines if module == slip.module and (anywhere or line in slip.lines)
    ]
    return list(dict.fromkeys(name for some in names for name in some))


def _begin(work: Callable[[], Any]) -> tuple[int, TextIO]:
    """A process of its own for some work, and where what comes of it will stand."""
    result = tempfile.TemporaryFile("w+")  # noqa: SIM115
    if not (process := os.fork()):
        status = 1
        try:
            json.dump(work(), result)
            result.flush()
            status = 0
        finally:
            os._exit(status)
    return process, result


def _end(begun: tuple[int, TextIO], seconds: float) -> Any:
    """What came of work; None where it does not end in time."""
    process, result = begun
    with result:
        status = wait_for(process, seconds)
        result.seek(0)
        return json.load(result) if status == 0 else None


def _line(slip: Slip, found: list[str] | None, names: Collection[str]) -> str:
    noticing = "all" if found is None else len(found)
    return f"{slip.module} {slip.what}: {noticing} of {len(names)}"


def matrix(project: Path, asked: argparse.Namespace) -> tuple[pd.DataFrame, list[str]]:
    """A row for each slip and test that noticed it, an empty test where none does; all tests.

    Raises:
        AssertionError: a test fails without any slip.
    """
    tried = [slip for module in asked.modules for slip in slips(module)]
    result = project / "matrix.json"
    with os.fdopen(os.dup(1), "w") as screen:
        plugin = Matrix(project, tried, asked, result, screen)
        options = ["-m", "not workflow", "--capture=no", *WITHOUT_WORDS]
        _, output = run_tests(asked.tests, project, 24 * 3600, options, [plugin])
    assert result.exists(), output
    found = json.loads(result.read_text(encoding="utf-8"))
    noticed = dict(found["noticed"])
    for place, slip in enumerate(tried):
        if place not in noticed:
            path, names = project / PACKAGE / slip.module, past(slip, found["lines"])
            write(path, slip.text)
            options = ["-rfE", f"--maxfail={asked.enough}", *WITHOUT_WORDS]
            status, output = run_tests(names, project, SECONDS, options)
            write(path, slip.whole)
            # A module that cannot be imported, or never ends, is noticed by whoever looks.
            noticed[place] = sorted({*_FAILED.findall(output)}) if status in (0, 1) else None
            print(_line(slip, noticed[place], names), flush=True)
    rows = [
        {"module": slip.module, "slip": slip.what, "test": name}
        for place, slip in enumerate(tried)
        for name in (["all"] if noticed[place] is None else noticed[place] or [""])
    ]
    return pd.DataFrame(rows), [*found["tests"]]


def summary(table: pd.DataFrame, tests: list[str]) -> str:
    """What nobody notices, each test with what it noticed alone and at all, and who could go."""
    noticed = table[~table["test"].isin(["", "all"])]
    by = noticed.groupby(["module", "slip"])["test"].agg(set)
    all_of = Counter(noticed["test"])
    alone = Counter(name for names in by if len(names) == 1 for name in names)
    lines = [f"SURVIVED {row.module} {row.slip}" for row in table[table["test"] == ""].itertuples()]
    lines += [f"{alone[name]:4} alone, {all_of[name]:4} in all: {name}" for name in tests]
    staying = set(tests)
    for name in sorted(tests, key=lambda name: all_of[name]):
        if all(len(names & staying) > 1 for names in by if name in names):
            staying.remove(name)
            lines.append(f"others notice all that it does: {name}")
    slipped = len(table[["module", "slip"]].drop_duplicates())
    return "\n".join([*lines, f"{slipped} slips, {slipped - (table['test'] == '').sum()} noticed"])


def importing() -> list[str]:
    """Files of tests that import the packages of the modules."""
    return [
        str(path.relative_to(ROOT))
        for folder in ("unit", "oracle")
        for path in sorted(ROOT.glob(f"tests/{folder}/test_*.py"))
        if re.search(r"onelayer\.(evidence|report)", path.read_text(encoding="utf-8"))
    ]


def main() -> None:
    """Try all slips, and say who notices."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES, help="files below src/onelayer")
    parser.add_argument("--tests", nargs="+", default=importing(), help="files of tests")
    parser.add_argument(
        "--slowest", type=float, default=2.0, help="seconds of a test; others stay out"
    )
    parser.add_argument(
        "--enough", type=int, default=3, help="tests that have noticed a slip; no more are tried"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="slips at a time")
    parser.add_argument("--to", type=Path, default=ROOT / "build/kill-matrix.csv")
    asked = parser.parse_args()
    [(table, tests)] = in_copies(matrix, [asked], 1)
    print(summary(table, tests))
    asked.to.parent.mkdir(exist_ok=True)
    table.to_csv(asked.to, index=False)


if __name__ == "__main__":
    main()
