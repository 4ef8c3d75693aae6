"""`ro-crate-metadata.json`: a run as a Workflow Run RO-Crate, written from its steps' records.

A run's folder `results` is a Process Run Crate: every step an action with its tool, inputs,
outputs, settings, times, libraries, device and switches. The archive of `onelayer pack` holds the
code as well, so that it is a Provenance Run Crate, and a Workflow RO-Crate by its Snakefile
(https://w3id.org/ro/wfrun, version 0.5, on RO-Crate 1.1).

What many steps share is one entity: a library, a step's tool, a block of settings, a switch. Files
that the crate does not hold are entities without a path, with their size and sum. `Described` reads
all of it back as the records that it was written from.
"""

import contextlib
import csv
import hashlib
import json
import mimetypes
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote

from rocrate.model import ContextEntity, Dataset, File
from rocrate.rocrate import ROCrate

from onelayer.errors import OnelayerError
from onelayer.papers.works import Work
from onelayer.report.crate.archive import LARGEST
from onelayer.report.crate.citation import VERSION, works_behind
from onelayer.report.crate.code import COMMIT
from onelayer.report.crate.predictions import Sealed
from onelayer.report.records import Records, is_portable
from onelayer.run.provenance import REPOSITORY
from onelayer.settings.kept import SETTINGS

METADATA, PREVIEW = "ro-crate-metadata.json", "ro-crate-preview.html"
WARNINGS, README = "warnings.txt", "README.md"
CODE = "code"  # the checkout's folder in an archive
WORKFLOW = f"{CODE}/Snakefile"
TERMS = "https://w3id.org/ro/terms/workflow-run#"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
LICENCE = "https://spdx.org/licenses/MIT"
LONG = 150  # characters of a setting that is an entity of its own
_TYPES = {".md": "text/markdown", ".tex": "application/x-tex", ".lock": "text/plain"}
_TYPES |= {".parquet": "application/vnd.apache.parquet", ".arrow": "application/vnd.apache.arrow"}
_TYPES |= {".safetensors": "application/octet-stream", ".npz": "application/octet-stream"}

Entity = dict[str, object]


@dataclass(frozen=True)
class Contents:
    """What a crate says, and holds.

    Attributes:
        results: the run's folder `results`, as its records name it.
        files: SHA-256 of every file of a table, figure or page, by path.
        steps: the records of all steps behind them, `onelayer.report.records.steps_behind`.
        commit: of the code, `+` appended where the checkout differs; None outside git.
        inside: files that the crate holds, by path.
        code: paths of the checkout's files that the crate holds below `code`.
        added: what else it holds, by place in it.
        settings: of the run; empty where works are not named.
        predictions: what was predicted of these results.
        root: the checkout that made the run.
    """

    results: Path
    files: Mapping[str, str]
    steps: Sequence[Mapping]
    commit: str | None
    inside: frozenset[str]
    code: frozenset[str] = frozenset()
    added: Mapping[str, bytes] = field(default_factory=dict)
    settings: Mapping = field(default_factory=dict)
    predictions: Sequence[Sealed] = ()
    root: Path = REPOSITORY

    def place(self, path: str, sha256: str) -> str:
        """Where a file is in the crate, or `#...` for what is not in it.

        Args:
            path, sha256: as a record has them; of the machine's folders the place tells nothing.
        """
        if Path(path).is_relative_to(self.results):
            inner = Path(path).relative_to(self.results).as_posix()
            return inner if path in self.inside else f"#results/{inner}"
        own = os.path.relpath(Path(path).resolve(), self.root)
        if own in self.code or (not self.code and not own.startswith("..")):
            return f"{CODE}/{own}" if self.code else f"#{CODE}/{own}"
        return f"#sources/{sha256[:12]}/{Path(path).name}"


def describe(contents: Contents) -> bytes:
    """The metadata of a crate, the same bytes for the same contents."""
    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms |= {name: TERMS + name for name in ("sha256", "environment")}
    graph = _Graph(contents)
    root = graph.root()
    for name, value in root.items():
        crate.root_dataset[name] = value
    for key, entity in graph.entities.items():
        if "File" in entity["@type"]:
            crate.add(File(crate, dest_path=unquote(key), properties=entity))
        elif key == f"{CODE}/":
            crate.add(Dataset(crate, dest_path=CODE, properties=entity))
        else:
            crate.add(ContextEntity(crate, key, properties=entity))
    if contents.code:
        crate.metadata["conformsTo"] = _ids(["https://w3id.org/ro/crate/1.1", [*PROFILES][-1]])
    said = crate.metadata.generate()
    # A line for each entity: half as long as indented, and still a text to compare.
    lines = ",\n".join(map(_compact, said["@graph"]))
    context = json.dumps(said["@context"])
    return f'{{"@context": {context},\n"@graph": [\n{lines}\n]}}\n'.encode()


def _compact(said: object) -> str:
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def _ids(keys: Iterable[str]) -> Entity | list[Entity]:
    """References; RO-Crate recommends one by itself to a list of one."""
    found = [{"@id": key} for key in keys]
    return found[0] if len(found) == 1 else found


def _digest(*said: object) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:10]


class _Graph:
    """The entities of a crate, each made when it is first named."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.entities: dict[str, Entity] = {}

    def _add(self, key: str, **properties: object) -> str:
        """Name an entity, which keeps what was first said of it."""
        given = {f"@{n}" if n == "type" else n: v for n, v in properties.items()}
        said = {n: v for n, v in given.items() if v not in ("", [], None) or n == "value"}
        self.entities.setdefault(key, said)
        return key

    def root(self) -> Entity:
        """What is said of the whole crate; first of all that is in it."""
        c = self.contents
        shown = [self.file(path, sha256) for path, sha256 in c.files.items()]
        steps = [self.action(step) for step in c.steps]
        for place, content in c.added.items():
            self.added(place, content)
        works = (
            [self.work(work) for work in works_behind(c.steps, c.settings)] if c.settings else []
        )
        predictions = [self.prediction(sealed) for sealed in c.predictions]
        profiles = list(PROFILES) if c.code else list(PROFILES)[:1]
        for profile in profiles:
            name, version = PROFILES[profile], profile.rpartition("/")[2]
            self._add(profile, type="CreativeWork", name=name, version=version)
        self._add(LICENCE, type="CreativeWork", name="MIT", url=LICENCE)
        times = sorted(
            time for step in c.steps for time in (step["started"], step["ended"]) if time
        )
        said = {
            "name": "A run of onelayer",
            "description": "Experiments on how one-layer transformers learn, beside the published "
            "numbers: tables, figures, and every step that led to them. Text quoted from corpora "
            "is under the licences of these.",
            "license": {"@id": LICENCE},
            "datePublished": times[-1] if times else "1970-01-01",
            "conformsTo": _ids(profiles),
            "citation": _ids(works),
            "version": c.commit or "unknown",
            "mentions": _ids([*steps, *predictions]),
        }
        if c.code:
            run = self.workflow(shown, steps, works, times)
            said |= {"mentions": _ids([*steps, *predictions, run]), "mainEntity": {"@id": WORKFLOW}}
        return {name: value for name, value in said.items() if value != []}

    def file(self, path: str, sha256: str) -> str:
        """A file as a step read or wrote it."""
        place = self.contents.place(path, sha256)
        known, published = Path(path).is_file(), place.endswith(".csv") and CODE in place
        held = not place.startswith("#")
        return self._add(
            # Named by every step that reads it: a path each time would be half of the metadata.
            quote(place) if held else f"#{_digest(place)}",
            type="File" if held else "CreativeWork",
            name=Path(path).name if held else place[1:],
            encodingFormat=encoding_of(path) if held else None,
            contentSize=str(Path(path).stat().st_size) if known else None,
            sha256=sha256,
            description=_source_of(Path(path)) if published else None,
        )

    def added(self, place: str, content: bytes) -> str:
        """A file that is written for the crate."""
        return self._add(
            quote(place),
            type="File",
            name=place,
            encodingFormat=encoding_of(place),
            contentSize=str(len(content)),
            sha256=hashlib.sha256(content).hexdigest(),
            exampleOfWork={"@id": "#settings"} if place == SETTINGS else None,
            about={"@id": "./"} if place == README else None,
        )

    def work(self, work: Work) -> str:
        """A paper, a corpus or a checkpoint from elsewhere."""
        authors = [
            self._add(
                f"#authors/{quote(name.strip('{}'))}",
                type="Organization" if name.startswith("{") else "Person",
                name=name.strip("{}"),
            )
            for name in work.authors
        ]
        licences = [
            self._add(f"https://spdx.org/licenses/{name}", type="CreativeWork", name=name)
            for name in work.licences
        ]
        kinds = {"paper": "ScholarlyArticle", "data": "CreativeWork", "model": "CreativeWork"}
        return self._add(
            f"#works/{work.key}",
            type=kinds[work.kind],
            name=work.title,
            author=_ids(authors),
            datePublished=work.year,
            description=work.note,
            url=work.address,
            license=_ids(licences),
        )

    def prediction(self, sealed: Sealed) -> str:
        """What was expected of a claim, and whether before the run."""
        return self._add(
            f"#predictions/{sealed.claim}",
            type="CreativeWork",
            name=sealed.claim,
            text=sealed.text,
            version=sealed.commit,
            dateCreated=sealed.written,
            creativeWorkStatus=sealed.status,
        )

    def action(self, step: Mapping) -> str:
        """A step that ran."""
        results = [self.file(path, sha256) for path, sha256 in step["outputs"].items()]
        inputs = [self.file(path, sha256) for path, sha256 in step["inputs"].items()]
        settings = [
            self._add(
                f"#settings/{_digest(text)}", type="PropertyValue", name="settings", value=text
            )
            for text in map(_compact, _blocks(step["settings"]))
        ]
        properties = [
            self._add(f"#{name}/{value}", type="PropertyValue", name=name, value=value)
            for name, value in (("device", step["device"]), ("portable", str(step["portable"])))
        ]
        switches, *warnings = (
            self._add(f"#{name}/{_digest(value)}", type="PropertyValue", name=name, value=value)
            for name in ["switches", *(["warnings"] if step["warnings"] else [])]
            for value in [_compact(step[name])]
        )
        properties += warnings
        first = self.contents.place(*next(iter(step["outputs"].items())))
        return self._add(
            f"#steps/{quote(first.removeprefix('#results/'))}",
            type="CreateAction",
            name=step["step"],
            description=f"made {len(results)} files",
            instrument={"@id": self.tool(step)},
            object=_ids([*inputs, *settings]),
            result=_ids(results),
            startTime=step["started"],
            endTime=step["ended"],
            additionalProperty=_ids(properties),
            environment={"@id": switches},
        )

    def tool(self, step: Mapping) -> str:
        """The script of a step, its code as a digest, and the libraries that it imports."""
        libraries = []
        for library in filter(None, step["libraries"].split(", ")):
            name, _, version = library.partition(" ")
            web = f"https://pypi.org/project/{quote(name)}/{quote(version.partition('+')[0])}/"
            libraries.append(
                self._add(
                    f"#libraries/{_digest(library)}",
                    type="SoftwareApplication",
                    name=name,
                    softwareVersion=version,
                    url="https://www.python.org/" if name == "python" else web,
                )
            )
        name = step["step"]
        key = f"#tools/{_digest(name, step['code'], libraries)}"
        script = f"scripts/{name.partition(':')[0]}.py"
        if self.contents.code:
            self._add(f"#parts/{key[7:]}", type="HowToStep", workExample={"@id": key})
        return self._add(
            key,
            type="SoftwareApplication",
            name=name,
            softwareVersion=step["code"],
            softwareRequirements=_ids(libraries),
            url=f"{CODE}/{script}" if self.contents.code else script,
        )

    def workflow(
        self, shown: Sequence[str], steps: Sequence[str], works: Sequence[str], times: Sequence[str]
    ) -> str:
        """The Snakefile, with the code around it, and the run as its action."""
        tools = list(dict.fromkeys(self.entities[s]["instrument"]["@id"] for s in steps))
        self._add(
            "#snakemake",
            type="ComputerLanguage",
            name="Snakemake",
            url="https://snakemake.readthedocs.io/",
            identifier={"@id": "https://snakemake.readthedocs.io/"},
        )
        self._add(
            "#settings",
            type="FormalParameter",
            name="settings",
            additionalType="File",
            workExample={"@id": SETTINGS},
            description="all settings, overlays resolved",
        )
        bioschemas = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
        self._add(bioschemas, type="CreativeWork", name="ComputationalWorkflow", version="1.0")
        self._add(
            WORKFLOW,
            type=["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
            name="onelayer",
            description="the table of contents of the workflow",
            conformsTo={"@id": bioschemas},
            encodingFormat="text/plain",
            programmingLanguage={"@id": "#snakemake"},
            license={"@id": LICENCE},
            url=WORKFLOW,
            version=VERSION,
            citation=_ids(works),
            input=_ids(["#settings"]),
            hasPart=_ids(tools),
            step=_ids(f"#parts/{tool[7:]}" for tool in tools),
        )
        self._add(
            f"{CODE}/",
            type="Dataset",
            name="code",
            description="every file of the repository at this commit",
            version=self.contents.commit,
            license={"@id": LICENCE},
        )
        read = {i["@id"] for s in steps for i in _many(self.entities[s]["object"])}
        sources = sorted(
            key
            for key in read
            if key.startswith(f"{CODE}/") or self.entities[key]["name"].startswith("sources/")
        )
        return self._add(
            "#run",
            type="CreateAction",
            name="the run",
            description="all steps that led to these tables and figures",
            instrument={"@id": WORKFLOW},
            object=_ids([SETTINGS, *sources]),
            result=_ids(shown),
            startTime=times[0] if times else None,
            endTime=times[-1] if times else None,
        )


def _blocks(settings: Mapping) -> list[Mapping]:
    """Settings in parts that several steps may share: each long value, and all the rest."""
    long = [name for name, value in settings.items() if len(_compact(value)) > LONG]
    rest = {name: value for name, value in settings.items() if name not in long}
    return [rest, *({name: settings[name]} for name in long)]


def _many(references: object) -> list[Mapping]:
    return references if isinstance(references, list) else [references]


def encoding_of(path: str) -> str:
    """The type of a file's content, by its name."""
    suffix = Path(path).suffix
    return _TYPES.get(suffix) or mimetypes.guess_type(f"x{suffix}")[0] or "text/plain"


def _source_of(table: Path) -> str | None:
    """Where the published numbers of a file stand, as its first row has it."""
    with contextlib.suppress(OSError, ValueError), table.open(encoding="utf-8", newline="") as file:
        return next(csv.DictReader(file), {}).get("source")
    return None


@dataclass(frozen=True)
class Described:
    """What a crate's metadata says, as it is read back.

    Attributes:
        records: those of its steps.
        steps: the same, one after the other as the metadata has them.
        files: SHA-256 of the files that the crate holds, by place in it.
        results: the same of the files that steps made, by the name that records know.
        commit: of the code; None where it is not known.
        predictions: what became of each prediction, by claim.
    """

    records: Records
    steps: list[dict]
    files: dict[str, str]
    results: dict[str, str]
    commit: str | None
    predictions: dict[str, str]

    @property
    def portable(self) -> bool:
        """Whether all steps were."""
        return is_portable(self.steps)


def read_metadata(place: Path) -> Described:
    """Read what `describe` wrote, or what a stranger says that it did.

    Raises:
        OnelayerError: it is larger than 16 MiB, nested, or lacks a part.
    """
    if place.stat().st_size > LARGEST:
        raise OnelayerError(
            f"{place.name}: {place.stat().st_size} bytes of metadata; at most {LARGEST} are read"
        )
    try:
        return _described(json.loads(place.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise OnelayerError(
            f"{place.name}: not what `onelayer pack` writes ({type(error).__name__}: {error})"
        ) from None


def _recorded(entity: Mapping) -> str:
    """The name by which records know a file."""
    place = unquote(entity["@id"])
    if place.startswith("#"):
        return str(entity["name"])
    return place if place.startswith(f"{CODE}/") else f"results/{place}"


def _described(metadata: Mapping) -> Described:
    graph: dict[str, dict] = {}
    for entity in metadata["@graph"]:
        if graph.setdefault(str(entity["@id"]), entity) is not entity:
            raise ValueError(f"two entities are {entity['@id']}")
    records, steps = Records(Path("results")), []

    def named(references: object) -> Iterator[dict]:
        for reference in _many(references):
            yield graph[reference["@id"]]

    def sums(references: object) -> dict[str, str]:
        return {_recorded(e): str(e["sha256"]) for e in named(references) if "sha256" in e}

    for entity in graph.values():
        if entity["@type"] != "CreateAction" or entity["@id"] == "#run":
            continue
        tool = graph[entity["instrument"]["@id"]]
        told = {e["name"]: e["value"] for e in named(entity["additionalProperty"])}
        settings: dict[str, object] = {}
        for said in named(entity["object"]):
            settings |= json.loads(said["value"]) if said["name"] == "settings" else {}
        if not sums(entity["result"]):
            raise ValueError(f"{entity['@id']} made no file")
        record = {
            "step": str(tool["name"]),
            "code": str(tool["softwareVersion"]),
            "settings": settings,
            "libraries": ", ".join(
                f"{e['name']} {e['softwareVersion']}"
                for e in named(tool.get("softwareRequirements", []))
            ),
            "device": str(told["device"]),
            "portable": told["portable"] == "True",
            "switches": json.loads(graph[entity["environment"]["@id"]]["value"]),
            "started": str(entity.get("startTime", "")),
            "ended": str(entity.get("endTime", "")),
            "warnings": json.loads(told.get("warnings", "[]")),
            "inputs": sums(entity["object"]),
            "outputs": sums(entity["result"]),
        }
        records.add(record)
        steps.append(record)
    held = {unquote(e["@id"]): str(e["sha256"]) for e in graph.values() if e["@type"] == "File"}
    added = {SETTINGS, WARNINGS, README, PREVIEW, COMMIT}
    version = graph["./"].get("version")
    return Described(
        records,
        steps,
        held,
        {
            f"results/{place}": sha256
            for place, sha256 in held.items()
            if place not in added and not place.startswith(f"{CODE}/")
        },
        None if version == "unknown" else str(version),
        {
            e["name"]: str(e["creativeWorkStatus"])
            for e in graph.values()
            if e["@id"].startswith("#predictions/")
        },
    )
