"""One zip of a run, for a reviewer, an archive or another machine: `onelayer pack results`."""

import hashlib
import html
import json
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from onelayer.errors import OnelayerError
from onelayer.evidence.pages import page
from onelayer.evidence.tables import by_table, markdown
from onelayer.papers.findings import TABLES
from onelayer.report.crate.archive import SUMS, write_archive
from onelayer.report.crate.code import COMMIT, code_of_checkout
from onelayer.report.crate.metadata import (
    CODE,
    METADATA,
    PREVIEW,
    README,
    WARNINGS,
    Contents,
    describe,
)
from onelayer.report.crate.predictions import Sealed, read_predictions
from onelayer.report.records import (
    Records,
    enter,
    read_records,
    refuse,
    shown_files,
    steps_behind,
    unmade,
)
from onelayer.run.provenance import REPOSITORY, code_digest, sums
from onelayer.settings.kept import SETTINGS, kept_settings

# What is read of a run beside its tables and figures, where it was made.
PAGES = ("index.md", "findings.md", "verdicts.html", "reading.html")

_README = """# A run of onelayer

Tables and figures, every step that led to them, and the code that made them: a Workflow Run
RO-Crate.
Open `ro-crate-preview.html` first; `ro-crate-metadata.json` says all of it to programs.

    sha256sum --quiet --check SHA256SUMS      # are these the files that were packed?
    onelayer verify RUN.zip                   # and what the steps made?
    onelayer again RUN.zip                    # does a table come out again, to the byte?

`onelayer` is the package in `code/`. Checkpoints and corpora are named in the metadata by size, sum
and source. Text quoted from corpora is under the licences that are named there.
"""


def main(
    results: Path, to: Path | None = None, with_data: bool = False, root: Path = REPOSITORY
) -> str:
    """What `onelayer pack` says: what is in the zip of a run that `root` made, and last its path.

    Raises:
        OnelayerError: the run is not as its steps left it, or not made by the commit's code.
    """
    place = (to or Path(f"{results.resolve()}.crate.zip")).resolve()
    results = enter(results)
    contents = gather(results, with_data, root)
    inside = {contents.place(path, sha256): path for path, sha256 in contents.inside.items()}
    files: dict[str, Path | bytes] = {f"{CODE}/{p}": text for p, text in contents.code.items()}
    files |= {inner: Path(path) for inner, path in inside.items()}
    metadata = describe(contents)
    if taken := sorted({METADATA, COMMIT, SUMS, CODE} & files.keys()):
        raise OnelayerError(f"{results / taken[0]}: a file of this name is the archive's own")
    expected = {inner: contents.inside[path] for inner, path in inside.items()}
    write_archive(place, files | contents.added | {METADATA: metadata}, expected)
    size, said = place.stat().st_size, len(metadata)
    return (
        f"{len(contents.files)} files of tables, figures and pages by {len(contents.steps)} steps, "
        f"{size / 1e6:.1f} MB; metadata {said / 1e6:.2f} MB\n{place}"
    )


def gather(results: Path, with_data: bool, root: Path) -> Contents:
    """What an archive holds, as `main`; the working directory is where the run was made."""
    commit, code, proof = code_of_checkout(root)
    records = read_records(results)
    shown = shown_files(results)
    if not shown:
        raise OnelayerError(f"{results}: no tables and no figures here; `make results` makes them")
    shown |= {str(results / name) for name in PAGES if (results / name).is_file()}
    files = sums(map(Path, sorted(shown)))
    steps = steps_behind(files, records)
    _check_steps(steps, commit, code, root)
    settings = kept_settings(results)
    behind = {p: s for step in steps for p, s in step["outputs"].items() if Path(p).is_file()}
    refuse(unmade(sums(map(Path, behind.keys() - shown)), records))
    predictions = _predictions(files, records, commit, root)
    readme = [_README]
    if predictions:
        lines = (f"- {p.claim}, *{p.status}*: {markdown(p.text)}" for p in predictions)
        readme += ["## Predictions", "", *lines, ""]
    warnings = (  # each with the first file that its step made
        f"{step['step']} {next(iter(step['outputs']))}: {warning}\n"
        for step in steps
        for warning in step["warnings"]
    )
    added = {
        SETTINGS: (json.dumps(settings, indent=1, ensure_ascii=False) + "\n").encode(),
        WARNINGS: "".join(sorted(warnings)).encode(),
        COMMIT: proof,
        PREVIEW: _preview(results, files, behind),
        README: "\n".join(readme).encode(),
    }
    inside = files | (behind if with_data else {})
    return Contents(results, files, steps, commit, inside, code, added, settings, predictions, root)


def _check_steps(
    steps: Iterable[Mapping], commit: str, code: Mapping[str, bytes], root: Path
) -> None:
    """Refuse other code than the commit's, and a file that two steps, or it, knew by two sums."""
    seen: dict[str, tuple[str, str]] = {}
    for step in steps:
        name = step["step"]
        if code_digest(name, root) != step["code"]:
            raise OnelayerError(
                f"{name} ran with other code than that of commit {commit[:12]}: make the run "
                "again, or check out the commit that made it"
            )
        for path, sha256 in (step["inputs"] | step["outputs"]).items():
            committed = code.get(os.path.relpath(Path(path).resolve(), root))
            if committed is not None:
                seen[path] = "the commit", hashlib.sha256(committed).hexdigest()
            other, expected = seen.setdefault(path, (name, sha256))
            if expected != sha256:
                raise OnelayerError(
                    f"{path}: {name} knew it with sha256 {sha256}, {other} with {expected}: the "
                    "command that made the run makes it whole again"
                )


def _predictions(
    files: Mapping[str, str], records: Records, commit: str, root: Path
) -> list[Sealed]:
    started = {}
    for name, path in by_table(Path(path) for path in files if path.endswith(".csv")).items():
        times = [step["started"] for step in records.before({str(path): files[str(path)]})]
        started[name] = min(times, default="")
    return read_predictions(TABLES, started, commit, root)


def _preview(results: Path, files: Iterable[str], behind: Collection[str]) -> bytes:
    """The first page of the report; of a part of a run, which has none, a list of what there is."""
    overview = results / "overview.html"
    if str(overview) in behind:  # its sum was compared
        return overview.read_bytes()
    places = (Path(path).relative_to(results).as_posix() for path in files)
    listed = [f'<li><a href="{quote(p)}">{html.escape(p)}</a></li>' for p in places]
    return page("A run of onelayer", ["<ul>", *listed, "</ul>"]).encode()
