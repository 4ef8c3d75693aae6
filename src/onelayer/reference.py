"""Keep a run's tables and findings as the reference run, `docs/reference`, with its machine.

README and docs quote the reference run, and `make compare` sets other runs beside it.
"""

import json
import os
import platform
import re
import shutil
import sys
from pathlib import Path

from onelayer.comparison import REFERENCE
from onelayer.errors import OnelayerError
from onelayer.findings import quotes, requoted
from onelayer.provenance import REPOSITORY, library_versions
from onelayer.stability.machines import describe_processor

# What quotes it.
TEXTS = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
PICTURE = "figures/topic_structure/wikipedia_ratios.png"


def keep(results: Path, reference: Path) -> None:
    """Replace the reference run by the run in a folder.

    Args:
        results: a finished run, with its manifest.
        reference: where its tables (CSV), its findings, the first picture and `machine.json` go.

    Raises:
        OnelayerError: the run is not finished.
    """
    needed = [results / name for name in ("manifest.json", "findings.md", PICTURE)]
    if missing := [path for path in needed if not path.is_file()]:
        raise OnelayerError(f"{missing[0]} does not exist: run `make results` first")
    shutil.rmtree(reference, ignore_errors=True)
    for table in sorted(results.glob("tables/*/*.csv")):
        copy = reference / table.relative_to(results)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(table, copy)
    manifest, findings, picture = needed
    shutil.copyfile(picture, reference / picture.name)
    (reference / findings.name).write_text(
        as_kept(findings.read_text(encoding="utf-8")), encoding="utf-8"
    )
    known = machine() | {"commit": json.loads(manifest.read_text("utf-8"))["commit"]}
    (reference / "machine.json").write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def as_kept(findings: str) -> str:
    """A page of findings whose links lead to the tables that are kept."""
    return re.sub(r"(\(tables/[a-z0-9_/]+)\.md\)", r"\1.csv)", findings)


def machine() -> dict[str, str]:
    """What decides rounding, and with it a training near a transition: processor and libraries."""
    cpu = platform.processor() or platform.machine()
    if described := describe_processor():
        cpu = f"{described.get('model name', cpu)} (family {described.get('cpu family')}, model "
        cpu += f"{described.get('model')})"
    known = described.get("flags", "").split()
    flags = " ".join(flag for flag in ("avx2", "avx512f", "amx_tile") if flag in known)
    return {
        "cpu": cpu,
        "instructions": flags,
        "cores": str(os.cpu_count()),
        "libraries": library_versions("pretrain_model"),
    }


if __name__ == "__main__":
    try:
        keep(Path(*sys.argv[1:]), REFERENCE)
        found = dict(quotes((REFERENCE / "findings.md").read_text(encoding="utf-8")))
        for path in TEXTS:
            path.write_text(requoted(path.read_text("utf-8"), found), encoding="utf-8")
    except OnelayerError as error:
        sys.exit(str(error))
