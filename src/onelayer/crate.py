"""A run as one zip to hand on, a Workflow Run RO-Crate: `onelayer crate`.

It holds the tables, figures and pages of a run with its settings, and all code that made them; the
metadata has the SHA-256 of each file, and so has `SHA256SUMS`, as `sha256sum --check` reads it.
"""

import hashlib
import io
import mimetypes
from datetime import UTC, datetime
from pathlib import Path

from rocrate.model import ContextEntity
from rocrate.rocrate import ROCrate

from onelayer import __version__
from onelayer.errors import OnelayerError

ROOT = Path(__file__).parents[2]
CODE = "Snakefile config.yaml config workflow scripts src envs pyproject.toml requirements.lock"
CODE += " Makefile README.md LICENSE"
RESULTS = [
    "tables/*/*",
    "figures/*/*",
    "benchmarks/**/*.tsv",
    "*.md",
    "*.txt",
    "*.html",
    "settings.yaml",
]
# The shapes of roc-validator know the identifiers of this version alone.
VERSION = "1.1"
LICENCE = "https://spdx.org/licenses/MIT"
BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
TYPES = {".md": "text/markdown", ".tex": "application/x-tex", ".csv": "text/csv"}


def crate(results: Path, to: Path | None = None, root: Path = ROOT) -> str:
    """Write the zip, `<results>.crate.zip` unless `to` says otherwise; returns what was written.

    Raises:
        OnelayerError: the run is not whole, or the code is no checkout.
    """
    for needed in (results / "index.md", results / "settings.yaml"):
        if not needed.is_file():
            raise OnelayerError(f"{needed} does not exist; `make results` makes it")
    if not (root / "Snakefile").is_file():
        raise OnelayerError(f"{root}: no Snakefile here; a crate is made in a checkout")
    found = {file for pattern in RESULTS for file in results.glob(pattern)}
    made = sorted(file for file in found if file.is_file())
    code = [file for name in CODE.split() for file in _files(root / name)]
    places = {file: file.relative_to(root).as_posix() for file in code}
    places |= {file: f"results/{file.relative_to(results).as_posix()}" for file in made}
    sums = {file: hashlib.sha256(file.read_bytes()).hexdigest() for file in places}
    to = to or results.with_name(f"{results.name}.crate.zip")
    _describe(places, sums, results).write_zip(to)
    return f"{to}: {len(made)} files of the run, {len(code)} files of code"


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return [f for f in sorted(place.rglob("*")) if f.is_file() and "__pycache__" not in f.parts]


def _describe(places: dict[Path, str], sums: dict[Path, str], results: Path) -> ROCrate:
    run = ROCrate(version=VERSION)
    run.metadata.extra_terms["sha256"] = "https://w3id.org/ro/terms/workflow-run#sha256"
    properties = {"@type": "CreativeWork", "name": "MIT", "url": LICENCE}
    licence = run.add(ContextEntity(run, LICENCE, properties))
    entities = {}
    for file, place in places.items():
        kind = TYPES.get(file.suffix) or mimetypes.guess_type(place)[0] or "text/plain"
        properties = {"name": place, "encodingFormat": kind, "sha256": sums[file]}
        properties["contentSize"] = str(file.stat().st_size)
        if place == "Snakefile":
            properties |= {"name": "onelayer", "version": __version__, "url": place}
            workflow = run.add_workflow(
                file, place, properties=properties, main=True, lang="snakemake"
            )
        else:
            entities[place] = run.add_file(file, place, properties=properties)
    listed = "".join(f"{sums[file]}  {place}\n" for file, place in places.items())
    properties = {"name": "SHA256SUMS", "encodingFormat": "text/plain"}
    run.add_file(io.StringIO(listed), "SHA256SUMS", properties=properties)

    settings = entities["results/settings.yaml"]
    published = [entities[p] for p in places.values() if p.startswith("workflow/reference/")]
    made = [entity for place, entity in entities.items() if place.startswith("results/")]
    slot = run.add_formal_parameter("settings", "File", "#settings", "all settings of the run")
    settings["exampleOfWork"] = slot
    workflow["input"], workflow["license"] = slot, licence
    workflow["conformsTo"] = {"@id": BIOSCHEMAS}
    entities["README.md"]["about"] = run.root_dataset
    times = [datetime.fromtimestamp(f.stat().st_mtime, UTC) for f in places if results in f.parents]
    action = run.add_action(
        workflow,
        "#run",
        object=[settings, *published],
        result=[entity for entity in made if entity is not settings],
        properties={
            "name": "the run",
            "description": "all steps that led to these tables and figures",
            "startTime": min(times).isoformat(timespec="seconds"),
            "endTime": max(times).isoformat(timespec="seconds"),
        },
    )
    for profile, name in (PROFILES | {BIOSCHEMAS: "ComputationalWorkflow"}).items():
        version = profile.rpartition("/")[2]
        properties = {"@type": "CreativeWork", "name": name, "version": version}
        run.add(ContextEntity(run, profile, properties))
    run.name = "A run of onelayer"
    run.description = (
        "Experiments on how one-layer transformers learn, beside the published numbers. Text "
        "quoted from corpora is under the licences of these."
    )
    run.license, run.datePublished = licence, max(times)
    run.root_dataset["conformsTo"] = [{"@id": profile} for profile in PROFILES]
    run.root_dataset["mentions"] = action
    return run
