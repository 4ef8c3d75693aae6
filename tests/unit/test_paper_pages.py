"""Claims about the page of each paper, the docstring of its package: it names what there is."""

import ast
import itertools
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from onelayer.evidence.declarations import Declaration, read_declarations
from onelayer.papers import PAPERS
from onelayer.run.provenance import REPOSITORY, code_closure

STEPS = {path.stem for path in (REPOSITORY / "scripts").glob("*.py")}
STEPS -= {"make_table", "make_figure"}
DECLARED = {
    declaration.caption or declaration.rule: declaration for declaration in read_declarations()
}
# Of all papers together; no page tells them.
RESULTS = {"write_findings", "write_index", "write_crate"}
RESULTS |= {"measure_claims_again", "tabulate_scoreboard", "calibrate_intervals"}
OF_ALL_PAPERS = {"table_stability", "table_scoreboard"}
OF_ALL_PAPERS |= {"table_calibration", "figure_calibration"}
SHARED_CAPTION = {"table_wikipedia": ("table_wikipedia_disjoint", "table_wikipedia_overlapping")}


def captions() -> set[str]:
    stems = [path.stem for path in (REPOSITORY / "workflow/report").glob("*_*.rst")]
    found = {target for stem in stems for target in SHARED_CAPTION.get(stem, (stem,))}
    return found - OF_ALL_PAPERS


def chains(paper: str) -> list[tuple[list[str], list[str], list[str]]]:
    """Modules with their full names, steps and targets: the indented lines below each claim."""
    package = f"onelayer.papers.{paper}"
    lines = import_module(package).__doc__.splitlines()
    found = []
    for indented, block in itertools.groupby(lines, lambda line: line.startswith("    ")):
        if indented:
            first, *rest = " ".join(block).replace(",", " ").split("->")
            modules = [n if n.startswith("onelayer.") else f"{package}.{n}" for n in first.split()]
            names = " ".join(rest).split()
            targets = [n for n in names if n.startswith(("table_", "figure_", "animation_"))]
            found.append((modules, [n for n in names if n not in targets], targets))
    return found


def function_of(target: str) -> Declaration | None:
    """The declaration of a target; of a pattern's for each of its targets."""
    patterns = {name: caption for caption, names in SHARED_CAPTION.items() for name in names}
    return DECLARED.get(patterns.get(target, target))


def targets_of(paper: str) -> set[str]:
    return {target for _, _, targets in chains(paper) for target in targets}


def file_of(name: str) -> str:
    """The file of a module, or of the module that has a function or class of this name."""
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        parent, _, member = name.rpartition(".")
        module = import_module(parent)
        assert hasattr(module, member), name
    return str(Path(module.__file__).relative_to(REPOSITORY))


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_names_modules_steps_and_targets_that_exist(paper) -> None:
    assert chains(paper)
    for modules, steps, targets in chains(paper):
        assert modules and (steps or targets)
        assert all(map(file_of, modules))
        assert set(steps) <= STEPS
        assert set(targets) <= captions()


@pytest.mark.parametrize("paper", PAPERS)
def test_the_steps_and_functions_beside_a_module_import_it(paper) -> None:
    for modules, steps, targets in chains(paper):
        functions = [function_of(target).step for target in targets if function_of(target)]
        imported = {path for step in [*steps, *functions] for path in code_closure(step)}
        files = {name: file_of(name) for name in modules}
        missing = {name for name, path in files.items() if path not in imported}
        assert {name for name in missing if Path(files[name]).stem != "__init__"} == set()


@pytest.mark.parametrize("paper", PAPERS)
def test_every_module_of_a_paper_stands_on_its_page_or_declares_a_result(paper) -> None:
    folder = REPOSITORY / "src/onelayer/papers" / paper
    apart = ("__init__", "findings")  # the page itself, and what came out of all of it
    files = {str(p.relative_to(REPOSITORY)) for p in folder.rglob("*.py") if p.stem not in apart}
    told = {file_of(name) for modules, _, _ in chains(paper) for name in modules}
    assert files <= told | {file_of(declaration.module) for declaration in DECLARED.values()}


def test_no_target_stands_on_two_pages_and_every_step_on_some() -> None:
    pages = Counter(target for paper in PAPERS for target in targets_of(paper))
    assert set(pages) <= captions()
    assert {target for target, count in pages.items() if count > 1} == set()
    told = {step for paper in PAPERS for _, steps, _ in chains(paper) for step in steps}
    assert sorted([*told, *RESULTS]) == sorted(STEPS)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_is_nothing_but_a_docstring(paper) -> None:
    for path in (REPOSITORY / "src/onelayer/papers" / paper).rglob("__init__.py"):
        (only,) = ast.parse(path.read_text(encoding="utf-8")).body
        assert isinstance(only, ast.Expr)
