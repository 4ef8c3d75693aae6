"""Archives of real runs: any part of a small run comes out of its archive as it went in.

`make test-faults` runs it: each case packs, unpacks and verifies, and then changes bytes.
"""

import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

from onelayer.report.crate.metadata import METADATA
from tests.conftest import check_in, run_command
from tests.crates import rezip
from tests.steps import forking

pytestmark = [pytest.mark.workflow, pytest.mark.faults]

SHOWN = ("tables", "figures", "animations")
PARTS, BYTES = 5, 4  # parts of a run, bytes changed in the archive of each


def onelayer(folder: Path, *words: object) -> subprocess.CompletedProcess:
    """The project's command, with the code of this folder."""
    source = str(folder / "src")
    return run_command(forking(), "-m", "onelayer", *words, folder=folder, PYTHONPATH=source)


def left_of(project: Path, draw: np.random.Generator) -> None:
    """Remove some of a run's tables and figures, and the pages that speak of all of them."""
    results = project / "results"
    for page in [*results.glob("*.html"), *results.glob("*.md"), *results.glob("ro-crate*")]:
        page.unlink()
    made = sorted({path.with_suffix("") for kind in SHOWN for path in results.glob(f"{kind}/*/*")})
    for base in draw.permutation(made)[: draw.integers(len(made))]:
        for path in base.parent.glob(f"{base.name}.*"):
            path.unlink()


def test_any_part_of_a_run_comes_out_of_its_archive_and_any_changed_byte_is_found(finished):
    check_in(finished)
    found = 0
    for seed in range(PARTS):
        draw = np.random.default_rng(seed)
        if seed:  # first the whole run, then less and less
            left_of(finished, draw)
        archive = finished / f"{seed}.zip"
        data = ["--with-data"] if seed == 1 else []
        packed = onelayer(finished, "pack", "results", "--to", archive, *data)
        assert packed.returncode == 0, packed.stdout
        with zipfile.ZipFile(archive) as zipped:
            inside = {name: zipped.read(name) for name in zipped.namelist()}
        shown = [path for kind in SHOWN for path in (finished / "results").glob(f"{kind}/*/*.*")]
        names = {path.relative_to(finished / "results").as_posix(): path for path in shown}
        assert {name for name in inside if name.split("/")[0] in SHOWN} == names.keys()
        # With data these are among the files as well; the metadata speaks of the code, too.
        same = {name: finished / "results" / name for name in inside.keys() - {METADATA}}
        same = {name: path for name, path in same.items() if path.is_file()}
        assert names.items() <= same.items()
        assert bool(data) == any("/" in name for name in same.keys() - names.keys())
        assert [n for n, path in same.items() if inside[n] != path.read_bytes()] == []
        with zipfile.ZipFile(archive) as zipped:
            zipped.extractall(finished / f"unpacked/{seed}")
        for place in (archive, finished / f"unpacked/{seed}"):
            assert onelayer(finished, "verify", place).returncode == 0
        for name in draw.choice([name for name in inside if inside[name]], BYTES, replace=False):
            content = bytearray(inside[name])
            content[draw.integers(len(content))] ^= draw.integers(1, 256)
            changed = inside | {name: bytes(content)}
            forged = rezip(archive, finished / "forged.zip", lambda _, changed=changed: changed)
            refused = onelayer(finished, "verify", forged)
            assert refused.returncode == 1, name
            assert "Traceback" not in refused.stdout, name
            found += 1
    assert found == PARTS * BYTES
