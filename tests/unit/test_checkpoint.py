"""Claims about the state that a long computation keeps: whose it is, and that a kill spares it."""

import types
from pathlib import Path

import pytest
import torch

from onelayer.compute import checkpoint
from onelayer.compute.checkpoint import Checkpoint
from onelayer.run.step import Step
from onelayer.settings.root import default_settings

LDA = default_settings().topics.lda
STATE = {"x": torch.arange(3.0)}


def test_a_writing_that_breaks_off_leaves_the_earlier_state(tmp_path: Path, monkeypatch) -> None:
    kept = Checkpoint(tmp_path / "state", "it")
    kept.write(lambda: STATE, 1)

    def break_off(tensors, path, metadata):
        Path(path).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save_file", break_off)
    with pytest.raises(KeyboardInterrupt):
        kept.write(lambda: STATE, 2)
    tensors, steps = kept.read()
    assert steps == 1 and torch.equal(tensors["x"], STATE["x"])


def test_one_of_several_computations_has_a_file_and_an_identity_of_its_own(tmp_path: Path) -> None:
    both = Checkpoint(tmp_path / "state", "it")
    both.part(0, "lr 0.1").write(lambda: STATE, 1)
    assert both.part(0, "lr 0.1").read() is not None
    assert both.part(0, "lr 0.2").read() is None
    assert both.part(1, "lr 0.1").read() is None
    assert both.read() is None


def test_a_steps_state_is_of_its_settings_its_device_and_its_inputs(tmp_path: Path) -> None:
    source = tmp_path / "counts"
    source.write_text("a b")

    def identity(device: str = "cpu", portable: bool = False, **settings: int) -> str:
        nothing = types.SimpleNamespace()
        block = LDA.but(**settings)
        step = Step("fit_lda", block, nothing, nothing, (source,), device, portable=portable)
        return step.identity()

    found = [identity(), identity(device="cuda"), identity(seed=1), identity(portable=True)]
    assert identity() == found[0]
    source.write_text("a c")
    assert len({*found, identity()}) == 5
