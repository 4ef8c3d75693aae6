"""A step: all outputs or none, one line for what a user can mend, resumed when killed."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from onelayer import portable
from onelayer.errors import OnelayerError
from onelayer.job import job


class Named(dict):
    """Files by name, as Snakemake hands them to a script."""

    def __iter__(self):
        for files in self.values():
            yield from [files] if isinstance(files, str) else files

    def __getitem__(self, key):
        return list(self)[key] if isinstance(key, int) else super().__getitem__(key)


@pytest.fixture
def snakemake(tmp_path):
    """What a script finds under the name `snakemake`."""
    return SimpleNamespace(
        rule="make_it",
        wildcards=["here"],
        input=Named(),
        output=Named(
            frame=f"{tmp_path}/frame.parquet",
            model=[f"{tmp_path}/model/weights", f"{tmp_path}/model/config"],
        ),
        params={"settings": {"threads": 1}, "code": "abc"},
        log=[f"{tmp_path}/log"],
        config={},
    )


def fill(step):
    step.save(frame=pd.DataFrame({"x": [1]}))
    folder = step.folder("model")
    for name in ("weights", "config", "not asked for"):
        (folder / name).write_text(name)


def left(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_outputs_appear_when_the_step_ends(snakemake, tmp_path):
    with job(snakemake) as step:
        fill(step)
        assert not (tmp_path / "frame.parquet").exists()
        inodes = {place: part.stat().st_ino for part, place in step.parts.items()}
    assert {place: place.stat().st_ino for place in inodes} == inodes  # moved, not copied
    assert left(tmp_path) == ["frame.parquet", "log", "model/config", "model/weights"]


@pytest.mark.parametrize("error", [OnelayerError("key: bad"), RuntimeError("bug")])
def test_a_step_that_fails_leaves_nothing(snakemake, tmp_path, error):
    with pytest.raises(SystemExit) as ended, job(snakemake) as step:
        fill(step)
        raise error
    assert ended.value.code == 1
    assert left(tmp_path) == ["log"]
    log = (tmp_path / "log").read_text()
    assert ("Traceback" in log) == isinstance(error, RuntimeError)
    if isinstance(error, OnelayerError):
        assert log == "ERROR make_it here: key: bad\n"


def test_a_state_is_kept_until_the_outputs_are_in_place(snakemake, tmp_path):
    with pytest.raises(SystemExit), job(snakemake) as step:
        step.execution.checkpoint.write(dict, 5)
        raise OnelayerError("stopped")
    assert (tmp_path / ".state-frame.parquet").exists()
    with job(snakemake) as step:
        assert step.execution.checkpoint.read() == ({}, 5)
        fill(step)
    assert not (tmp_path / ".state-frame.parquet").exists()


@pytest.mark.parametrize("what", ["settings", "code", "input"])
def test_a_state_of_other_settings_code_or_input_counts_as_none(snakemake, tmp_path, what):
    read = tmp_path / "read"
    read.write_text("before")
    snakemake.input["read"] = str(read)
    with pytest.raises(SystemExit), job(snakemake) as step:
        step.execution.checkpoint.write(dict, 5)
        raise OnelayerError("stopped")
    if what == "input":
        read.write_text("after")
    else:
        snakemake.params[what] = {"settings": {"threads": 2}, "code": "def"}[what]
    with job(snakemake) as step:
        assert step.execution.checkpoint.read() == ({}, 0)
        fill(step)


def test_settings_say_how_many_threads_add(snakemake):
    snakemake.params["settings"] = {"threads": 2}
    with job(snakemake) as step:
        assert torch.get_num_threads() == 2
        fill(step)
    torch.set_num_threads(1)


def test_outputs_can_be_read_by_whom_the_users_mask_lets(snakemake, tmp_path):
    with job(snakemake) as step:
        fill(step)
        for part in step.parts:
            part.chmod(0o600)
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "frame.parquet").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_portable_step_refuses_to_start_without_its_switches():
    program = (
        "from onelayer import portable\n"
        "from onelayer.errors import OnelayerError\n"
        "try:\n    portable.start()\nexcept OnelayerError as e:\n    print(e)\n"
    )
    unset = {name: value for name, value in os.environ.items() if name not in portable.SWITCHES}
    done = subprocess.run(
        [sys.executable, "-c", program], env=unset, capture_output=True, text=True
    )
    assert "must be 'AVX2' before Python starts" in done.stdout
