"""A GPU that is none: tensors of another device, computed on the CPU, and what its host waits for.

Torch lets a backend be written in Python for a device of its own. A tensor of this one wraps
a CPU tensor. Every operation on it is counted, and noted where the host of a real GPU would wait: a
number read (`item`, `bool`, an index that is a tensor without dimensions), a tensor copied to the
host or from memory that is not pinned, a size that depends on values (`nonzero`, a mask as an
index). It fails where tensors of both devices meet, as on a GPU.

`Graph` stands for a CUDA graph: what runs while it captures is written down, operation by
operation, with the numbers that the host passed, and `replay` runs just that again.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

DEVICE = "fake"
# When the tests are collected: autograd counts the devices at its first backward pass, once.
_setup_privateuseone_for_python_backend(DEVICE)
torch.get_device_module(DEVICE).get_amp_supported_dtype = lambda: [torch.bfloat16]
COMPOSITE = "CompositeImplicitAutograd"
aten = torch.ops.aten
COPIES = {aten._to_copy.default, aten.copy_.default}
# Operations whose result has a size that the host must know.
SIZED_BY_VALUES = {
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique2.default,
    aten.repeat_interleave.Tensor,
    aten.bincount.default,
    aten.equal.default,
}
INDEXED = {aten.index.Tensor, aten.index_put_.default, aten._index_put_impl_.default}


class WaitedError(RuntimeError):
    """The host waited for the device while a graph was captured."""


class FakeTensor(Tensor):
    """A tensor of the device that is none; `raw` holds its numbers."""

    raw: Tensor

    @staticmethod
    def __new__(cls, raw: Tensor) -> "FakeTensor":
        made = Tensor._make_wrapper_subclass(
            cls,
            raw.size(),
            strides=raw.stride(),
            storage_offset=raw.storage_offset(),
            dtype=raw.dtype,
            device=torch.device(DEVICE, 0),
        )
        made.raw = raw
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return FakeGpu().run(func, args, kwargs or {})

    def tolist(self) -> list:
        """As any tensor's; torch has it for none that is wrapped."""
        return self.cpu().tolist()

    def __repr__(self, *, tensor_contents=None) -> str:
        return f"FakeTensor({self.raw!r})"


class FakeGpu(TorchDispatchMode):
    """Computes what is of the device, and counts.

    Attributes:
        waits: how often the host would have waited, by operation.
        kernels: operations in all.
        downloads: elements of every tensor copied to the host.
        recording: what a `Graph` writes down; None outside of a capture.
        replayed: how often a graph was launched.
        before: memory that was written to during a capture, and what it held.
    """

    def __init__(self) -> None:
        super().__init__()
        self.recording: list | None = None
        self.replayed = 0
        self.before: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}
        self.forget()

    def forget(self) -> None:
        """Count from 0."""
        self.waits: Counter[str] = Counter()
        self.kernels, self.downloads = 0, []

    def new_graph(self) -> "Graph":
        """A graph of this device."""
        return Graph(self)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.run(func, args, kwargs or {})

    def run(self, func: Callable, args: tuple, kwargs: dict) -> Any:
        """One operation, on the CPU tensors behind its arguments."""
        tensors = list(_tensors(args)) + list(_tensors(kwargs.values()))
        of_device = [leaf for leaf in tensors if isinstance(leaf, FakeTensor)]
        wanted = kwargs.get("device")
        made_there = wanted is not None and torch.device(wanted).type == DEVICE
        if not of_device and not made_there:
            return func(*args, **kwargs)
        if torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), COMPOSITE):
            with self:  # of which inference mode shows the whole, and all else the parts
                return func.decompose(*args, **kwargs)
        self._note(func, args, kwargs, tensors, of_device)
        plain = {k: "cpu" if k == "device" else v for k, v in kwargs.items()}
        plain.pop("pin_memory", None)
        if self.recording is not None:
            self._remember(func, args, kwargs)
        raw, plain = _raw(args), {name: _raw(value) for name, value in plain.items()}
        found = func(*raw, **plain)
        to_host = wanted is not None and not made_there
        to_host |= func is aten.copy_.default and not isinstance(args[0], FakeTensor)
        if to_host or func is aten._local_scalar_dense.default:
            return found
        if func is aten._to_copy.default and any(found is tensor.raw for tensor in of_device):
            found = found.clone()
        self.kernels += 1
        wrapped = _wrapped(found)
        if of_device:
            wrapped = return_and_correct_aliasing(func, args, kwargs, wrapped)
        if self.recording is not None:
            self.recording.append((func, raw, plain, found))
        return wrapped

    def _note(self, func, args, kwargs, tensors, of_device) -> None:
        """What a GPU would wait for, or refuse."""
        if func is aten._local_scalar_dense.default or func in SIZED_BY_VALUES:
            return self._wait(func)
        if func in COPIES:
            here = isinstance(args[0], FakeTensor)
            there = torch.device(kwargs.get("device") or args[0].device).type == DEVICE
            if func is aten.copy_.default:
                here, there = isinstance(args[1], FakeTensor), isinstance(args[0], FakeTensor)
            unhurried = kwargs.get("non_blocking") or (args[2:] and args[2])
            if here and not there:
                self.downloads.append(args[0].numel())
                self._wait("copy to the host")
            elif there and not here and (not unhurried or self.recording is not None):
                self._wait("copy from memory that is not pinned")
            return None
        if func in INDEXED:
            for index in args[1]:
                if index is not None and index.dtype == torch.bool:
                    self._wait("a mask as an index")
                elif index is not None and not isinstance(index, FakeTensor):
                    self._wait("an index on the host")
            return None
        strays = [tensor for tensor in tensors if not isinstance(tensor, FakeTensor)]
        if any(stray.dim() for stray in strays):
            raise RuntimeError(f"{func}: tensors of the device and of the host")
        return None

    def _remember(self, func: Callable, args: tuple, kwargs: dict) -> None:
        """Keep what an operation is about to write to."""
        for place, argument in enumerate(func._schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            written = args[place] if place < len(args) else kwargs.get(argument.name)
            for leaf in _tensors([written]):
                if isinstance(leaf, FakeTensor):
                    memory = leaf.raw.untyped_storage()
                    self.before.setdefault(memory.data_ptr(), (memory, memory.clone()))

    def _wait(self, what: object) -> None:
        if self.recording is not None:
            raise WaitedError(f"{what} while a graph is captured")
        self.waits[str(what)] += 1


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def _raw(value: Any) -> Any:
    """The same with the CPU tensors behind those of the device."""
    if isinstance(value, FakeTensor):
        return value.raw
    return type(value)(map(_raw, value)) if isinstance(value, list | tuple) else value


def _wrapped(value: Any) -> Any:
    if isinstance(value, Tensor):
        return FakeTensor(value)
    return type(value)(map(_wrapped, value)) if isinstance(value, list | tuple) else value


class Graph:
    """A CUDA graph on the device that is none.

    Args:
        gpu: the device.
    """

    def __init__(self, gpu: FakeGpu) -> None:
        self.gpu, self.operations = gpu, []

    @contextmanager
    def captured(self, pool: object) -> Iterator[None]:
        """Write down what runs inside; a real graph does not run it, so changes are undone."""
        self.gpu.recording = self.operations
        try:
            yield
        finally:
            self.gpu.recording = None
            for memory, held in self.gpu.before.values():
                memory.copy_(held)
            self.gpu.before = {}

    def pool(self) -> object:
        """Memory of a graph; here there is as much as it takes."""
        return "pool"

    def replay(self) -> None:
        """Run what was written down on the memory that it was written down with."""
        self.gpu.replayed += 1
        for func, args, kwargs, found in self.operations:
            again = func(*args, **kwargs)
            for old, new in zip(_tensors([found]), _tensors([again]), strict=True):
                if old.data_ptr() != new.data_ptr():
                    old.copy_(new)


@contextmanager
def fake_gpu() -> Iterator[FakeGpu]:
    """The device, while a block runs."""
    # `torch.tensor(..., device=...)` then makes its numbers on the host and copies them.
    before = torch._C._only_lift_cpu_tensors()
    torch._C._set_only_lift_cpu_tensors(True)
    try:
        with FakeGpu() as gpu:
            yield gpu
    finally:
        torch._C._set_only_lift_cpu_tensors(before)
