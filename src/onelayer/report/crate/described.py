"""What a crate's metadata says, read back as the records that it was written from.

`onelayer.report.crate.metadata` wrote it, or a stranger did.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from onelayer.errors import OnelayerError
from onelayer.report.crate.archive import LARGEST
from onelayer.report.crate.metadata import ADDED, CODE
from onelayer.report.records import Records, is_portable


@dataclass(frozen=True)
class Described:
    """What a crate's metadata says, as it is read back.

    Attributes:
        records, steps: the records of its steps; the same in the order of the metadata.
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
    size = place.stat().st_size if place.is_file() else 0
    if size > LARGEST:
        raise OnelayerError(f"{place.name}: {size} bytes of metadata; at most {LARGEST} are read")
    try:
        return _described(json.loads(place.read_text(encoding="utf-8"))["@graph"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise OnelayerError(
            f"{place.name}: not what `onelayer pack` writes ({type(error).__name__}: {error})"
        ) from None


def _described(entities: list[dict]) -> Described:
    graph: dict[str, dict] = {}
    for entity in entities:
        if graph.setdefault(str(entity["@id"]), entity) is not entity:
            raise ValueError(f"two entities are {entity['@id']}")
    records = Records(Path("results"))
    steps = [
        _record(entity, graph)
        for key, entity in graph.items()
        if entity["@type"] == "CreateAction" and key != "#run"
    ]
    for record in steps:
        records.add(record)
    files = {unquote(k): str(e["sha256"]) for k, e in graph.items() if e["@type"] == "File"}
    made = {p: s for p, s in files.items() if p not in ADDED and not p.startswith(f"{CODE}/")}
    results = {f"results/{place}": sha256 for place, sha256 in made.items()}
    version = str(graph["./"].get("version"))
    commit = None if version == "unknown" else version
    predictions = [e for key, e in graph.items() if key.startswith("#predictions/")]
    became = {e["name"]: str(e["creativeWorkStatus"]) for e in predictions}
    return Described(records, steps, files, results, commit, became)


def _record(action: Mapping, graph: Mapping[str, dict]) -> dict:
    """What a step wrote about itself, as an action and what it names say it."""

    def named(entity: Mapping, name: str) -> Iterator[dict]:
        references = entity.get(name, [])
        for reference in references if isinstance(references, list) else [references]:
            yield graph[reference["@id"]]

    def sums(name: str) -> dict[str, str]:
        return {_recorded(e): str(e["sha256"]) for e in named(action, name) if "sha256" in e}

    [tool], [switches] = named(action, "instrument"), named(action, "environment")
    properties = {e["name"]: e["value"] for e in named(action, "additionalProperty")}
    given = (e for e in named(action, "object") if e["@type"] == "PropertyValue")
    settings = [json.loads(said["value"]) for said in given]
    needed = named(tool, "softwareRequirements")
    record = {
        "step": str(tool["name"]),
        "code": str(tool["softwareVersion"]),
        "settings": {name: value for block in settings for name, value in block.items()},
        "libraries": ", ".join(f"{e['name']} {e['softwareVersion']}" for e in needed),
        "device": str(properties["device"]),
        "portable": properties["portable"] == "True",
        "switches": json.loads(switches["value"]),
        "started": str(action.get("startTime", "")),
        "ended": str(action.get("endTime", "")),
        "warnings": json.loads(properties.get("warnings", "[]")),
        "inputs": sums("object"),
        "outputs": sums("result"),
    }
    if not record["outputs"]:
        raise ValueError(f"{action['@id']} made no file")
    return record


def _recorded(entity: Mapping) -> str:
    """The name by which records know a file."""
    place = unquote(entity["@id"])
    if place.startswith("#"):
        return str(entity["name"])
    return place if place.startswith(f"{CODE}/") else f"results/{place}"
