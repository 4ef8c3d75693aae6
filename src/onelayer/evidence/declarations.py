"""Tables and figures that are declared where they are made, at a function of a paper.

`@table(...)` of `onelayer.evidence.tables` and `@figure(...)` of `onelayer.evidence.figures` stand
above the function: what it is called, where it is shown, which outputs of steps and which settings
its parameters are. The workflow makes a rule of each declaration and reads it without importing the
library that the function needs: a declaration is written out in literals. `scripts/make_table.py`
and `scripts/make_figure.py` call the function.
"""

import ast
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.run.provenance import PACKAGE, REPOSITORY

KINDS = ("table", "figure")
FORMS = {
    "table": ("csv", "md", "tex", "html"),
    "figure": ("pdf", "png"),
    "animation": ("gif", "png"),
}
_DECLARED = re.compile(rf"^@({'|'.join(KINDS)})\(", re.MULTILINE)


@dataclass(frozen=True)
class Declaration:
    """What the workflow knows of a table or figure, as written above its function or in a rule.

    Attributes:
        kind: a key of `FORMS`; above a function one of `KINDS`.
        name: `<folder>/<name>`, a folder of `onelayer.report.registry.FOLDERS`; its path below the
            folder of its kind. With wildcards in it there are several.
        section: where the report shows it. What stands before a colon is a part of the paper.
        label: its line in the report.
        reads: for each parameter that a file or a list of files is, which: an output of a step,
            `solve_decision_lists.solved`, in all its wildcards' values; a file below
            `workflow/reference` or `results/tables`, `reference/x.csv`, `tables/paper/x.csv`; or a
            variable of the rules.
        settings: for each other parameter its place in the settings, `decision_lists.shown`, or a
            variable of the rules.
        wildcards: the values of each wildcard in the name, which is a parameter as well: a place
            in the settings.
        made: a variable of the rules; where it is empty, a run of everything leaves this out.
        target: the name by which Snakemake makes it, where it is not the usual one.
        caption: name of the file under `workflow/report/` that describes it, in the same way.
        priority: of jobs that are ready, those of a higher one start first.
        module, function: where it stands.
        purpose: the first line of the function's docstring.
    """

    kind: str
    name: str
    section: str
    label: str
    reads: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    wildcards: Mapping[str, str] = field(default_factory=dict)
    made: str = ""
    target: str = ""
    caption: str = ""
    priority: int = 0
    module: str = ""
    function: str = ""
    purpose: str = ""

    @property
    def step(self) -> str:
        """What its step is called: the script that calls the function, and the function."""
        return f"make_{self.kind}:{self.module}.{self.function}"

    @property
    def folder(self) -> str:
        """Its paper's, or another of `onelayer.report.registry.FOLDERS`."""
        return self.name.partition("/")[0]

    @property
    def groups(self) -> list[str]:
        """Targets that make it together with others: its paper, and its part of the paper."""
        part, colon, _ = self.section.partition(":")
        return [self.folder, f"{self.folder}_{part.lower()}"] if colon else [self.folder]

    @property
    def base(self) -> str:
        """Path without suffix."""
        return f"results/{self.kind}s/{self.name}"

    @property
    def files(self) -> list[str]:
        """Its path in every form; the report shows the last one."""
        return [f"{self.base}.{form}" for form in FORMS[self.kind]]

    @property
    def rule(self) -> str:
        """What its rule is called: its target, without the parts that wildcards stand for."""
        return re.sub(r"_?\{\w+\}", "", self.target or usual_target(self.kind, self.name))

    def matches(self, name: str) -> bool:
        """Whether a result of this name is one of its own, for some values of its wildcards."""
        return bool(re.fullmatch(re.sub(r"\\{\w+\\}", r"\\w+", re.escape(self.name)), name))

    @property
    def place(self) -> str:
        """Where its log, record and benchmark lie: the rule, and a level for each wildcard."""
        return "/".join([self.rule, *(f"{{{name}}}" for name in self.wildcards)])


def usual_target(kind: str, name: str) -> str:
    """The target of a result that names no other: `table_wikipedia_disjoint`."""
    return f"{kind}_{name.partition('/')[2]}"


_SOURCE = ("kind", "module", "function", "purpose")
_WRITTEN = {f.name for f in fields(Declaration)} - set(_SOURCE)
_IN_ORDER = ("name", "section", "label")


def read_declarations(folder: Path = REPOSITORY / "src" / PACKAGE) -> list[Declaration]:
    """Every declaration in a package, by module and line; a paper's claims after its measures.

    Raises:
        OnelayerError: one is not written out in literals, or lacks a part; or two have one rule.
    """
    declarations: list[Declaration] = []
    for path in sorted(folder.rglob("*.py"), key=lambda path: (path.stem == "claims", path)):
        text = path.read_text(encoding="utf-8")
        if _DECLARED.search(text):
            place = path.relative_to(folder.parent).with_suffix("")
            module = ".".join(part for part in place.parts if part != "__init__")
            declarations += _declarations(ast.parse(text, filename=str(path)), module)
    for first, second in itertools.pairwise(sorted(declarations, key=lambda d: d.rule)):
        if first.rule == second.rule and first.name == second.name:
            raise OnelayerError(f"{first.kind} {first.name}: declared twice")
        if first.rule == second.rule:
            raise OnelayerError(f"target {first.rule}: two results have it; name one of them")
    return declarations


def _declarations(tree: ast.Module, module: str) -> Iterator[Declaration]:
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in function.decorator_list:
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in KINDS:
                purpose = (ast.get_docstring(function) or "").partition("\n")[0].rstrip(".")
                source = {"kind": call.func.id, "module": module, "function": function.name}
                literals = _literals(call, f"{module}:{function.name}")
                yield Declaration(**literals, **source, purpose=purpose)


def _literals(call: ast.Call, where: str) -> dict[str, object]:
    given = dict(zip(_IN_ORDER, call.args, strict=False))
    given |= {word.arg: word.value for word in call.keywords if word.arg in _WRITTEN}
    if missing := [name for name in _IN_ORDER if name not in given]:
        raise OnelayerError(f"{where}: its declaration has no {', '.join(missing)}")
    try:
        return {name: ast.literal_eval(value) for name, value in given.items()}
    except ValueError:
        raise OnelayerError(
            f"{where}: name, section, label, reads, settings, wildcards, made, target, caption and "
            "priority of a declaration are written out, in literals"
        ) from None


def keep(function: Callable, reads: Mapping[str, str], made: str = "", **shown: object) -> Callable:
    """Attach to a function what its step needs of its declaration: `reads`, `made`, `shown`."""
    function.reads, function.made, function.shown = dict(reads or {}), made, shown
    return function
