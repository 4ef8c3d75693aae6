"""Keep a run's tables and findings as the reference run, `docs/reference`, with its machine.

README and docs quote the reference run, and `make compare` sets other runs beside it.
"""

import json
import os
import platform
import shutil
import sys
from pathlib import Path

from onelayer.comparison import REFERENCE
from onelayer.errors import OnelayerError
from onelayer.provenance import library_versions

KEPT = ("findings.md", "figures/topic_structure/wikipedia_ratios.png")


def keep(results: Path, reference: Path) -> None:
    """Replace the reference run by the run in a folder.

    Args:
        results: a finished run, with its manifest.
        reference: where its tables (CSV), its findings, the first picture and `machine.json` go.

    Raises:
        OnelayerError: the run is not finished.
    """
    manifest = results / "manifest.json"
    if missing := [p for p in (manifest, *(results / n for n in KEPT)) if not p.is_file()]:
        raise OnelayerError(f"{missing[0]} does not exist: run `make results` first")
    shutil.rmtree(reference, ignore_errors=True)
    for table in sorted(results.glob("tables/*/*.csv")):
        copy = reference / table.relative_to(results)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(table, copy)
    for name in KEPT:
        shutil.copyfile(results / name, reference / Path(name).name)
    known = machine() | {"commit": json.loads(manifest.read_text("utf-8"))["commit"]}
    (reference / "machine.json").write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def machine() -> dict[str, str]:
    """What decides rounding, and with it a training near a transition: processor and libraries."""
    cpu = platform.processor() or platform.machine()
    flags = ""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = dict(
            line.split(":", 1) for line in info.read_text("utf-8").splitlines() if ":" in line
        )
        named = {key.strip(): value.strip() for key, value in lines.items()}
        cpu = f"{named.get('model name', cpu)} (family {named.get('cpu family')}, model "
        cpu += f"{named.get('model')})"
        known = set(named.get("flags", "").split())
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
    except OnelayerError as error:
        sys.exit(str(error))
