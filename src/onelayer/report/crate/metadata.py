"""`ro-crate-metadata.json`: a run as a Workflow Run RO-Crate, written from its steps' records.

A run's folder `results` is a Process Run Crate: every step an action with its tool, inputs,
outputs, settings, times, libraries, device and switches. The archive of `onelayer pack` holds the
code as well, so that it is a Provenance Run Crate, and a Workflow RO-Crate by its Snakefile
(https://w3id.org/ro/wfrun, version 0.5, on RO-Crate 1.1).

What many steps share is one entity: a library, a step's tool, a block of settings, a switch. Files
that the crate does not hold are entities without a path, with their size and sum.
`onelayer.report.crate.described` reads all of it back as the records that it was written from.
"""

import contextlib
import csv
import hashlib
import json
import mimetypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote

from rocrate.model import ContextEntity, Dataset, File
from rocrate.rocrate import ROCrate

from onelayer.papers.works import Work
from onelayer.report.crate.citation import VERSION, works_behind
from onelayer.report.crate.code import COMMIT
from onelayer.report.crate.predictions import Sealed
from onelayer.run.provenance import REPOSITORY
from onelayer.settings.kept import SETTINGS

METADATA, PREVIEW = "ro-crate-metadata.json", "ro-crate-preview.html"
WARNINGS, README = "warnings.txt", "README.md"
ADDED = {SETTINGS, WARNINGS, README, PREVIEW, COMMIT}  # files that no step made
CODE = "code"  # the checkout's folder in an archive
WORKFLOW = f"{CODE}/Snakefile"
TERMS, OWN_TERMS = "https://w3id.org/ro/terms/workflow-run#", ("sha256", "environment")
PROCESS, *PROFILES = (
    ("https://w3id.org/ro/wfrun/process/0.5", "Process Run Crate"),
    ("https://w3id.org/ro/wfrun/workflow/0.5", "Workflow Run Crate"),
    ("https://w3id.org/ro/wfrun/provenance/0.5", "Provenance Run Crate"),
    ("https://w3id.org/workflowhub/workflow-ro-crate/1.0", "Workflow RO-Crate"),
)
BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
DOCS = "https://snakemake.readthedocs.io/"
LICENCE = "https://spdx.org/licenses/MIT"
LONG = 150  # characters of a setting that is an entity of its own
_TYPES = mimetypes.MimeTypes().types_map[True] | {  # Python's own: a machine's may be others
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
    ".arrow": "application/vnd.apache.arrow",
    **dict.fromkeys((".safetensors", ".npz"), "application/octet-stream"),
}

Entity = dict[str, object]


@dataclass(frozen=True)
class Contents:
    """What a crate says, and holds.

    Attributes:
        results: the run's folder `results`, as its records name it.
        files: SHA-256 of every file of a table, figure or page, by path.
        steps: the records of all steps behind them, `onelayer.report.records.steps_behind`.
        commit: of the code, `+` appended where the checkout differs; None outside git.
        inside: SHA-256 of every file of the run that the crate holds, by path.
        code: the checkout's files that the crate holds below `code`, by path.
        added: what else it holds, by place in it.
        settings: of the run; empty where works are not named.
        predictions: what was predicted of these results.
        root: the checkout that made the run.
    """

    results: Path
    files: Mapping[str, str]
    steps: Sequence[Mapping]
    commit: str | None
    inside: Mapping[str, str]
    code: Mapping[str, bytes] = field(default_factory=dict)
    added: Mapping[str, bytes] = field(default_factory=dict)
    settings: Mapping = field(default_factory=dict)
    predictions: Sequence[Sealed] = ()
    root: Path = REPOSITORY

    def place(self, path: str, sha256: str) -> str:
        """Where a file of a record is in the crate; `#...`, without its folders, if it is not."""
        if Path(path).is_relative_to(self.results):
            inner = Path(path).relative_to(self.results).as_posix()
            return inner if path in self.inside else f"#results/{inner}"
        inside_root = os.path.relpath(Path(path).resolve(), self.root)
        if inside_root in self.code or (not self.code and not inside_root.startswith("..")):
            return f"{CODE}/{inside_root}" if self.code else f"#{CODE}/{inside_root}"
        return f"#sources/{sha256[:12]}/{Path(path).name}"


def describe(contents: Contents) -> bytes:
    """The metadata of a crate, the same bytes for the same contents."""
    graph = _Graph(contents)
    graph.run()
    said = graph.crate.metadata.generate()
    # A line for each entity: half as long as indented, and still a text to compare.
    lines = ",\n".join(map(_compact, said["@graph"]))
    context = json.dumps(said["@context"])
    return f'{{"@context": {context},\n"@graph": [\n{lines}\n]}}\n'.encode()


def _compact(said: object) -> str:
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def _ref(key: str) -> Entity:
    return {"@id": key}


def _digest(*said: object) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:10]


def _told(said: Entity) -> Entity:
    """What an entity says: nothing empty, and one thing by itself, as RO-Crate recommends."""
    one = {n: v[0] if isinstance(v, list) and len(v) == 1 else v for n, v in said.items()}
    return {n: v for n, v in one.items() if v not in ("", [], None) or n == "value"}


class _Graph:
    """The entities of a crate, each made when it is first named; methods return references."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.crate = ROCrate(version="1.1")
        self.crate.metadata.extra_terms |= {term: TERMS + term for term in OWN_TERMS}
        self.sources: set[str] = set()  # files that steps read and none made
        self.tools: dict[str, Entity] = {}  # with the workflow's part that each is

    def add(self, key: str, kind: str | list[str], **said: object) -> Entity:
        """Name an entity, which keeps what was first said of it."""
        if self.crate.get(key) is None:
            properties = {"@type": kind} | _told(said)
            if "File" in kind:
                self.crate.add(File(self.crate, dest_path=unquote(key), properties=properties))
            elif kind == "Dataset":
                self.crate.add(Dataset(self.crate, dest_path=key, properties=properties))
            else:
                self.crate.add(ContextEntity(self.crate, key, properties=properties))
        return _ref(key)

    def value(self, name: str, value: str) -> Entity:
        """A property, once for all that have it."""
        return self.add(f"#{name}/{_digest(value)}", "PropertyValue", name=name, value=value)

    def run(self) -> None:
        """The whole crate; first of all what is in it."""
        c = self.contents
        profiles = [PROCESS, *(PROFILES if c.code else [])]
        self.add(LICENCE, "CreativeWork", name="MIT", url=LICENCE)
        if c.code:
            self.add(BIOSCHEMAS, "CreativeWork", name="ComputationalWorkflow", version="1.0")
            said = {"name": "Snakemake", "url": DOCS, "identifier": _ref(DOCS)}
            self.add("#snakemake", "ComputerLanguage", **said)
        for profile, name in profiles:
            self.add(profile, "CreativeWork", name=name, version=profile.rpartition("/")[2])
        shown = [self.file(path, sha256) for path, sha256 in c.files.items()]
        steps = [self.action(step) for step in c.steps]
        more = {SETTINGS: {"exampleOfWork": _ref("#settings")}, README: {"about": _ref("./")}}
        for place, content in c.added.items():
            sha256 = hashlib.sha256(content).hexdigest()
            self.held(place, place, len(content), sha256, **more.get(place, {}))
        works = [self.work(w) for w in works_behind(c.steps, c.settings)] if c.settings else []
        times = sorted(filter(None, (s[t] for s in c.steps for t in ("started", "ended"))))
        said = {
            "name": "A run of onelayer",
            "description": "Experiments on how one-layer transformers learn, beside the published "
            "numbers: tables, figures, and every step that led to them. Text quoted from corpora "
            "is under the licences of these.",
            "license": _ref(LICENCE),
            "datePublished": times[-1] if times else "1970-01-01",
            "conformsTo": [_ref(profile) for profile, _ in profiles],
            "citation": works,
            "version": c.commit or "unknown",
            "mentions": [*steps, *(self.prediction(sealed) for sealed in c.predictions)],
        }
        if c.code:
            said["mentions"].append(self.workflow(shown, works, times))
            said["mainEntity"] = _ref(WORKFLOW)
            profiles = ("https://w3id.org/ro/crate/1.1", PROFILES[-1][0])
            self.crate.metadata["conformsTo"] = list(map(_ref, profiles))
        for name, value in _told(said).items():
            self.crate.root_dataset[name] = value

    def file(self, path: str, sha256: str) -> Entity:
        """A file as a step read or wrote it."""
        place = self.contents.place(path, sha256)
        source = _source_of(Path(path)) if CODE in place and path.endswith(".csv") else None
        size = Path(path).stat().st_size if Path(path).is_file() else ""
        if not place.startswith("#"):
            entity = self.held(place, Path(path).name, size, sha256, description=source)
        else:
            # Named by every step that reads it: a path each time would be half of the metadata.
            said = {"contentSize": str(size), "sha256": sha256, "description": source}
            entity = self.add(f"#{_digest(place)}", "CreativeWork", name=place[1:], **said)
        if place.startswith((f"{CODE}/", "#sources/")):
            self.sources.add(entity["@id"])
        return entity

    def held(self, place: str, name: str, size: object, sha256: str, **more: object) -> Entity:
        """A file in the crate."""
        facts = {"encodingFormat": _TYPES.get(Path(place).suffix, "text/plain")}
        facts |= {"contentSize": str(size), "sha256": sha256}
        return self.add(quote(place), "File", name=name, **facts, **more)

    def work(self, work: Work) -> Entity:
        """A paper, a corpus or a checkpoint from elsewhere."""
        authors, licences = [], []
        for name in work.authors:
            kind, plain = "Organization" if name.startswith("{") else "Person", name.strip("{}")
            authors.append(self.add(f"#authors/{quote(plain)}", kind, name=plain))
        for name in work.licences:
            place = f"https://spdx.org/licenses/{name}"
            licences.append(self.add(place, "CreativeWork", name=name))
        said = {"name": work.title, "author": authors, "datePublished": work.year}
        said |= {"description": work.note, "url": work.address, "license": licences}
        kind = "ScholarlyArticle" if work.kind == "paper" else "CreativeWork"
        return self.add(f"#works/{work.key}", kind, **said)

    def prediction(self, sealed: Sealed) -> Entity:
        """What was expected of a claim, and whether before the run."""
        said = {"name": sealed.claim, "text": sealed.text, "version": sealed.commit}
        said |= {"dateCreated": sealed.written, "creativeWorkStatus": sealed.status}
        return self.add(f"#predictions/{sealed.claim}", "CreativeWork", **said)

    def action(self, step: Mapping) -> Entity:
        """A step that ran."""
        results = [self.file(path, sha256) for path, sha256 in step["outputs"].items()]
        read = [self.file(path, sha256) for path, sha256 in step["inputs"].items()]
        properties = [self.value(name, str(step[name])) for name in ("device", "portable")]
        if step["warnings"]:
            properties.append(self.value("warnings", _compact(step["warnings"])))
        first = self.contents.place(*next(iter(step["outputs"].items())))
        return self.add(
            f"#steps/{quote(first.removeprefix('#results/'))}",
            "CreateAction",
            name=step["step"],
            description=f"made {len(results)} files",
            instrument=self.tool(step),
            object=[*read, *(self.value("settings", said) for said in _blocks(step["settings"]))],
            result=results,
            startTime=step["started"],
            endTime=step["ended"],
            additionalProperty=properties,
            environment=self.value("switches", _compact(step["switches"])),
        )

    def tool(self, step: Mapping) -> Entity:
        """The script of a step, its code as a digest, and the libraries that it imports."""
        name, libraries = step["step"], []
        for library in filter(None, step["libraries"].split(", ")):
            project, _, version = library.partition(" ")
            web = f"https://pypi.org/project/{quote(project)}/{quote(version.partition('+')[0])}/"
            said = {"name": project, "softwareVersion": version}
            said["url"] = "https://www.python.org/" if project == "python" else web
            key = f"#libraries/{_digest(library)}"
            libraries.append(self.add(key, "SoftwareApplication", **said))
        key = _digest(name, step["code"], libraries)
        script = f"scripts/{name.partition(':')[0]}.py"
        if self.contents.code:
            part = self.add(f"#parts/{key}", "HowToStep", workExample=_ref(f"#tools/{key}"))
            self.tools[f"#tools/{key}"] = part
        return self.add(
            f"#tools/{key}",
            "SoftwareApplication",
            name=name,
            softwareVersion=step["code"],
            softwareRequirements=libraries,
            url=f"{CODE}/{script}" if self.contents.code else script,
        )

    def workflow(self, shown: list, works: list, times: Sequence[str]) -> Entity:
        """The Snakefile, with the code around it, and the run as its action."""
        said = {"name": "settings", "description": "all settings, overlays resolved"}
        said |= {"additionalType": "File", "workExample": _ref(SETTINGS)}
        self.add("#settings", "FormalParameter", **said)
        said = {"name": "code", "description": "every file of the repository at this commit"}
        said |= {"version": self.contents.commit, "license": _ref(LICENCE)}
        self.add(f"{CODE}/", "Dataset", **said)
        self.add(
            WORKFLOW,
            ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
            name="onelayer",
            description="the table of contents of the workflow",
            conformsTo=_ref(BIOSCHEMAS),
            encodingFormat="text/plain",
            programmingLanguage=_ref("#snakemake"),
            license=_ref(LICENCE),
            url=WORKFLOW,
            version=VERSION,
            citation=works,
            input=_ref("#settings"),
            hasPart=list(map(_ref, self.tools)),
            step=list(self.tools.values()),
        )
        return self.add(
            "#run",
            "CreateAction",
            name="the run",
            description="all steps that led to these tables and figures",
            instrument=_ref(WORKFLOW),
            object=list(map(_ref, (SETTINGS, *sorted(self.sources)))),
            result=shown,
            startTime=min(times, default=None),
            endTime=max(times, default=None),
        )


def _blocks(settings: Mapping) -> list[str]:
    """Settings in parts that several steps may share: each long value, and all the rest."""
    long = [name for name, value in settings.items() if len(_compact(value)) > LONG]
    rest = {name: value for name, value in settings.items() if name not in long}
    return [_compact(part) for part in (rest, *({name: settings[name]} for name in long))]


def _source_of(table: Path) -> str | None:
    """Where the published numbers of a file stand, as its first row has it."""
    with contextlib.suppress(OSError, ValueError), table.open(encoding="utf-8", newline="") as file:
        return next(csv.DictReader(file), {}).get("source")
    return None
