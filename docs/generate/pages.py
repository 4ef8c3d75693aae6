"""Pages that follow from the code: figures, papers, settings, public functions.

They are made when the site is built: from what the workflow declares, the papers' pages (docstrings
of `onelayer.papers`), the findings of the reference run, the settings' schema, and docstrings.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import onelayer
from onelayer.evidence.declarations import read_declarations
from onelayer.papers import PAPERS
from onelayer.report.registry import FOLDERS

LONGEST = 40  # letters of a default that a table shows


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, and the pictures of the gallery."""
    root = Path(config.config_file_path).parent
    pictures = Pictures(root, root / config.extra["results"])
    declared = json.loads(_run(root, "docs/generate/declared.py"))
    drawn = [result for result in declared if result["kind"] != "table"]
    pages = {"figures.md": figures(drawn, root / "workflow/report", pictures)}
    targets = {result["target"]: _place_of(result, root) for result in declared}
    drawings = {result["target"]: pictures.of(result) for result in drawn}
    findings = (root / "docs/reference/findings.md").read_text(encoding="utf-8")
    for paper, title in PAPERS.items():
        said = said_of(title, findings)
        pages[f"papers/{paper}.md"] = paper_page(paper, said, targets, drawings)
    schema = json.loads((root / "workflow/schemas/config.schema.json").read_text(encoding="utf-8"))
    default = yaml.safe_load((root / "config.yaml").read_text(encoding="utf-8"))
    pages["settings.md"] = settings(schema, default)
    pages["api.md"] = api()
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    for name, path in pictures.shown.items():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def _run(root: Path, program: str) -> str:
    run = subprocess.run(
        [sys.executable, program], cwd=root, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise RuntimeError(f"{program}: {run.stderr}")
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


class Claim(NamedTuple):
    """A claim of a paper's page: its sentence, and the chain of modules, steps and targets."""

    sentence: str
    chain: list[list[str]]


def paper_page(
    paper: str, findings: str, targets: Mapping[str, str], drawings: Mapping[str, str | None]
) -> str:
    """A paper's claims, what makes each, and what came out.

    Args:
        paper: its package.
        findings: its part of `docs/reference/findings.md`.
        targets: where to read of each target.
        drawings: the picture of each target that is a figure; None where nobody has drawn it.
    """
    package = import_module(f"onelayer.papers.{paper}")
    title, legend, *blocks = package.__doc__.strip().split("\n\n")
    own = legend.partition("<target>`.")[2]  # what the site need not say comes before
    text = [f"# {plain(title.rstrip('.'))}", "", plain(own), ""]
    text += ["## What came out", "", findings, "", "## Claims", ""]
    text += [
        "In the order of the paper. Below each claim: the modules that hold its mathematics (of "
        f"`{package.__name__}` where they do not begin with `onelayer`), the steps that compute it "
        "(each a script and a rule of the same name), and where it is shown. What each table and "
        "figure is made of stands at the end.",
        "",
    ]
    for part in _parts(blocks):
        if isinstance(part, str):
            text += [f"### {plain(part)}", ""]
            continue
        modules, *steps = part.chain
        made = [name for names in steps for name in names if name in targets]
        steps = [name for names in steps for name in names if name not in targets]
        text += [f"{plain(part.sentence)}", ""]
        text += [f"- modules: {_names(modules)}"]
        text += [f"- steps: {_names(steps)}"] if steps else []
        text += [f"- shown in: {', '.join(f'[{t}]({targets[t]})' for t in made)}"] if made else []
        shown = [t for t in made if drawings.get(t)]
        text += ["", *(f"[![{t}](../{drawings[t]}){{ width=360 }}]({targets[t]})" for t in shown)]
        text.append("")
    return "\n".join([*text, "## Tables and figures", "", *_declared(paper, targets), ""])


def _declared(paper: str, targets: Mapping[str, str]) -> Iterator[str]:
    """A table of what a paper declares: target, function, what it reads; module by module."""
    yield "| target | what | function | reads |"
    yield "|---|---|---|---|"
    for one in read_declarations():
        if one.folder == paper:
            target = f"[{one.rule}]({targets[one.rule]})" if one.rule in targets else one.rule
            function = f"{one.module}.{one.function}".removeprefix(f"onelayer.papers.{paper}.")
            read = _names(one.reads.values())
            yield f"| {target} | {plain(one.purpose)} | `{function}` | {read} |"


def _parts(blocks: Iterable[str]) -> Iterator[str | Claim]:
    """Headings and claims of a page, in order."""
    for block in blocks:
        lines = block.splitlines()
        if not any(line.startswith("    ") for line in lines):
            yield " ".join(lines)
            continue
        sentence = ""
        for indented, group in groupby(lines, key=lambda line: line.startswith("    ")):
            words = " ".join(line.strip() for line in group)
            if indented:
                chain = [part.replace(",", " ").split() for part in words.split("->")]
                yield Claim(sentence, chain)
            sentence = words


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def said_of(title: str, findings: str) -> str:
    """A paper's part of the findings of the reference run, with links from its own page."""
    lines = []
    for section in re.split(r"^## ", findings, flags=re.M)[1:]:
        name = section.partition("\n")[0]
        part = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^### |\Z)", section, re.M | re.S)
        lines += [f"### {name}\n\n{part[1].strip()}\n"] if part else []
    return re.sub(r"\]\((tables|figures)/", r"](../reference/\1/", "\n".join(lines).strip())


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
