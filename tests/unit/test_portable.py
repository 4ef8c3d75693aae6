"""Portable runs: no step starts without a switch, and products are those of one library."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from onelayer.errors import OnelayerError
from onelayer.report.records import is_portable, read_records, steps_behind
from onelayer.run import portable
from onelayer.run.portable import SWITCHES, assignments, check_processor, describe_processor
from onelayer.run.provenance import file_sha256
from tests.conftest import ROOT, run_script
from tests.faults.conftest import error_line

CPUINFO = "processor : 0\nmodel name : Some CPU\nflags : fpu sse4_2 {}\n"
PROGRAM = '''
"""A step."""
import json
{before}
from onelayer.run.step import run


def main(step):
    {inside}
    step.outputs.out.write_text("done")


run(main, outputs=["out"])
'''


def step(
    tmp_path: Path, switches: dict, inside: str = "pass", before: str = "import torch"
) -> subprocess.CompletedProcess:
    """A step of a portable run, as its command says; of the switches it sees these alone."""
    script = tmp_path / "count_words.py"
    script.write_text(PROGRAM.format(inside=inside, before=before), encoding="utf-8")
    words = ["--portable", "--out", tmp_path / "out", "--record", tmp_path / "record.json"]
    unset = [f"--unset={name}" for name in SWITCHES if name not in switches]
    python = ["env", *unset, sys.executable]
    return run_script(*python, script, *words, folder=ROOT, timeout=120, **switches)


def test_every_library_that_chooses_kernels_has_its_switch():
    assert dict(SWITCHES) == {
        "ARROW_USER_SIMD_LEVEL": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "CUDA_VISIBLE_DEVICES": "",
        "MKL_CBWR": "COMPATIBLE",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
    }


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize(("changed", "is_so"), [(None, "is not set"), ("other", "is 'other'")])
def test_no_step_starts_without_a_switch_or_with_another_value(name, changed, is_so, tmp_path):
    given = {other: value for other, value in SWITCHES.items() if other != name}
    run = step(tmp_path, given | ({name: changed} if changed else {}), before="")
    assert run.returncode == 1
    assert f"portable: {name} {is_so}; it must be {SWITCHES[name]!r}" in error_line(run)
    assert not (tmp_path / "out").exists() and not (tmp_path / "record.json").exists()


def test_a_portable_step_says_so_in_its_record_with_its_switches(tmp_path):
    run = step(tmp_path, dict(SWITCHES))
    assert run.returncode == 0, run.stderr
    record = json.loads((tmp_path / "record.json").read_text("utf-8"))
    assert record["portable"] is True
    assert record["switches"] == dict(SWITCHES)


def test_outputs_are_not_kept_where_torch_came_too_late_for_its_products(tmp_path):
    run = step(tmp_path, dict(SWITCHES), inside="import torch", before="")
    assert "portable: torch was loaded after the step had started" in error_line(run)
    assert not (tmp_path / "out").exists()


def test_a_library_that_takes_other_kernels_all_the_same_is_named(monkeypatch):
    monkeypatch.setattr(portable, "_kernels", lambda: {"torch": ("AVX512", "AVX2")})
    with pytest.raises(OnelayerError, match="torch takes kernels for AVX512"):
        portable.check_libraries()


def test_libraries_say_what_they_take():
    code = """
import sys, torch, scipy.linalg
from onelayer.run import portable
assert set(portable._kernels()) >= {"torch", "torch's MKL", "numpy"}, portable._kernels()
assert sum(name.startswith("OpenBLAS") for name in portable._kernels()) == 2
portable.check_libraries()
"""
    given = {"PYTHONPATH": str(ROOT / "src"), **SWITCHES}
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **given}, check=True)
    # Without switches something here is otherwise: MKL is, on every processor.
    del given["MKL_CBWR"]
    bare = {k: v for k, v in os.environ.items() if k not in SWITCHES} | given
    run = subprocess.run([sys.executable, "-c", code], env=bare, capture_output=True, text=True)
    assert "torch's MKL" in run.stderr


def test_a_shell_sets_the_switches_as_they_are():
    show = f"{sys.executable} -c 'import json, os; print(json.dumps(dict(os.environ)))'"
    shell = subprocess.run(["bash", "-c", assignments() + show], capture_output=True, check=True)
    assert json.loads(shell.stdout).items() >= SWITCHES.items()


def test_a_processor_with_what_is_needed_is_taken(tmp_path):
    (tmp_path / "cpuinfo").write_text(CPUINFO.format("avx2 fma"), encoding="utf-8")
    check_processor(describe_processor(tmp_path / "cpuinfo"), "x86_64")


@pytest.mark.parametrize(
    ("flags", "machine", "says"),
    [
        ("avx2", "x86_64", "Some CPU has no fma; without"),
        ("fma", "x86_64", "Some CPU has no avx2; without"),
        ("", "x86_64", "Some CPU has no avx2 and no fma; without"),
        ("avx2 fma", "aarch64", "it needs x86-64, this is aarch64; without"),
    ],
)
def test_on_another_processor_one_line_says_that_no_run_is_portable(flags, machine, says, tmp_path):
    (tmp_path / "cpuinfo").write_text(CPUINFO.format(flags), encoding="utf-8")
    with pytest.raises(OnelayerError, match=f"no portable run here: .*{says}") as error:
        check_processor(describe_processor(tmp_path / "cpuinfo"), machine)
    assert "\n" not in str(error.value)


PRODUCTS = """
import numpy as np, torch, sys
from torch.nn import functional as F
from onelayer.run import portable
theirs = torch.mm(torch.arange(6.).view(2, 3), torch.arange(6.).view(3, 2))
portable.use_kernels(torch)
portable.use_kernels(torch)
random = torch.Generator().manual_seed(0)
def drawn(*shape, dtype=torch.float32):
    return torch.randn(shape, generator=random, dtype=dtype)
assert torch.equal(torch.mm(torch.arange(6.).view(2, 3), torch.arange(6.).view(3, 2)), theirs)
for dtype in (torch.float32, torch.float64):
    a, b = drawn(70, 500, dtype=dtype), drawn(500, 40, dtype=dtype)
    assert np.array_equal((a @ b).numpy(), a.numpy() @ b.numpy())
    assert np.array_equal((b.T @ a.T).numpy(), b.numpy().T @ a.numpy().T)
    c, d = drawn(5, 7, 90, dtype=dtype), drawn(5, 90, 8, dtype=dtype)
    assert np.array_equal(torch.einsum("bij,bjk->bik", c, d).numpy(), c.numpy() @ d.numpy())
    e, f = c[0, 0, :40], c[:, :1, :8]
    assert np.array_equal(F.linear(a, b.T, e).numpy(), a.numpy() @ b.numpy() + e.numpy())
    assert np.array_equal(torch.baddbmm(f, c, d).numpy(), c.numpy() @ d.numpy() + f.numpy())
    scaled = torch.addmm(e, a, b, beta=2, alpha=0.5)
    assert torch.allclose(scaled, 2 * e + 0.5 * (a @ b), atol=1e-4)
    spread = drawn(1, 500, dtype=dtype).expand(70, 500)
    assert torch.allclose(spread @ b, (spread[:1] @ b).expand(70, 40), atol=1e-4)
    for m, k in ((3, 0), (0, 3)):
        none = drawn(m, k, dtype=dtype) @ drawn(k, 4, dtype=dtype)
        assert torch.equal(none, torch.zeros(m, 4, dtype=dtype))
whole = torch.arange(4).view(2, 2)
assert torch.equal(whole @ torch.eye(2, dtype=torch.long), whole)
assert (drawn(3, 4).bfloat16() @ drawn(4, 5).bfloat16()).dtype == torch.bfloat16
x, w = drawn(30, 50).requires_grad_(), drawn(20, 50).requires_grad_()
F.linear(x, w).square().sum().backward()
out = x.detach() @ w.detach().T
assert torch.equal(x.grad, (2 * out) @ w.detach())
assert torch.equal(w.grad, (2 * out).T @ x.detach())
with torch.inference_mode():
    assert torch.equal(x @ w.T, out)
pair = [drawn(*shape, dtype=torch.float64).requires_grad_() for shape in ((3, 4), (4, 2))]
assert torch.autograd.gradcheck(torch.mm, pair)
q = drawn(2, 4, 9, 8).requires_grad_()
fused = F.scaled_dot_product_attention(q, q, q, is_causal=True)
above = torch.ones(9, 9).triu(1).bool()
weights = (q @ q.transpose(-2, -1) / 8**0.5).masked_fill(above, -torch.inf)
assert torch.allclose(fused, weights.softmax(-1) @ q, atol=1e-6)
from torch.profiler import profile
with profile() as seen:
    F.scaled_dot_product_attention(q, q, q).sum().backward()
assert not [event for event in seen.key_averages() if "flash" in event.key]
"""


FUNCTIONS = """
import numpy as np, torch
from onelayer.run import portable
portable.use_kernels(torch)
for name in portable.FUNCTIONS:
    ours, wanted = getattr(torch, name), getattr(np, name)
    for dtype in (torch.float32, torch.float64):
        x = torch.rand(70, 30, generator=torch.Generator().manual_seed(0), dtype=dtype)
        found = wanted(x.numpy())
        assert np.array_equal(ours(x).numpy(), found), name
        assert np.array_equal(ours(x.T[::2]).numpy(), found.T[::2]), name
        out = torch.empty(0, dtype=dtype)
        assert ours(x, out=out) is out and np.array_equal(out.numpy(), found), name
        inside = x.clone()
        assert getattr(inside, name + "_")() is inside
        assert np.array_equal(inside.numpy(), found), name
        one = x[0, 0].clone()
        assert ours(one).shape == () and ours(one).item() == found[0, 0], name
        leaf = x[:2, :3].double().clone().requires_grad_()
        assert torch.autograd.gradcheck(ours, [leaf]), name
    assert torch.allclose(ours(torch.ones(3, dtype=torch.long)), ours(torch.ones(3))), name
    assert ours(torch.ones(2, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert ours(torch.full((1,), 0.5 + 0j)).is_complex()
assert torch.tensor([-1.0]).sqrt().isnan() and torch.tensor([0.0]).log() == -torch.inf
"""
ROOTS = """
import math, torch
from onelayer.run import portable
portable.start()
x = torch.rand(100_000, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
assert x.sqrt().tolist() == [math.sqrt(value) for value in x.tolist()]
"""


@pytest.mark.parametrize(
    ("program", "switches"),
    [(PRODUCTS, {}), (FUNCTIONS, {}), (ROOTS, SWITCHES)],
    ids=["products, also in backward passes", "functions that MKL approximates", "square roots"],
)
def test_what_mkl_does_not_do_portably_is_numpys(program, switches):
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", program]
    environment = {**os.environ, **switches, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "Overriding" not in run.stderr


def test_products_of_this_process_are_torchs_own():
    assert not portable._replaced and torch.backends.cuda.flash_sdp_enabled()


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A run's folder, to write records in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/records").mkdir(parents=True)

    def write(name: str, file: str, **more: object) -> Path:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(name, encoding="utf-8")
        record = {"step": name, "settings": {}, "code": "c", "libraries": "", "device": "cpu"}
        record |= {"inputs": {}, "outputs": {file: file_sha256(Path(file))}} | more
        Path(f"results/records/{name}.json").write_text(json.dumps(record), encoding="utf-8")
        return Path(file)

    return write


def test_a_run_is_portable_where_all_its_own_steps_were(results):
    def portable(*files: Path) -> bool:
        found = {str(file): file_sha256(file) for file in files}
        return is_portable(steps_behind(found, read_records(Path("results"))))

    here = {"portable": True, "switches": dict(SWITCHES)}
    one = results("fit_lda", "results/tables/a/one.csv", **here)
    other = results("measure_claims_again", "results/tables/stability/s.csv")
    assert portable(one, other)
    plain = results("count_words", "results/tables/a/two.csv", portable=False, switches={})
    assert not portable(one, plain)
    old = results("probe", "results/tables/a/three.csv")  # of a version that knew of neither
    assert not portable(old)
