"""Pages that follow from the code: figures, papers, settings, public functions.

They are made when the site is built: from what the workflow and its rules, functions and findings
declare, what came out of the reference run, the settings' schema, and docstrings.
"""

import ast
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import onelayer
from onelayer.evidence.declarations import Declaration, read_declarations
from onelayer.evidence.findings import BEYOND
from onelayer.papers import PAPERS
from onelayer.papers.findings import CLAIMS
from onelayer.report.registry import FOLDERS

LONGEST = 40  # letters of a default that a table shows


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, and the pictures of the gallery."""
    root = Path(config.config_file_path).parent
    pictures = Pictures(root, root / config.extra["results"])
    declared = json.loads(_run(root, "docs/generate/declared.py"))
    drawn = [result for result in declared if result["kind"] != "table"]
    pages = {"figures.md": figures(drawn, root / "workflow/report", pictures)}
    rules = read_rules(root)
    findings = (root / "docs/reference/findings.md").read_text(encoding="utf-8")
    for paper, title in PAPERS.items():
        said = said_of(title, findings)
        pages[f"papers/{paper}.md"] = paper_page(paper, said, declared, pictures, rules, root)
    schema = json.loads((root / "workflow/schemas/config.schema.json").read_text(encoding="utf-8"))
    default = yaml.safe_load((root / "config.yaml").read_text(encoding="utf-8"))
    pages["settings.md"] = settings(schema, default)
    pages["api.md"] = api()
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    for name, path in pictures.shown.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def _run(root: Path, *words: str) -> str:
    run = subprocess.run(
        [sys.executable, *words], cwd=root, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise RuntimeError(f"{' '.join(words)}: {run.stderr}")
    return run.stdout


# Figures.


class Pictures:
    """Where the picture of a figure is: in a run, or else in the reference run.

    Args:
        root: the repository.
        results: folder `results` of a run, which need not be there.
    """

    def __init__(self, root: Path, results: Path) -> None:
        self.results, self.reference = results, root / "docs/reference"
        self.shown: dict[str, Path] = {}

    def of(self, result: Mapping[str, str]) -> str | None:
        """Path of a picture on the site; None where nobody has drawn it."""
        suffix = "gif" if result["kind"] == "animation" else "png"
        name = f"{result['name']}.{suffix}"
        if (drawn := self.results / f"{result['kind']}s" / name).is_file():
            self.shown[f"pictures/{name}"] = drawn
            return f"pictures/{name}"
        kept = self.reference / "figures" / name
        return f"reference/figures/{name}" if kept.is_file() else None


def figures(drawn: Iterable[Mapping[str, str]], captions: Path, pictures: Pictures) -> str:
    """The gallery: every figure with its caption, its picture and the command that makes it.

    Args:
        drawn: figures and animations as the workflow declares them.
        captions: folder of the captions.
        pictures: where they are.
    """
    text = ["# Figures", ""]
    text += [
        "Every figure of the workflow. The command below a figure draws it again, with all that it "
        "needs, in `results/figures/`; `make docs` then shows it here.",
        "",
    ]
    by_folder = sorted(drawn, key=lambda result: list(FOLDERS).index(result["folder"]))
    for folder, group in groupby(by_folder, key=lambda result: result["folder"]):
        text += [f"## {FOLDERS[folder]}", ""]
        for result in group:
            caption = (captions / f"{result['caption']}.rst").read_text(encoding="utf-8")
            title = result["label"].partition(": ")[2]
            title = f"{title[:1].upper()}{title[1:]}"
            text += [f"### {title} {{ #{result['target']} }}", ""]
            if picture := pictures.of(result):
                text += [f"![{title}]({picture})", ""]
            else:
                text += ["*No run here has drawn it.*", ""]
            text += [plain(caption), ""]
            text += ["```console", f"$ snakemake --cores all {result['target']}", "```", ""]
    return "\n".join(text)


def _place_of(result: Mapping[str, str], root: Path) -> str:
    """Where a paper's page sends readers for a result; of a new table, to how it is made."""
    if result["kind"] == "table":
        table = f"reference/tables/{result['name']}.csv"
        kept = (root / "docs" / table).is_file()
        return f"../{table}" if kept else "../targets.md"
    return f"../figures.md#{result['target']}"


# Papers.


def read_rules(root: Path) -> dict[str, set[str]]:
    """The rules that each rule reads outputs of, by default and at the paper's scale together."""
    graph: dict[str, set[str]] = {}
    for overlays in ([], ["--configfile", str(root / "config/paper.yaml")]):
        with tempfile.TemporaryDirectory() as folder:
            words = ["snakemake", "-s", "Snakefile", "--directory", folder, "--rulegraph"]
            drawn = _run(root, "-m", *words, "--forceall", *overlays, "--", "all")
        names = dict(re.findall(r'^\s*(\d+)\[label = "(\w+)"', drawn, re.M))
        graph |= {name: graph.get(name, set()) for name in names.values()}
        for of, to in re.findall(r"^\s*(\d+) -> (\d+)$", drawn, re.M):
            graph[names[to]].add(names[of])
    return graph


def paper_page(
    paper: str,
    findings: str,
    declared: Iterable[Mapping[str, str]],
    pictures: Pictures,
    rules: Mapping[str, set[str]],
    root: Path,
) -> str:
    """A paper's claims, its results and the steps behind them, and what came out.

    Args:
        paper: its package.
        findings: its part of `docs/reference/findings.md`.
        declared: tables and figures of all papers, as the workflow declares them.
        pictures: where those of figures are.
        rules: see `read_rules`.
        root: the repository.
    """
    title, *own = import_module(f"onelayer.papers.{paper}").__doc__.strip().split("\n\n")
    places = {result["target"]: _place_of(result, root) for result in declared}
    text = [f"# {plain(title.rstrip('.'))}", "", *(plain(part) for part in own), ""]
    text += ["## What came out", "", findings, "", "## Claims", ""]
    text += [
        "What the paper says and where, and the table that has the row by which it is decided. "
        "Below: the function that makes each table and figure, the steps that it reads, each a "
        "script and a rule of its name, and what these call. Modules are those of "
        f"`onelayer.papers.{paper}` where they do not begin with `onelayer`.",
        "",
        *_claims(
            paper,
            {one["name"]: places[one["target"]] for one in declared if one["kind"] == "table"},
        ),
        "## Tables and figures",
        "",
    ]
    behind = {step for step in rules if _calls_paper(step, paper, root)}
    for result in declared:
        if result["folder"] == paper:
            of = [one for one in _declarations() if _declares(one, result)]
            steps = steps_before(of[0].rule if of else result["rule"], rules)
            behind |= {*steps}
            text += [*_result(result, places[result["target"]], of, steps), ""]
            if picture := result["kind"] != "table" and pictures.of(result):
                shown = f"![{result['target']}](../{picture}){{ width=360 }}"
                text += [f"[{shown}]({places[result['target']]})", ""]
    text += ["## Steps", "", *_steps(behind, rules, root, paper), ""]
    return "\n".join([*text, "## Modules", "", *_modules(root / "src/onelayer/papers" / paper), ""])


@cache
def _declarations() -> list[Declaration]:
    return read_declarations()


def _declares(declaration: Declaration, result: Mapping[str, str]) -> bool:
    return declaration.kind == result["kind"] and declaration.matches(result["name"])


def _result(
    result: Mapping[str, str], place: str, of: list[Declaration], steps: Iterable[str]
) -> list[str]:
    """What a table or figure shows, the function that makes it if one does, and of what steps."""
    text = [f"### {result['target']} {{ #{result['target']} }}", ""]
    text += [f"{plain(of[0].purpose)}." if of else plain(result["label"].partition(": ")[2]), ""]
    text += [f"- [the {result['kind']}]({place})"]
    text += [
        f"- function: `{_short(f'{one.module}.{one.function}', result['folder'])}`" for one in of
    ]
    return [*text, f"- steps: {_names(steps) or 'none'}"]


def _short(name: str, paper: str) -> str:
    """A module's or function's name as on the page of a paper."""
    return name.removeprefix(f"onelayer.papers.{paper}.")


def _claims(paper: str, places: Mapping[str, str]) -> Iterator[str]:
    """Claims by where they stand in the paper, each once, with the tables that decide it.

    Where readers are sent for a table is by its name.
    """
    by_place: dict[str, dict[str, set[str]]] = {}
    for claim in CLAIMS[PAPERS[paper]]:
        by_place.setdefault(claim.place, {}).setdefault(claim.claim, set()).add(claim.table)
    for place, claims in sorted(by_place.items(), key=lambda one: one[0] == BEYOND):
        yield from (f"### {plain(place[:1].upper() + place[1:])}", "")
        links = {
            claim: ", ".join(f"[{name}]({places[name]})" for name in sorted(tables))
            for claim, tables in claims.items()
        }
        alike = len(links) > 1 and len({*links.values()}) == 1
        if alike:
            yield from (f"All in {next(iter(links.values()))}:", "")
        for claim, link in links.items():
            yield f"- {plain(claim)}" + ("" if alike else f" ({link})")
        yield ""


def steps_before(rule: str, rules: Mapping[str, set[str]]) -> list[str]:
    """The steps whose outputs a rule reads, itself or through tables and figures; itself if one."""
    if rule not in {declaration.rule for declaration in _declarations()}:
        return [rule]
    return sorted({step for name in rules.get(rule, ()) for step in steps_before(name, rules)})


def _steps(
    steps: Iterable[str], rules: Mapping[str, set[str]], root: Path, paper: str
) -> Iterator[str]:
    """A table of some steps and of all behind them: what each does, calls and reads."""
    behind: dict[str, set[str]] = {}
    waiting = [*steps]
    while waiting:
        if (step := waiting.pop()) not in behind:
            read = {before for name in rules[step] for before in steps_before(name, rules)}
            behind[step] = read
            waiting += read
    yield "| step | what it does | calls | reads what these make |"
    yield "|---|---|---|---|"
    for step, read in sorted(behind.items()):
        script = _script(step, root)
        called = _names(_short(module, paper) for module in _called(script, root / "src"))
        yield f"| `{step}` | {plain(_first_line(script))} | {called} | {_names(sorted(read))} |"


def _script(step: str, root: Path) -> ast.Module:
    return ast.parse((root / f"scripts/{step}.py").read_text(encoding="utf-8"))


def _calls_paper(step: str, paper: str, root: Path) -> bool:
    """Whether a rule is a step that calls a paper's modules."""
    package = f"onelayer.papers.{paper}"
    is_step = (root / f"scripts/{step}.py").is_file()
    return is_step and any(
        module.startswith(package) for module in _called(_script(step, root), root / "src")
    )


def _called(script: ast.Module, source: Path) -> Iterator[str]:
    """Modules that a script imports, but for what scripts have in common."""
    common = ("onelayer.run", "onelayer.settings", "onelayer.errors", "onelayer.compute.execution")
    for node in script.body:
        name = node.module if isinstance(node, ast.ImportFrom) else ""
        if name.startswith("onelayer.") and not name.startswith(common):
            inside = [f"{name}.{one.name}" for one in node.names]
            modules = [one for one in inside if (source / f"{one.replace('.', '/')}.py").is_file()]
            yield from modules or [name]


def _modules(package: Path) -> Iterator[str]:
    """A table of a paper's modules: what each holds."""
    yield from ("| module | what it holds |", "|---|---|")
    for path in sorted(package.rglob("*.py")):
        if path.stem != "__init__":
            name = ".".join(path.relative_to(package).with_suffix("").parts)
            yield f"| `{name}` | {plain(_first_line(ast.parse(path.read_text('utf-8'))))} |"


def _first_line(module: ast.Module) -> str:
    return (ast.get_docstring(module) or "").partition("\n")[0].rstrip(".")


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def said_of(title: str, findings: str) -> str:
    """A paper's part of the findings of the reference run, with links from its own page."""
    lines = []
    for section in re.split(r"^## ", findings, flags=re.M)[1:]:
        name = section.partition("\n")[0]
        part = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^### |\Z)", section, re.M | re.S)
        lines += [f"### {name}\n\n{part[1].strip()}\n"] if part else []
    return re.sub(r"\]\((beside|tables|figures)/", r"](../reference/\1/", "\n".join(lines).strip())


# Settings.


def settings(schema: Mapping[str, Any], default: Mapping[str, Any]) -> str:
    """Every key of the settings with its meaning, what is allowed and the default.

    Args:
        schema: the JSON schema of the settings.
        default: what `config.yaml` says.
    """
    text = ["# Settings", ""]
    text += [
        "Every key of `config.yaml` and of overlays, from the schema that checks them. A default "
        "is what `config.yaml` says, or else what the key is when it is left out. `<name>` is a "
        "name of your own, `[]` an entry of a list. [Other settings](overlays.md) tells how to "
        "change them.",
        "",
    ]
    for key, block in schema["properties"].items():
        text += [f"## {key}", "", plain(_described(block, schema)), ""]
        text += ["| key | meaning | allowed | default |", "|---|---|---|---|"]
        rows: dict[str, list[Mapping[str, Any]]] = {}
        for path, entry in _leaves(block, schema, key):
            rows.setdefault(path, []).append(entry)
        for path, entries in rows.items():
            meaning = " ".join(dict.fromkeys(_described(entry, schema) for entry in entries))
            allowed = " or ".join(dict.fromkeys(_allowed(entry, schema) for entry in entries))
            shown = _default(path, entries[0], default)
            text.append(f"| `{path}` | {plain(meaning)} | {allowed} | {shown} |")
        text.append("")
    return "\n".join(text)


def _resolved(entry: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """An entry with what it refers to; its own words come first."""
    own = dict(entry)
    name = own.pop("$ref", "").rpartition("/")[2]
    return {**schema["$defs"][name], **own} if name else own


def _described(entry: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    return " ".join(_resolved(entry, schema).get("description", "").split())


def _leaves(
    entry: Mapping[str, Any], schema: Mapping[str, Any], path: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every key at or below an entry that takes a value, by its path; once for each choice."""
    whole = _resolved(entry, schema)
    choices = whole.get("anyOf", whole.get("oneOf", ()))
    below = [(f"{path}.{key}", value) for key, value in whole.get("properties", {}).items()]
    for named in (*whole.get("patternProperties", {}).values(), whole.get("additionalProperties")):
        below += [(f"{path}.<name>", named)] if _has_keys(named, schema) else []
    below += [(f"{path}[]", whole["items"])] if _has_keys(whole.get("items"), schema) else []
    below += [(path, choice) for choice in choices if _has_keys(choice, schema)]
    if not below or any(not _has_keys(choice, schema) for choice in choices):
        yield path, whole
    for place, value in below:
        yield from _leaves(value, schema, place)


def _has_keys(entry: object, schema: Mapping[str, Any]) -> bool:
    whole = _resolved(entry, schema) if isinstance(entry, Mapping) else {}
    choices = whole.get("anyOf", whole.get("oneOf", ()))
    return "properties" in whole or any(_has_keys(choice, schema) for choice in choices)


def _allowed(entry: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """What a value may be, in words."""
    whole = _resolved(entry, schema)
    if "const" in whole:
        return f"`{json.dumps(whole['const'])}`"
    if "enum" in whole:
        return ", ".join(f"`{value}`" for value in whole["enum"])
    if choices := whole.get("anyOf", whole.get("oneOf")):
        return " or ".join(dict.fromkeys(_allowed(choice, schema) for choice in choices))
    kind = whole.get("type", "any")
    if kind == "array":
        several = whole.get("prefixItems")
        inner = [_allowed(one, schema) for one in several or [whole.get("items", {})]]
        return f"list of {', '.join(dict.fromkeys(inner))}"
    if kind == "object":
        return "keys below" if "properties" in whole else "names and values"
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {whole[key]}" for key, sign in signs.items() if key in whole]
    return ", ".join([kind, *bounds])


def _default(path: str, entry: Mapping[str, Any], default: Mapping[str, Any]) -> str:
    found: Any = default
    for key in path.split("."):
        if not isinstance(found, Mapping) or key not in found:
            found = entry.get("default", "")
            break
        found = found[key]
    if found == "" or isinstance(found, Mapping):
        return ""
    text = json.dumps(found, ensure_ascii=False).replace("|", "\\|")
    return f"`{text}`" if len(text) <= LONGEST else f"`{text[: LONGEST - 1]}…`"


# Public functions.


def api() -> str:
    """The public names of the package, each from its docstring."""
    text = [
        "# Public functions",
        "",
        "What `import onelayer` offers; [In Python](python.md) shows ",
    ]
    text[-1] += "them at work."
    for name, module in onelayer._MODULES.items():
        text += ["", f"::: {module}.{name}"]
    text += ["", "## What they take", "", "::: onelayer.settings.probe.UncertaintySettings"]
    return "\n".join([*text, "    options:", "      heading_level: 3", ""])


def plain(text: str) -> str:
    """Text of a docstring or caption as Markdown: code stays code, nothing else is markup."""
    parts = re.split(r"(`+[^`]+`+)", " ".join(text.split()))
    parts[::2] = [re.sub(r"([\\*_\[\]])", r"\\\1", part) for part in parts[::2]]
    for sign, name in (("<", "&lt;"), (">", "&gt;"), ("|", "&#124;")):
        parts[::2] = [part.replace(sign, name) for part in parts[::2]]
    return "".join(part.replace("``", "`") for part in parts)
