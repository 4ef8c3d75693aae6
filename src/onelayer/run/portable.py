"""A portable run: the same bytes on every x86-64 processor that has AVX2.

Numerical libraries choose their kernels by the processor, and other kernels add in another order.
In a portable run each is told which to take, by an environment variable that it reads when it is
loaded; a step is started with all of them, and refuses to start where one is missing. Products and
some functions that torch would hand to MKL are numpy's (`use_kernels`): MKL gives the same products
on another vendor's processor only where it is three times slower. See docs/bytes.md.

Torch and numpy are taken as they are loaded, never imported here: most steps need neither.
"""

import ctypes
import os
import platform
import shlex
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from threadpoolctl import threadpool_info

from onelayer.errors import OnelayerError

SWITCHES: Mapping[str, str] = types.MappingProxyType(
    {
        "ARROW_USER_SIMD_LEVEL": "AVX2",  # sums of pyarrow, and pandas on it
        "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
        "CUDA_VISIBLE_DEVICES": "",  # a GPU adds in yet another order
        "MKL_CBWR": "COMPATIBLE",  # torch's LAPACK, exp, log, products of a vector
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # numpy's own kernels
        "ONEDNN_MAX_CPU_ISA": "AVX2",  # convolutions and what else torch hands to oneDNN
        "OPENBLAS_CORETYPE": "Haswell",  # numpy, scipy, and the products below
    }
)
# What they ask of a processor, as /proc/cpuinfo calls it.
INSTRUCTIONS = ("avx2", "fma")
MKL_COMPATIBLE = 3  # MKL_CBWR_COMPATIBLE of mkl_types.h


def describe_processor(processor: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """What the system says of its last core, such as `model name` and `flags`; empty: nothing."""
    lines = processor.read_text(encoding="utf-8").splitlines() if processor.is_file() else []
    named = (line.partition(":") for line in lines if ":" in line)
    return {name.strip(): value.strip() for name, _, value in named}


def assignments() -> str:
    """The switches before a command of a shell: `A=1 B='2 3' `."""
    return "".join(f"{name}={shlex.quote(value)} " for name, value in SWITCHES.items())


def start() -> None:
    """Make sure that this process computes portably from here on; its libraries may be loaded.

    Raises:
        OnelayerError: the processor cannot, or a switch was not set when the process was started.
    """
    check_processor(describe_processor(), platform.machine())
    check_switches(os.environ)
    if torch := sys.modules.get("torch"):
        use_kernels(torch)
    check_libraries()


def finish() -> None:
    """Make sure of the same of what has been loaded since `start`, before outputs are kept.

    Raises:
        OnelayerError: a library computed by other kernels.
    """
    if "torch" in sys.modules and not _replaced:
        raise OnelayerError("portable: torch was loaded after the step had started")
    check_libraries()


def check_processor(described: Mapping[str, str], machine: str) -> None:
    """Whether a processor has what a portable run's kernels are made of.

    It is `described` by `describe_processor`; `machine` is its architecture, such as `x86_64`.

    Raises:
        OnelayerError: it has not.
    """
    without = "without `portable` the run is this processor's own"
    if machine not in ("x86_64", "AMD64"):
        raise OnelayerError(f"no portable run here: it needs x86-64, this is {machine}; {without}")
    flags = described.get("flags", "").split()
    if missing := [name for name in INSTRUCTIONS if described and name not in flags]:
        raise OnelayerError(
            f"no portable run here: {described.get('model name', 'this processor')} has no "
            f"{' and no '.join(missing)}; {without}"
        )


def check_switches(environment: Mapping[str, str]) -> None:
    """Whether every switch is set to its value.

    Raises:
        OnelayerError: names the first that is not.
    """
    for name, value in SWITCHES.items():
        if (actual := environment.get(name)) != value:
            actual = "is not set" if actual is None else f"is {actual!r}"
            raise OnelayerError(
                f"portable: {name} {actual}; it must be {value!r} before Python starts, as the "
                "command that Snakemake runs sets it"
            )


def check_libraries() -> None:
    """Whether the libraries that are loaded took the switches, as far as they say so.

    Raises:
        OnelayerError: names one that computes by other kernels.
    """
    for name, (actual, wanted) in _kernels().items():
        if actual != wanted:
            raise OnelayerError(
                f"portable: {name} takes kernels for {actual}, whatever its switch says: another "
                "build than that of requirements.lock, or loaded before its switch was set"
            )


def _kernels() -> dict[str, tuple[object, object]]:
    """What each library that is loaded says of its kernels, and what it should."""
    kernels: dict[str, tuple[object, object]] = {}
    if torch := sys.modules.get("torch"):
        kernels["torch"] = (torch.backends.cpu.get_cpu_capability(), "AVX2")
        if (branch := _mkl_branch(torch)) is not None:
            kernels["torch's MKL"] = (branch, MKL_COMPATIBLE)
    if numpy := sys.modules.get("numpy"):
        features = numpy._core._multiarray_umath.__cpu_features__
        barred = SWITCHES["NPY_DISABLE_CPU_FEATURES"].split()
        more = " ".join(name for name in barred if features.get(name))
        kernels["numpy"] = (more or "AVX2", "AVX2")
    for library in threadpool_info():
        if library["internal_api"] == "openblas":
            name = f"OpenBLAS ({Path(library['filepath']).name})"
            kernels[name] = (library.get("architecture"), SWITCHES["OPENBLAS_CORETYPE"])
    return kernels


def _mkl_branch(torch: types.ModuleType) -> int | None:
    """Which code path torch's MKL takes; None where this build does not say."""
    library = Path(torch.__path__[0]) / "lib/libtorch_cpu.so"
    try:
        return int(ctypes.CDLL(str(library)).mkl_serv_cbwr_get(-1))
    except (OSError, AttributeError):
        return None


# In compatible mode as in others, MKL computes these from a processor's approximations of 1/x and
# 1/sqrt(x), which each vendor rounds as it likes. numpy's are the same wherever there is FMA.
FUNCTIONS = ("acos", "asin", "atan", "log", "log10", "log2", "sqrt", "tan")
PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")
_replaced: list = []  # registrations hold as long as they are referred to


def use_kernels(torch: types.ModuleType) -> None:
    """Let torch take from numpy what MKL does not do portably, or slowly; in backward passes too.

    Products of matrices are then OpenBLAS's: for a named core type the same machine code with the
    same blocks on every processor, and as fast as MKL on its AVX2 path. Fused attention would call
    MKL from within: attention is made of products instead. All is registered at torch's dispatcher,
    below autograd, so that nothing that is computed with need know of it.
    """
    if _replaced:
        return
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is replaced, as it is meant to be
        for name in PRODUCTS:
            library.impl(name, _product(torch, name), "CPU")
        for name in FUNCTIONS:
            for form in (name, f"{name}_", f"{name}.out"):
                library.impl(form, _function(torch, name, form), "CPU")
    torch.backends.cuda.enable_flash_sdp(False)  # of the CPU as well
    _replaced.append(library)


def _product(torch: types.ModuleType, name: str) -> Callable:
    """The product of this name, by numpy."""
    np, theirs = sys.modules["numpy"], _kept(torch, name)

    def fits(a, b) -> bool:
        return a.dtype == b.dtype and a.dtype in (torch.float32, torch.float64)

    def product(a, b):
        made = torch.empty((*a.shape[:-1], b.shape[-1]), dtype=a.dtype)
        # numpy multiplies what BLAS cannot read by a loop of its own, slowly.
        sides = (_plain(side.contiguous() if 0 in side.stride() else side) for side in (a, b))
        np.matmul(*sides, out=made.numpy())
        return made

    def multiply(a, b):
        return product(a, b) if fits(a, b) else theirs(a, b)

    def multiply_and_add(c, a, b, *, beta=1, alpha=1):
        if fits(a, b) and alpha == beta == 1:
            return product(a, b).add_(c)
        return theirs(c, a, b, beta=beta, alpha=alpha)

    return multiply_and_add if "add" in name else multiply


def _function(torch: types.ModuleType, name: str, form: str) -> Callable:
    """The function of each element, in one of its three forms, by numpy."""
    ours, theirs = getattr(sys.modules["numpy"], name), _kept(torch, form)

    def apply(x, *, out=None):
        given = {} if out is None else {"out": out}
        if x.dtype not in (torch.float32, torch.float64) or (
            out is not None and out.dtype != x.dtype
        ):
            return theirs(x, **given)
        if form.endswith("_"):
            out = x
        elif out is None:
            out = torch.empty_like(x)
        elif out.shape != x.shape:
            out.resize_(x.shape)
        with sys.modules["numpy"].errstate(all="ignore"):
            ours(_plain(x), out=_plain(out))
        return out

    return apply


def _kept(torch: types.ModuleType, name: str) -> Callable:
    """The kernel that torch has, for what numpy does not take."""
    kernel = torch.library.get_kernel(f"aten::{name}", "CPU")
    cpu = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    return lambda *arguments, **named: kernel.call_boxed(cpu, *arguments, **named)


def _plain(tensor):
    """A tensor's memory as an array."""
    return tensor.detach().resolve_conj().resolve_neg().numpy()
