"""The same bytes on every run, whatever number of cores Snakemake is given."""

import pytest

from tests.conftest import SMOKE, snakemake
from tests.workflow.conftest import products

pytestmark = pytest.mark.workflow


def test_one_core_and_two_cores_give_the_same_bytes(smoke_run, fresh):
    # Another hash seed, locale and time zone as well: none of them may reach a table or a figure.
    run = snakemake(
        fresh, "--cores", "1", *SMOKE, PYTHONHASHSEED="7", LC_ALL="C.UTF-8", TZ="Asia/Tokyo"
    )
    assert run.returncode == 0, run.stdout
    two_cores, one_core = products(smoke_run), products(fresh)
    assert two_cores.keys() == one_core.keys()
    assert [path for path in two_cores if two_cores[path] != one_core[path]] == []
