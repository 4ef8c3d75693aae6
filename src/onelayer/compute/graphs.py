"""A step of many small kernels as one launch: CUDA graphs.

A small kernel takes less time than its launch. A graph writes the launches of a step down once, and
launches all of them together. It reads and writes the memory that it was written down with: what
changes from step to step is copied there, and the step itself may change nothing but tensors, in
place.
"""

import logging
from collections.abc import Callable, Hashable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

log = logging.getLogger("onelayer")

WARM_UP = 3  # steps of one shape before its graph: libraries set themselves up
MOST_GRAPHS = 12
MOST_SHAPES = 200  # from here on shapes do not come again often enough


class Graphed:
    """A step that is launched as one on a GPU, and runs as it is everywhere else.

    A step is written down for each shape of its inputs. Where that fails it runs kernel by kernel
    from then on, and the log says so once: the numbers are the same.

    `step`: inputs -> outputs, both tensors or what holds them (tuples, dicts, dataclasses). It may
    change tensors of its own in place; it must not read numbers on the host, nor depend on anything
    of the host that changes.
    """

    def __init__(self, step: Callable[[Any], Any], device: str | torch.device) -> None:
        self.step, self.device = step, torch.device(device)
        self.graphed = self.device.type in GRAPHS
        self._pool: Any = None  # memory that all graphs of this step share
        self._seen: dict[Hashable, int] = {}
        self._written: dict[Hashable, tuple[Any, list[Tensor], Any]] = {}

    def __call__(self, inputs: Any) -> Any:
        """What the step returns; valid until the next call."""
        if not self.graphed:
            return self.step(inputs)
        key = _shape_of(inputs)
        if key not in self._written and not self._write_down(key, inputs):
            return self.step(inputs)
        graph, kept, outputs = self._written[key]
        if kept:
            torch._foreach_copy_(kept, _tensors(inputs))
        graph.replay()
        return outputs

    def _write_down(self, key: Hashable, inputs: object) -> bool:
        """Whether there is a graph for this shape now."""
        self._seen[key] = self._seen.get(key, 0) + 1
        if len(self._seen) > MOST_SHAPES:
            self.graphed = False
        if self._seen[key] <= WARM_UP or len(self._written) >= MOST_GRAPHS:
            return False
        new_graph, captured = GRAPHS[self.device.type]
        graph, held = new_graph(), _in_own_memory(inputs)
        try:
            with captured(graph, pool=self._pool):
                outputs = self.step(held)
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
            log.warning("no CUDA graph of this step, which goes on kernel by kernel: %s", reason)
            self.graphed = False
            return False
        self._pool = graph.pool()
        self._written[key] = graph, _tensors(held), outputs
        return True


# What makes a graph, and the context in which launches are written down into it, not made; their
# memory is of a pool.
GRAPHS: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "cuda": (torch.cuda.CUDAGraph, torch.cuda.graph)
}


def _leaves(held: object) -> Iterator[object]:
    """Every tensor, and every other value, in what holds them; always in one order."""
    if is_dataclass(held):
        held = [getattr(held, field.name) for field in fields(held)]
    elif isinstance(held, dict):
        held = list(held.values())
    if isinstance(held, tuple | list):
        for part in held:
            yield from _leaves(part)
    else:
        yield held


def _in_own_memory(held: Any) -> Any:
    """The same with copies in place of the tensors."""
    if isinstance(held, Tensor):
        return held.detach().clone(memory_format=torch.contiguous_format)
    if isinstance(held, tuple | list):
        parts = [_in_own_memory(part) for part in held]
        return type(held)(*parts) if hasattr(held, "_fields") else type(held)(parts)
    if isinstance(held, dict):
        return {name: _in_own_memory(part) for name, part in held.items()}
    if is_dataclass(held):
        names = (field.name for field in fields(held))
        return replace(held, **{name: _in_own_memory(getattr(held, name)) for name in names})
    return held


def _tensors(held: object) -> list[Tensor]:
    return [leaf for leaf in _leaves(held) if isinstance(leaf, Tensor)]


def _shape_of(inputs: object) -> Hashable:
    """What inputs share that one graph can serve: shapes and types, and all else by value."""
    return tuple(
        (leaf.shape, leaf.dtype) if isinstance(leaf, Tensor) else repr(leaf)
        for leaf in _leaves(inputs)
    )
