"""What a hub holds: a model's entry for the settings, and whether an overlay's files are there.

Nothing is computed and no weights are downloaded.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.fetching.hub import Repository
from onelayer.run.provenance import file_sha256
from onelayer.settings.hub import HubDataset, HubRepository
from onelayer.settings.models import CHECKPOINT_FILES, PICKLED_WEIGHTS, HubModel, SeriesModel
from onelayer.settings.root import with_overlays
from onelayer.text.corpus.hub_dataset import split_files
from onelayer.text.models.folder import WEIGHTS, name_missing


def main(
    repository: str | None = None, revision: str = "main", check: Sequence[str] | None = None
) -> str:
    """Print the entry of a repository, or say of every file of overlays whether a hub has it.

    Raises:
        OnelayerError: neither or both is asked for; the repository cannot be read or is no
            checkpoint; or, with `check`, something is not there, after the lines that say what.
    """
    if (repository is None) == (check is None):
        raise OnelayerError("pin: name a repository, OWNER/NAME, or --check and overlays")
    return entry(repository, revision) if check is None else asked(check)


def entry(repository: str, revision: str) -> str:
    """The model's entry for the settings, as YAML: commit and sums of what is probed.

    `repository` is OWNER/NAME, `revision` a branch, a tag or a commit; the entry has the commit.
    """
    try:
        HubRepository(repository=repository, revision="0" * 40)
    except ValueError:
        raise OnelayerError(f"pin: {repository}: a repository is OWNER/NAME") from None
    # What is asked for may be a branch, which settings do not take.
    commit, _ = _at(repository, revision).pinned()
    pinned = _at(repository, commit)
    _, files = pinned.pinned()
    name_missing([*files], pinned)
    wanted = [name for name in CHECKPOINT_FILES if name in files]
    sums = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in wanted if WEIGHTS in files else [*wanted, PICKLED_WEIGHTS]:
            size, digest = files[name]
            if not digest:
                pinned.fetch(name, Path(scratch) / name)
                digest = file_sha256(Path(scratch) / name)
            sums[name] = (digest, size)
    lines = [
        f"  {repository.partition('/')[2].lower()}:",
        "    source: hub",
        "    hub:",
        f"      repository: {repository}",
        f"      revision: {commit}",
        "      sums:",
        *(f"        {name}: {digest} # {size:,} bytes" for name, (digest, size) in sums.items()),
    ]
    return "\n".join(["models:", *lines])


def _at(repository: str, revision: str) -> Repository:
    settings = HubRepository.model_construct(repository=repository, revision=revision, sums={})
    return Repository("model", settings)


def asked(overlays: Sequence[str]) -> str:
    """Ask the hub for all that the settings with these overlays would download.

    Returns:
        A line for each repository.

    Raises:
        OnelayerError: not all of it is there; every line of what is not, then how many.
    """
    settings = with_overlays(map(Path, overlays))
    lines, missing = [], 0
    for key, look in _repositories(settings):
        try:
            lines.append(f"{key}: {look()}")
        except OnelayerError as error:
            lines.append(f"{key}: {error}")
            missing += 1
    if missing:
        sys.stdout.write("\n".join([*lines, ""]))
        raise OnelayerError(f"pin: {missing} of {len(lines)} entries are not on the hub as named")
    return "\n".join(lines) or "no model and no corpus of these settings comes from a hub"


def _repositories(settings) -> Iterator[tuple[str, Callable[[], str]]]:
    """The key of everything from a hub, and what looks it up."""
    for name, model in settings.models.items():
        ways = {f"models.{name}": model}
        if isinstance(model, SeriesModel) and model.hub:
            ways = {f"models.{name}.hub.{t}": model.checkpoint(t) for t in model.tokens}
        for key, one in ways.items():
            if isinstance(one, HubModel):
                yield key, lambda one=one: _of_model(one.hub)
    for name, corpus in settings.corpora.items():
        if isinstance(corpus.source, HubDataset):
            yield f"corpora.{name}", lambda source=corpus.source: _of_dataset(source)


def _of_model(hub: HubRepository) -> str:
    repository = Repository("model", hub)
    files = repository.files()
    name_missing(files, repository)
    if absent := sorted(set(hub.sums) - set(files)):
        raise OnelayerError(f"{repository} holds no {absent[0]}, whose sum is pinned")
    weights = WEIGHTS if WEIGHTS in files else PICKLED_WEIGHTS
    return f"{repository}: there, with {weights}"


def _of_dataset(source: HubDataset) -> str:
    repository = Repository("dataset", source.repository)
    with tempfile.TemporaryDirectory() as scratch:
        files = split_files(repository, source, Path(scratch))
    return f"{repository}: there, {len(files)} files"
