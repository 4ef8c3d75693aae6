"""The command `onelayer`: what is asked of a run that is there, and `onelayer probe CHECKPOINT`.

The probe of one model writes an overlay that names the checkpoint and a random control of its
architecture, and has Snakemake make the tables of the two. All that it makes lies in one folder, so
that the next checkpoint finds the topics there.
"""

import argparse
import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.run.provenance import REPOSITORY

TABLE = "topic_structure/wikipedia_{overlap}"
# Of what Snakemake and the steps say, this is passed on: how far it is, and what went wrong.
_PROGRESS = re.compile(r"^\d+ of \d+ steps \(\d+%\) done$")
_ERROR = re.compile(r"^(?:ERROR\s+|(?=config: |directory: ))(.*)$")

# Arguments that several commands have.
FLAG = {"action": "store_true"}
CORES = {"default": "all", "help": "how many cores it may use; default: %(default)s"}
FOLDER = {"type": Path, "default": "results", "help": "a run's folder; default: %(default)s"}
RUN = {"nargs": "?", **FOLDER}
Command = Callable[[str, str, str], Callable[..., object]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status, 1 after one line that says what is wrong."""
    parsed = _parser().parse_args(arguments)
    try:
        if said := parsed.run(parsed):
            print(said)
    except OnelayerError as error:
        print(f"onelayer: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="onelayer",
        description="Experiments on how one-layer transformers learn",
        epilog="example: onelayer probe path/to/checkpoint --corpus vital-articles",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, purpose: str, module: str) -> Callable[..., object]:
        """What adds arguments to a new command: words for the `main` of a module, if it has one."""
        added = commands.add_parser(name, help=purpose)
        added.set_defaults(run=_run_main if module else _probe, module=module)
        return added.add_argument

    _add_models(command)
    _add_archive(command)
    _add_run(command)
    return parser


def _add_models(command: Command) -> None:
    """What is asked of models: the probe, and what a hub has."""
    purpose = "probe a checkpoint beside a random control, and print the table"
    add = command("probe", purpose, "")
    add("checkpoint", help="a folder, or OWNER/NAME on a hub with --revision")
    add("--revision", help="commit of the repository on a hub, 40 hexadecimal digits")
    add("--name", help="its name in the table; default: the last part of CHECKPOINT")
    add("--corpus", help="a corpus of the settings; default: that of the tables")
    add("--overlap", choices=("disjoint", "overlapping"), default="disjoint", help="which table")
    add("--configfile", action="append", default=[], help="an overlay of the settings; repeatable")
    add("--directory", default="runs/probe", help="where it runs; default: %(default)s")
    add("--cores", **CORES)
    add("--dry-run", **FLAG, help="say what would run, and run nothing")

    purpose = "print a hub model's entry for the settings, or ask a hub for all files of overlays"
    add = command("pin", purpose, "text.pinning")
    add("repository", nargs="?", help="OWNER/NAME on a hub")
    add("--revision", default="main", help="a branch, tag or commit; default: %(default)s")
    said = "say of all that the settings with these overlays take from a hub whether it is there"
    add("--check", nargs="*", metavar="OVERLAY", help=said)


def _add_archive(command: Command) -> None:
    """What is asked of a run and of its zip."""
    purpose = "compare every file of a run, or of its zip, with the record of its step"
    add = command("verify", purpose, "report.crate.verification")
    add("results", **RUN | {"help": f"{FOLDER['help']}; or a zip of `onelayer pack`"})

    purpose = "put a run into one zip, a Workflow Run RO-Crate, to hand on"
    add = command("pack", purpose, "report.crate.packing")
    add("results", **RUN)
    add("--to", type=Path, help="the zip; default: results.crate.zip beside the folder")
    add("--with-data", **FLAG, help="checkpoints, corpora and all else that steps made, too")

    purpose = "make a table of a zip again, by the zip's own code, and compare bytes"
    add = command("again", purpose, "report.crate.again")
    add("archive", type=Path, help="a zip of `onelayer pack`")
    said = "a table's or figure's target, or all; default: the cheapest table"
    add("target", nargs="?", help=said)
    said = "where code and results go; default: a folder beside the zip"
    add("--to", type=Path, help=said)
    add("--yes", **FLAG, help="run the zip's code without asking")
    add("--no-install", **FLAG, help="use this environment in place of the zip's lock")
    add("--cores", **CORES)

    add = command("cite", "print BibTeX of what a run's tables rest on", "report.crate.citation")
    add("tables", nargs="*", metavar="TABLE", help="default: all")
    add("--results", **FOLDER)


def _add_run(command: Command) -> None:
    """What is asked of a run's tables, and of the settings."""
    command("targets", "what `snakemake --cores all TARGET` makes, a line each", "report.registry")

    purpose = "set a run's tables beside those of the reference run"
    add = command("compare", purpose, "report.comparison")
    add("results", **RUN)
    add("--verbose", **FLAG, help="name every verdict that is another one")

    add = command("outcome", "say in a few lines what came out of a run", "report.outcome")
    add("results", **RUN)
    add("--compared", **FLAG, help="and how much of it is not as in the reference run")

    purpose = "are the bytes of a portable run those that are kept?"
    add = command("same-bytes", purpose, "report.same_bytes")
    add("results", **RUN)
    add("--keep", **FLAG, help="put the sums of this run in the place of those that are kept")

    purpose = "say again what follows from the reference run's tables"
    add = command("reference", purpose, "report.reference")
    add("results", **RUN)
    add("--keep", **FLAG, help="make this run the reference run first")
    add("--beside", **FLAG, help="keep this run, of some targets, beside the reference run first")

    add = command("schema", "write the schema of the settings", "run.schema")
    add("--check", **FLAG, help="write nothing, and fail where it is out of date")


def _run_main(parsed: argparse.Namespace) -> str | None:
    words = {name: word for name, word in vars(parsed).items() if name not in ("run", "module")}
    return importlib.import_module(f"onelayer.{parsed.module}").main(**words)


def _probe(parsed: argparse.Namespace) -> None:
    source, directory = _source(parsed), Path(parsed.directory)
    last = Path(parsed.checkpoint).expanduser().resolve().name
    name = parsed.name or re.sub(r"[^A-Za-z0-9.-]+", "-", last).strip("-.") or "checkpoint"
    _check_name(name)
    overlay = {
        "models": {
            name: source | {"note": f"probed from {parsed.checkpoint}"},
            f"random-{name}": {"source": "random", "like": name, "note": "random weights"},
        },
        "topic_structure": {"wikipedia": {"models": [name, f"random-{name}"]}},
    }
    if parsed.corpus:
        overlay["topic_structure"]["wikipedia"]["corpus"] = parsed.corpus
    text = json.dumps(overlay, indent=2) + "\n"  # JSON is YAML
    page = "results/reading.html"
    targets = [f"table_wikipedia_{parsed.overlap}", page]
    if parsed.dry_run:
        print(_planned(parsed, text, targets))
        return
    kept = directory / name  # the next probe writes another table in the same place
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "overlay.yaml").write_text(text, encoding="utf-8")
    _snakemake(parsed, directory, [*parsed.configfile, kept / "overlay.yaml"], targets)
    from onelayer.report import probed

    table = f"results/tables/{TABLE.format(overlap=parsed.overlap)}.csv"
    page, table = (Path(shutil.copy2(directory / made, kept)) for made in (page, table))
    print(probed.said(table, name, f"random-{name}"))
    print(f"\nAttention on a text: {page}")
    print(f"All numbers: {table}")


def _planned(parsed: argparse.Namespace, overlay: str, targets: Sequence[str]) -> str:
    """What would run, where nothing is written: a folder that is not there is an empty one."""
    with tempfile.TemporaryDirectory() as scratch:
        place, empty = Path(scratch, "overlay.yaml"), Path(scratch, "run")
        place.write_text(overlay, encoding="utf-8")
        directory = Path(parsed.directory) if Path(parsed.directory).exists() else empty
        said = _snakemake(parsed, directory, [*parsed.configfile, place], targets)
    return said.partition("Job stats:\n")[2].partition("\n\n")[0] or "Nothing to be done"


def _check_name(name: str) -> None:
    """Refuse the name of a model of the settings, or of a checkpoint of one: `bert-here-0`.

    A model's control is named after it: `random-7`. And its folder is beside that of the results.
    """
    from onelayer.settings.root import default_settings  # no other command needs it

    settings = default_settings()
    for taken in (name, f"random-{name}"):
        if taken in settings.models or settings.named_like_a_checkpoint_of(taken):
            raise OnelayerError(f"{taken} is a model of the settings: give yours another --name")
    if name == "results":
        raise OnelayerError("results is the folder of the run: give your model another --name")


def _source(parsed: argparse.Namespace) -> dict[str, object]:
    """Where the checkpoint comes from, as the settings say it."""
    folder = Path(parsed.checkpoint).expanduser()
    if parsed.revision:
        hub = {"repository": parsed.checkpoint, "revision": parsed.revision}
        return {"source": "hub", "hub": hub}
    if folder.is_file():
        raise OnelayerError(f"{parsed.checkpoint}: is a file; name the folder that it lies in")
    if not folder.is_dir():
        raise OnelayerError(
            f"{parsed.checkpoint}: there is no such folder; a repository on a hub needs --revision"
        )
    return {"source": "local", "local": {"path": str(folder.resolve())}}


def _snakemake(
    parsed: argparse.Namespace, directory: Path, overlays: Sequence[object], targets: Sequence[str]
) -> str:
    """Run Snakemake, pass on how far it is, and return what it said.

    Raises:
        OnelayerError: there is no Snakemake, or it failed; the line says why.
    """
    if not importlib.util.find_spec("snakemake"):
        raise OnelayerError("snakemake is not installed; `onelayer probe` needs it")
    for overlay in overlays:
        if not Path(str(overlay)).is_file():
            raise OnelayerError(f"--configfile: {overlay} does not exist")
    command = [sys.executable, "-m", "snakemake", "--snakefile", REPOSITORY / "Snakefile"]
    command += ["--directory", directory, "--cores", parsed.cores, "--nocolor"]
    command += [*["--dry-run"] * parsed.dry_run, "--configfile", *overlays, "--", *targets]
    lines, errors = [], []
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8"}
    with subprocess.Popen(list(map(str, command)), **piped) as process:
        for line in map(str.rstrip, process.stdout):
            lines.append(line)
            errors += [match[1] for match in [_ERROR.match(line.strip())] if match]
            if _PROGRESS.match(line):
                print(line, file=sys.stderr)
    if process.returncode:
        raise OnelayerError([*errors, *filter(None, lines[-1:]), f"{targets[0]} was not made"][0])
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
