"""The command `onelayer`: probe a model of one's own, compare a run, make a crate of it."""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from onelayer.errors import OnelayerError

ROOT = Path(__file__).parents[2]  # of the checkout


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status, 1 after one line that says what is wrong."""
    about = "Experiments on how one-layer transformers learn"
    parser = argparse.ArgumentParser(prog="onelayer", description=about)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    folder = {"type": Path, "default": Path("results"), "help": "a run's folder; default: results"}

    probe = commands.add_parser("probe", help="does a model's attention follow topics?")
    probe.set_defaults(run=_probe)
    named = "a folder, or OWNER/NAME@COMMIT of a hub"
    probe.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT", help=named)
    probe.add_argument("--corpus", default="vital-articles", help="default: %(default)s")
    overlaps = ("disjoint", "overlapping")
    probe.add_argument("--overlap", choices=overlaps, default="disjoint", help="of the topics")
    probe.add_argument("--documents", type=_documents, default=1000, help="default: %(default)s")
    probe.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    batches = {"type": int, "choices": range(1, 1025), "metavar": "N", "default": 1}
    probe.add_argument("--batch", **batches, help="texts a pass (a CPU gains nothing); default: 1")
    probe.add_argument("--results", **folder | {"help": "a run that has topics; default: results"})
    to = "where the results go; default: runs/probe/NAME+NAME"
    probe.add_argument("--to", type=Path, help=to)
    probe.add_argument("--cores", default="all", help="for topics that are not there yet")

    compare = commands.add_parser("compare", help="a run's tables beside the reference run's")
    compare.set_defaults(run=lambda **given: import_module("onelayer.compare").compare(**given))
    compare.add_argument("results", nargs="?", **folder)
    compare.add_argument("--reference", type=Path, default=ROOT / "docs/reference")
    compare.add_argument("--verbose", action="store_true", help="name every row that moved")

    crate = commands.add_parser("crate", help="one zip of a run to hand on, an RO-Crate")
    crate.set_defaults(run=lambda **given: import_module("onelayer.crate").crate(**given))
    crate.add_argument("results", nargs="?", **folder)
    crate.add_argument("--to", type=Path, help="the zip; default: results.crate.zip")

    given = vars(parser.parse_args(arguments))
    try:
        print(given.pop("run")(**given))
    except (OnelayerError, OSError) as error:  # such as a folder that cannot be written
        print(f"onelayer: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _documents(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"a whole number of at least 2 is needed, found {text!r}")
    return int(text)


def _probe(
    checkpoints: Sequence[str], results: Path, to: Path | None, cores: str, **options
) -> str:
    names = list(map(_name, checkpoints))
    names = names if len(set(names)) == len(names) else checkpoints
    if len(set(names)) < len(names):
        raise OnelayerError("a checkpoint is named twice")
    to = to or Path("runs/probe", "+".join(names).replace("/", "_")[:100])
    folders = {name: _folder(one, to) for name, one in zip(names, checkpoints, strict=True)}
    _make_topics(results, options["corpus"], cores)
    os.environ["HF_HUB_OFFLINE"] = "1"  # before its client is imported
    from onelayer.ensemble.execution import progress_bar
    from onelayer.probe import compare_checkpoints

    return compare_checkpoints(folders, results, to, **options, progress=progress_bar)


def _name(checkpoint: str) -> str:
    """The last part of a path, or of a hub's name with a short commit."""
    path = Path(checkpoint).expanduser()
    name, at, commit = checkpoint.rpartition("/")[2].partition("@")
    return path.resolve().name if path.is_dir() else f"{name}{at}{commit[:7]}"


def _folder(checkpoint: str, to: Path) -> Path:
    """A checkpoint's folder, which can be probed; of a hub's it is fetched into one below `to`."""
    from onelayer.text.models.checkpoints import check_folder, copy_checkpoint

    path, (name, at, commit) = Path(checkpoint).expanduser(), checkpoint.rpartition("@")
    if path.is_dir():
        check_folder(path)
        return path
    if not at:
        raise OnelayerError(f"{path}: there is no such folder; of a hub it is OWNER/NAME@COMMIT")
    from pydantic import ValidationError

    from onelayer.settings.block import describe
    from onelayer.settings.hub import HubRepository
    from onelayer.text.fetch import Repository

    folder = to / "checkpoints" / checkpoint.replace("/", "--")
    given = {"repository": name, "revision": commit}
    try:
        settings = HubRepository(**given)
    except ValidationError as error:
        raise OnelayerError(describe(error.errors()[0], given)) from None
    if not folder.is_dir():
        part = folder.with_name(f".part-{folder.name}")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        copy_checkpoint(Repository("model", settings), part)
        part.rename(folder)
    return folder


def _make_topics(results: Path, corpus: str, cores: str) -> None:
    """Have Snakemake make a corpus and its topics, the authors' and ours, unless they are there."""
    from onelayer.settings.topics import AUTHORS_TOPICS

    words, theirs = f"topics/{corpus}/kept_words.parquet", f"sensitivity/{corpus}/topics"
    if (results / words).is_file() and any((results / theirs).glob(AUTHORS_TOPICS)):
        return
    if results.name != "results" or not find_spec("snakemake"):
        raise OnelayerError(f"{results}: no topics of {corpus} here; `make quick` makes some")
    command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile"]
    command += ["--directory", results.absolute().parent, "--cores", cores]
    command += ["--forcerun", "fit_lda", "--", f"results/{words}"]  # fits both ways at once
    if subprocess.run(list(map(str, command)), stdout=sys.stderr).returncode:
        raise OnelayerError(f"the topics of {corpus} were not made; the reason is above")


if __name__ == "__main__":
    sys.exit(main())
