"""A run as one zip to hand on, a Workflow Run RO-Crate: `onelayer crate`.

It holds a run's tables, figures, pages and settings, and the code that made them, with SHA-256.
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
CODE = """Snakefile config.yaml config/**/* workflow/**/* scripts/**/* src/**/* envs/**/* Makefile
pyproject.toml requirements.lock README.md LICENSE"""
RESULTS = "tables/*/* figures/*/* benchmarks/**/*.tsv *.md *.txt *.html settings.yaml"
LICENCE = "https://spdx.org/licenses/MIT"
BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
TYPES = {".md": "text/markdown", ".tex": "application/x-tex", ".csv": "text/csv"}
DESCRIPTION = """Experiments on how one-layer transformers learn, beside the published numbers. \
Text quoted from corpora is under the licences of these."""


def crate(results: Path, to: Path | None = None) -> str:
    """Write the zip, by default `<results>.crate.zip`; `OnelayerError` if the run is not whole."""
    for needed in (results / "index.md", results / "settings.yaml"):
        if not needed.is_file():
            raise OnelayerError(f"{needed} does not exist; `make results` makes it")
    outputs, code = _found(results, RESULTS), _found(ROOT, CODE)
    places = {file: file.relative_to(ROOT).as_posix() for file in code}
    places |= {file: f"results/{file.relative_to(results).as_posix()}" for file in outputs}
    times = [datetime.fromtimestamp(file.stat().st_mtime, UTC) for file in outputs]
    to = to or results.with_name(f"{results.name}.crate.zip")
    _describe(places, min(times), max(times)).write_zip(to)
    return f"{to}: {len(outputs)} files of the run, {len(code)} files of code"


def _found(folder: Path, patterns: str) -> list[Path]:
    found = {file for pattern in patterns.split() for file in folder.glob(pattern)}
    return sorted(f for f in found if f.is_file() and "__pycache__" not in f.parts)


def _describe(places: dict[Path, str], start: datetime, end: datetime) -> ROCrate:
    run = ROCrate(version="1.1")  # the one whose identifiers roc-validator knows
    run.name, run.description = "A run of onelayer", DESCRIPTION
    run.metadata.extra_terms["sha256"] = "https://w3id.org/ro/terms/workflow-run#sha256"
    run.license = _context(run, LICENCE, "MIT", url=LICENCE)
    run.datePublished = end
    entities, sums = {}, []
    for file, place in places.items():
        sums.append(f"{(digest := hashlib.sha256(file.read_bytes()).hexdigest())}  {place}\n")
        kind = TYPES.get(file.suffix) or mimetypes.guess_type(place)[0] or "text/plain"
        about = {"name": place, "encodingFormat": kind, "sha256": digest}
        if place == "Snakefile":
            about |= {"name": "onelayer", "version": __version__, "url": place}
            about |= {"license": run.license, "conformsTo": {"@id": BIOSCHEMAS}}
            how = {"main": True, "lang": "snakemake", "properties": about}
            entities[place] = run.add_workflow(file, place, **how)
        else:
            entities[place] = run.add_file(file, place, properties=about)
    about = {"name": "SHA256SUMS", "encodingFormat": "text/plain"}
    run.add_file(io.StringIO("".join(sums)), "SHA256SUMS", properties=about)
    workflow, settings = entities["Snakefile"], entities["results/settings.yaml"]
    slot = run.add_formal_parameter("settings", "File", "#settings", "all settings of the run")
    settings["exampleOfWork"] = workflow["input"] = slot
    for profile, name in (PROFILES | {BIOSCHEMAS: "ComputationalWorkflow"}).items():
        _context(run, profile, name, version=profile.rpartition("/")[2])
    run.root_dataset["conformsTo"] = [{"@id": profile} for profile in PROFILES]
    published = [one for place, one in entities.items() if place.startswith("workflow/reference/")]
    outputs = [one for place, one in entities.items() if place.startswith("results/")]
    outputs.remove(settings)
    about = {"name": "the run", "description": "all steps that led to these tables and figures"}
    about["startTime"], about["endTime"] = (t.isoformat(timespec="seconds") for t in (start, end))
    of = {"object": [settings, *published], "result": outputs, "properties": about}
    run.root_dataset["mentions"] = run.add_action(workflow, "#run", **of)
    return run


def _context(run: ROCrate, identifier: str, name: str, **more: str) -> ContextEntity:
    return run.add(ContextEntity(run, identifier, {"@type": "CreativeWork", "name": name} | more))
