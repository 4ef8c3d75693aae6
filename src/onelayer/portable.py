"""A portable run: the same bytes on every x86-64 processor that has AVX2.

Numerical libraries choose kernels by the processor, and other kernels add in another order. The
switches, set by the Snakefile, tell each which to take; what MKL does not do portably, or slowly,
torch takes from numpy (docs/reproducibility.md). Most steps need neither: no imports here.
"""

import os
import platform
import sys
import warnings
from pathlib import Path

from threadpoolctl import threadpool_info

from onelayer.errors import OnelayerError

SWITCHES = {
    "ARROW_USER_SIMD_LEVEL": "AVX2",  # sums of pyarrow, and pandas on it
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
    "CUDA_VISIBLE_DEVICES": "",  # a GPU adds in yet another order
    "MKL_CBWR": "COMPATIBLE",  # torch's LAPACK, exp, log, products of a vector
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # numpy's own kernels
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # convolutions and what else torch hands to oneDNN
    "OPENBLAS_CORETYPE": "Haswell",  # numpy, scipy, and the products below
}
# In compatible mode, too, MKL computes these from a processor's approximations of 1/x and
# 1/sqrt(x), which each vendor rounds as it likes. numpy's are the same wherever there is FMA.
FUNCTIONS = ("acos", "asin", "atan", "log", "log10", "log2", "sqrt", "tan")
PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")
_replaced: list = []  # registrations hold as long as they are referred to


def start() -> None:
    """Compute portably from here on. `OnelayerError` where processor or environment cannot."""
    check_processor(Path("/proc/cpuinfo"), platform.machine())
    for name, value in SWITCHES.items():
        if os.environ.get(name) != value:
            raise OnelayerError(f"portable: {name} must be {value!r} before Python starts")
    if torch := sys.modules.get("torch"):
        use_kernels(torch)


def finish() -> None:
    """Check what was loaded since `start`, before outputs are kept."""
    if "torch" in sys.modules and not _replaced:
        raise OnelayerError("portable: torch was loaded after the step had started")
    for library in threadpool_info():
        taken = library.get("architecture")
        if library["internal_api"] == "openblas" and taken != SWITCHES["OPENBLAS_CORETYPE"]:
            what = f"{library['filepath']} takes kernels for {taken}, whatever its switch says"
            raise OnelayerError(f"portable: {what}: another build than requirements.lock's?")


def check_processor(cpuinfo: Path, machine: str) -> None:
    """Refuse a processor without AVX2 and FMA; without the file `cpuinfo` the machine decides."""
    if machine not in ("x86_64", "AMD64"):
        raise OnelayerError(f"portable: needs an x86-64 processor, found {machine}")
    words = cpuinfo.read_text(encoding="utf-8").split() if cpuinfo.is_file() else ["avx2", "fma"]
    for instruction in ("avx2", "fma"):
        if instruction not in words:
            raise OnelayerError(f"portable: needs a processor with {instruction}; this has none")


def use_kernels(torch) -> None:
    """Let torch take products and some functions from numpy, in backward passes too.

    OpenBLAS's products for a named core type are the same code on every processor. Fused attention
    would call MKL from within: it is made of products instead.
    """
    if _replaced:
        return
    library = torch.library.Library("aten", "IMPL")  # torch's dispatcher, below autograd
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is replaced, as it is meant to be
        for name in PRODUCTS:
            library.impl(name, _product(torch, name), "CPU")
        for name in FUNCTIONS:
            for form in (name, f"{name}_", f"{name}.out"):
                library.impl(form, _function(torch, name, form), "CPU")
    torch.backends.cuda.enable_flash_sdp(False)  # of the CPU as well
    _replaced.append(library)


def _product(torch, name):
    np, theirs, floats = sys.modules["numpy"], _kept(torch, name), (torch.float32, torch.float64)

    def product(*operands, beta=1, alpha=1):
        *added, a, b = operands
        if not (a.dtype == b.dtype and a.dtype in floats and alpha == beta == 1):
            return theirs(*operands, **({"beta": beta, "alpha": alpha} if added else {}))
        result = torch.empty((*a.shape[:-1], b.shape[-1]), dtype=a.dtype)
        # numpy multiplies what BLAS cannot read by a loop of its own, slowly.
        sides = (_plain(side.contiguous() if 0 in side.stride() else side) for side in (a, b))
        np.matmul(*sides, out=result.numpy())
        return result.add_(added[0]) if added else result

    return product


def _function(torch, name, form):
    np, theirs, floats = sys.modules["numpy"], _kept(torch, form), (torch.float32, torch.float64)

    def apply(x, *, out=None):
        if x.dtype not in floats or (out is not None and out.dtype != x.dtype):
            return theirs(x, **({} if out is None else {"out": out}))
        if out is None:
            out = x if form.endswith("_") else torch.empty_like(x)
        elif out.shape != x.shape:
            out.resize_(x.shape)
        with np.errstate(all="ignore"):
            getattr(np, name)(_plain(x), out=_plain(out))
        return out

    return apply


def _kept(torch, name):
    kernel = torch.library.get_kernel(f"aten::{name}", "CPU")
    cpu = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    return lambda *arguments, **named: kernel.call_boxed(cpu, *arguments, **named)


def _plain(tensor):  # its memory as an array
    return tensor.detach().resolve_conj().resolve_neg().numpy()
