"""Running the step of one declared table or figure: its files read, its function called.

Reading declarations (`onelayer.evidence.declarations`) needs none of the libraries that this does.
"""

import importlib
import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from safetensors.numpy import load_file

from onelayer.errors import OnelayerError
from onelayer.evidence.tables import read_csv
from onelayer.run.provenance import PACKAGE
from onelayer.run.step import Step, run, settings_of


def run_asked(outputs: str, write: Callable[[Step, Callable[[], object], Mapping], None]) -> None:
    """Run the step of the declared function that is the first word of the command line.

    Args:
        outputs: as `onelayer.run.step.run` takes them.
        write: given the step, what makes its result, and what its declaration says for readers.
    """
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    module, _, member = name.rpartition(".")
    function = None
    if module.startswith(f"{PACKAGE}."):
        try:
            function = getattr(importlib.import_module(module), member, None)
        except ModuleNotFoundError as error:
            if not module.startswith(error.name or "?"):  # a library is missing
                raise
    if not hasattr(function, "reads"):
        sys.exit(f"{sys.argv[0]}: the first word names a declared function, found {name!r}")
    typed = inspect.get_annotations(function, eval_str=True)
    settings = settings_of(function, function.reads)

    def main(step: Step) -> None:
        def made() -> object:
            files = {n: _read(getattr(step.inputs, n), typed[n]) for n in function.reads}
            lists = [n for n, file in files.items() if isinstance(file, list)]
            if function.made and lists and not any(files[n] for n in lists):
                raise OnelayerError(f"no {' or '.join(lists)} with these settings: nothing to show")
            values = {n: getattr(step.settings, n) for n in settings.model_fields}
            return function(**files, **values)

        write(step, made, function.shown)

    inputs = [f"{n}*" if typing.get_origin(typed[n]) is list else n for n in function.reads]
    run(main, settings, inputs, [outputs], name=f"{Path(sys.argv[0]).stem}:{name}")


def _read(place: Path | list[Path], annotation: object) -> object:
    if typing.get_origin(annotation) is list:
        (one,) = typing.get_args(annotation)
        return [_read(path, one) for path in place]
    return place if annotation is Path else _contents(place)


def _contents(place: Path) -> object:
    """A file of a step, read by its suffix; for others the function takes the `Path`."""
    if place.suffix == ".parquet":
        return pd.read_parquet(place)
    if place.suffix == ".safetensors":
        return load_file(place)
    if place.suffix == ".npz":
        with np.load(place, allow_pickle=False) as arrays:
            return dict(arrays)
    if place.suffix == ".csv":
        return read_csv(place)
    raise OnelayerError(f"*{place.suffix}: no reader; annotate the parameter as Path")
