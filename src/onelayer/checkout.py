"""Where the workflow of this library lies, with its settings, scripts, captions and reference."""

from pathlib import Path


def find_checkout(package: Path) -> Path:
    """The checkout that a package's folder is in; of an installed one the copy that came with it.

    That copy, `share/onelayer` below the environment or below what `pip install --target` names,
    has what runs, but neither docs nor tests.
    """
    if package.parent.name == "src":
        return package.parents[1]
    places = [folder / "share/onelayer" for folder in package.parents[:4]]
    return next(filter(Path.is_dir, places), places[0])


REPOSITORY = find_checkout(Path(__file__).resolve().parent)
