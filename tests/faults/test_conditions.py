"""Where a run may find itself: foreign locales and styles, clocks, lost memory, closed folders."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.conftest import (
    ROOT,
    SMOKE,
    clean_environment,
    copy_run,
    run_command,
    run_script,
    snakemake,
)
from tests.faults.conftest import parts, results
from tests.steps import forking

pytestmark = pytest.mark.workflow

ONE_CORE = ("--cores", "1", *SMOKE)
# A step that reads text, one that computes, a table of each, and a figure.
AGAIN = (
    *("--forcerun", "results/corpus/vital-articles/summary.parquet"),
    *("results/decision_lists/solved.parquet", "--"),
    *("table_corpora", "table_theorem_1", "figure_time_to_perfect"),
)
# A style of somebody else's, with which every figure would be another.
MATPLOTLIBRC = """
backend: svg
axes.grid: True
axes.facecolor: yellow
axes.prop_cycle: cycler("color", ["red", "lime"])
axes.formatter.use_locale: True
font.family: monospace
text.usetex: True
lines.linestyle: --
image.cmap: jet
savefig.bbox: tight
savefig.transparent: True
pdf.compression: 0
"""
LOCALES = {
    "Turkish, not in UTF-8": ("tr_TR", "ISO-8859-9"),
    "nothing but ASCII": None,
}


@pytest.fixture(scope="module")
def unchanged(smoke_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the finished smoke run; every test leaves the same bytes in it."""
    return copy_run(smoke_run, tmp_path_factory.mktemp("conditions") / "project")


def differing(project: Path, smoke_run: Path) -> list[str]:
    """Results that are not those of the undisturbed run; the crate is made anew elsewhere."""
    found, expected = results(project), results(smoke_run)
    assert set(found) == set(expected)
    return [name for name in expected if found[name] != expected[name]]


def locale_of(name: str, folder: Path) -> dict[str, str]:
    """The environment of a user with this locale, which is made if the machine lacks it."""
    if not LOCALES[name]:
        return {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    language, charset = LOCALES[name]
    locale = f"{language}.{charset}"
    command = ["localedef", "--inputfile", language, "--charmap", charset, folder / locale]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"the locale {locale} cannot be made here: {error}")
    return {"LOCPATH": str(folder), "LC_ALL": locale, "LANG": locale}


@pytest.mark.parametrize("name", LOCALES)
def test_neither_locale_nor_style_nor_a_missing_terminal_reaches_a_byte(
    name, unchanged, smoke_run, tmp_path
):
    style = tmp_path / "matplotlibrc"
    style.write_text(MATPLOTLIBRC)
    environment = clean_environment(MATPLOTLIBRC=str(style), **locale_of(name, tmp_path))
    seen = subprocess.run(
        [sys.executable, "-c", "import locale; print(locale.getpreferredencoding(False))"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert seen == (LOCALES[name] or ("", "ANSI_X3.4-1968"))[1]
    with open(tmp_path / "out", "wb") as output:
        run = subprocess.run(
            [sys.executable, "-m", "snakemake", *ONE_CORE, *AGAIN],
            cwd=unchanged,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # no terminal anywhere
            check=False,
        )
    said = (tmp_path / "out").read_text(encoding="utf-8", errors="replace")
    assert run.returncode == 0, said
    assert "(Rule: figure_time_to_perfect)" in said and "(Rule: parse_articles)" in said
    assert differing(unchanged, smoke_run) == []


def test_without_snakemakes_memory_nothing_is_made_twice_and_a_line_says_so(finished, smoke_run):
    shutil.rmtree(finished / ".snakemake")
    run = snakemake(finished, *ONE_CORE)
    assert run.returncode == 0 and "Nothing to be done" in run.stdout, run.stdout
    [line] = [line for line in run.stdout.splitlines() if ".snakemake/metadata, is lost" in line]
    assert "--forceall" in line and "--touch" in line
    assert differing(finished, smoke_run) == []
    assert verified(finished).returncode == 0


def touch(project: Path, seconds: float, *names: str) -> None:
    """Date results by so much later; all of them where none is named."""
    files = (project / "results").rglob("*")
    for path in [project / name for name in names] or [f for f in files if f.is_file()]:
        dated = path.stat().st_mtime + seconds
        if path.stat().st_nlink > 1:  # the smoke run's, too
            shutil.copyfile(path, path.with_name("own"))
            path.with_name("own").replace(path)
        os.utime(path, (dated, dated))


def test_a_clock_that_was_set_back_is_named_and_costs_no_byte(finished, smoke_run):
    touch(finished, 2 * 86400)
    run = snakemake(finished, "--dry-run", *SMOKE)
    assert "Nothing to be done" in run.stdout, run.stdout

    articles, words = (
        f"results/{name}"
        for name in ("corpus/vital-articles/articles.arrow", "topics/vital-articles/counts.npz")
    )
    touch(finished, -3 * 86400)
    touch(finished, 5 * 86400, articles)  # as if made before the clock was set back
    run = snakemake(finished, *ONE_CORE, "--", words)
    assert run.returncode == 1 and "Traceback" not in run.stdout
    [line] = [line for line in run.stdout.splitlines() if "clock skew" in line]
    assert articles in line
    touch(finished, -5 * 86400, articles)
    run = snakemake(finished, *ONE_CORE, "--", words)
    assert run.returncode == 0, run.stdout
    assert differing(finished, smoke_run) == [] and parts(finished) == []


def python_of(user: Sequence[str]) -> Sequence[object]:
    """A Python; as another user none that another process forks."""
    return (*user, sys.executable) if user else [forking()]


def verified(project: Path, *user: str) -> subprocess.CompletedProcess:
    """`make verify`."""
    command = (*python_of(user), "-m", "onelayer", "verify", "results")
    return run_script(*command, folder=project, PYTHONPATH=str(ROOT / "src"))


@pytest.fixture(params=["another user's", "a read-only disk's"])
def closed(request, unchanged: Path, tmp_path: Path) -> Iterator[tuple[Path, list[str]]]:
    """A finished folder that cannot be written, and what makes a command that of such a user."""
    root = os.getuid() == 0
    if request.param.startswith("a read-only"):
        folder = tmp_path / "disk"
        folder.mkdir()
        bind = subprocess.run(["mount", "--bind", unchanged, folder], check=False)
        if bind.returncode:
            pytest.skip("a folder cannot be mounted read-only here")
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
            yield folder, []
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)
        return
    folder = Path(shutil.copytree(unchanged, tmp_path / "project", symlinks=True))
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)
            if root:
                os.chown(path, 65534, 65534)
    # Root without its privileges over files is like anybody else.
    less = "-dac_override,-dac_read_search,-fowner,-chown"
    yield folder, ["setpriv", "--bounding-set", less] if root else []
    for path in [folder, *folder.rglob("*")]:
        with contextlib.suppress(FileNotFoundError):
            path.chmod(0o700)


def test_in_a_folder_that_may_only_be_read_one_line_says_so_and_verifying_works(closed):
    folder, user = closed
    for arguments in (["--dry-run"], [], ["--", "table_theorem_1"]):
        command = [*python_of(user), "-m", "snakemake", *ONE_CORE, *arguments]
        run = run_command(*command, folder=folder)
        assert run.returncode == 1, run.stdout
        [line] = [line for line in run.stdout.splitlines() if "may not be written" in line]
        assert line.startswith(f"directory: {folder}") and "onelayer verify results" in line
        assert "Traceback" not in run.stdout
    run = verified(folder, *user)
    assert run.returncode == 0, run.stderr
    assert "tables and figures hold" in run.stdout


def test_a_full_disk_stops_a_run_in_one_line_and_the_same_command_goes_on(disk, smoke_run):
    command = (
        *("--snakefile", str(smoke_run / "Snakefile"), "--directory", str(disk), "--cores", "1"),
        *("--configfile", str(smoke_run / SMOKE[1]), "--", "table_theorem_1"),
    )
    prepared = snakemake(smoke_run, "--dry-run", *command)
    assert prepared.returncode == 0, prepared.stdout
    filler = disk / "filler"
    for left, line in ((40 << 10, "no space left on device while writing"), (0, "is full")):
        there = os.statvfs(disk)
        with filler.open("ab") as file:
            file.write(bytes(there.f_bavail * there.f_frsize - left))
        run = snakemake(smoke_run, *command)
        assert run.returncode == 1
        assert line in run.stdout, run.stdout
    filler.unlink()
    run = snakemake(smoke_run, *command)
    assert run.returncode == 0, run.stdout
    for form in ("csv", "md", "tex", "html"):
        table = f"results/tables/decision_lists/theorem_1.{form}"
        assert (disk / table).read_bytes() == (smoke_run / table).read_bytes()
    assert parts(disk) == []
