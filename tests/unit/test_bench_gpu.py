"""`make bench-gpu` on a machine without a GPU: it refuses, and its path runs on the CPU alone."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from bench import gpu
from onelayer.run.provenance import REPOSITORY

# What a machine that only computes need not have.
WORKFLOW = ("transformers", "tokenizers", "datasets", "snakemake", "matplotlib", "gensim")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_it_says_so_in_a_line(capsys) -> None:
    assert gpu.main([]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "bench-gpu: device: cuda was asked for, but torch sees no GPU; use cpu or auto"
    ]


def test_every_part_runs_and_agrees_with_itself(capsys) -> None:
    assert gpu.main(["--device", "cpu", "--small", "--threads", "1"]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == "both on the CPU: this says nothing of any GPU"
    lines = [line for line in said.splitlines() if line.endswith("%")]
    assert len(lines) == 13
    for line in lines:
        cpu, there, ratio, rate, limit, agree = line.split()[-6:]
        assert agree == "100.0%"
        assert float(cpu) >= 0 < float(there)
        assert float(ratio.replace(",", "")) > 0 < float(rate.replace(",", ""))
        assert float(limit.rstrip("%")) >= 0


def test_a_share_of_the_steps_is_run_and_never_too_few(monkeypatch, capsys) -> None:
    asked = []
    part = gpu.Part("some part", 50, 1, lambda device, steps: asked.append(steps) or {}, 1.0, 0)
    few = gpu.Part("part of few steps", 4, 1, part.run, 1.0, 0)
    monkeypatch.setattr(gpu, "synthetic", lambda small: iter([part, few]))
    monkeypatch.setattr(gpu, "agreement", lambda ours, theirs: 1.0)
    small = ["--device", "cpu", "--small", "--threads", "1", "part"]
    assert gpu.main([*small, "--share", "0.2"]) == 0
    warmed, *there_and_here = asked[:3]
    assert warmed == 5 and there_and_here == [10, 10] and asked[4:] == [gpu.FEWEST] * 2
    for share in ("0", "1.5"):
        assert gpu.main([*small, "--share", share]) == 2
        assert capsys.readouterr().err.splitlines()[-1] == (
            f"bench-gpu: --share: {share}; above 0, at most 1"
        )


def test_synthetic_parts_need_neither_transformers_nor_the_workflow() -> None:
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({WORKFLOW}))\n"
        "from bench import gpu\n"
        "sys.exit(gpu.main(['--device', 'cpu', '--small', '--threads', '1']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "left out, transformers and tokenizers missing: pretraining, probe" in done.stdout
    assert "entropy sweep" in done.stdout


def test_means_agree_where_either_lies_in_the_others_interval() -> None:
    here = {"loss": np.array([[1.0, 1.2, 0.8], [5.0, 5.1, 4.9]]), "exactly c": np.array([1.0, 2.0])}
    assert gpu.agreement(here, here) == 1
    near = here | {"loss": here["loss"] + 0.05}
    assert gpu.agreement(near, here) == 1
    far = here | {"loss": here["loss"] + [[0.0], [1.0]]}
    assert gpu.agreement(far, here) == 0.75
    assert gpu.agreement(here | {"exactly c": np.array([1.0, 2.001])}, here) == 0.75


def test_parts_that_do_not_agree_are_an_error(monkeypatch, capsys) -> None:
    numbers = iter(range(100))
    part = gpu.Part("wrong", 1, 1, lambda *_: {"exactly x": np.array([next(numbers)])}, 8.0, 0)
    monkeypatch.setattr(gpu, "synthetic", lambda small: [part])
    monkeypatch.setattr(gpu, "with_text_models", lambda small: [])
    assert gpu.main(["--device", "cpu", "--small"]) == 1
    assert "less than 90% of some part's numbers agree" in capsys.readouterr().err


def test_longer_runs_ask_the_workflow(monkeypatch, tmp_path, capsys) -> None:
    asked = []

    def ran(command, **_):
        asked.append(" ".join(map(str, command[1:])))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(gpu, "ROOT", tmp_path)
    monkeypatch.setattr(gpu.subprocess, "run", ran)
    monkeypatch.setattr(gpu, "bench", lambda *_: True)
    options = ["--device", "cpu", "--default", "--paper", "--pretraining", "50000000"]
    assert gpu.main(options) == 0
    default, compared, paper, pretraining = asked
    assert default.endswith("runs/gpu --cores all -- all")
    assert compared == "-m onelayer compare runs/gpu/results"
    assert "--configfile config/paper.yaml -- local_to_global decision_lists" in paper
    assert "table_topic_structure_over_tokens" in pretraining
    overlay = tmp_path / "runs" / "gpu-pretraining.yaml"
    assert overlay.read_text() == "pretraining:\n  tokens: 50000000\n"
