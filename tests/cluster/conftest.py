"""What the tests on Slurm share: the cluster, and which of them take minutes."""

from collections.abc import Iterator

import pytest

from tests.cluster.slurm import Slurm, missing


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, and say so, what `make test` has no time for."""
    if "slurm" not in config.option.markexpr:
        for item in items:
            if item.get_closest_marker("slurm"):
                item.add_marker(pytest.mark.skip(reason="takes minutes: make test-slurm"))


@pytest.fixture(scope="session")
def slurm() -> Iterator[Slurm]:
    """A Slurm of our own, if one can be started here."""
    if reason := missing():
        pytest.skip(reason)
    cluster = Slurm()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
