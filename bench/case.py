"""What every bench is made of: one computation in several ways, checked, then timed together.

A `Case` names three ways of computing the same numbers: ours; the best simple one, ten to thirty
lines that a good user would write; and the authors' way. `Case.check` compares their numbers,
`measure` times them by turns in CPU time, one thread, and sets ours beside a floor: what the
`Work` takes at this machine's own rates, or less than any code could.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

Numbers = Mapping[str, Any]

SECONDS = 5.0  # about so long the ways of a case are repeated
FEWEST, MOST = 3, 25  # repetitions
LONG = 2.0  # seconds from which on the run that was checked is the only one


def _all(numbers: Numbers) -> Numbers:
    return numbers


@dataclass(frozen=True, eq=False)
class Way:
    """One way of computing a case.

    Attributes:
        name: what it is, in a few words.
        run: computes; what it returns is compared, name by name. Takes what `prepare` returns, if
            that is given.
        prepare: what is not timed, anew before every run.
        of: our numbers -> those that this way gives, where it does a part of the work.
        share: how much of our work `run` does; its time is divided by it.
        tolerance: largest relative difference from our numbers, beside each name's largest.
    """

    name: str
    run: Callable[..., Numbers]
    prepare: Callable[[], Any] | None = None
    of: Callable[[Numbers], Numbers] = _all
    share: float = 1.0
    tolerance: float = 1e-9

    def timed(self) -> tuple[float, Numbers]:
        """CPU seconds of all of the work, and the numbers."""
        prepared = () if self.prepare is None else (self.prepare(),)
        start = process_time()
        numbers = self.run(*prepared)
        return (process_time() - start) / self.share, numbers


@dataclass(frozen=True)
class Work:
    """What any code must do: the larger of its products and its traffic bounds the time from below.

    Attributes:
        flops: additions and multiplications.
        bytes: read and written, each once.
        rate: which of `Rates.flops` they run at.
        formula: how they are counted, for a reader to check.
    """

    flops: float
    bytes: float
    rate: str
    formula: str


@dataclass(frozen=True)
class Rates:
    """One thread of this machine.

    Attributes:
        flops: per second, by library and type: a square matrix product.
        bytes: per second: an array copied, read and written.
    """

    flops: dict[str, float]
    bytes: float

    @classmethod
    def measured(cls, size: int = 1024, megabytes: int = 256) -> Rates:
        """The best of several runs, in CPU time."""
        rng, flops = np.random.default_rng(0), {}
        for name, dtype in (("float32", np.float32), ("float64", np.float64)):
            a = rng.standard_normal((size, size)).astype(dtype)
            products = {
                f"numpy {name}": (np.matmul, a, a, np.empty_like(a)),
                # Clones: memory that torch aligns itself.
                f"torch {name}": (torch.mm, *(torch.from_numpy(a).clone() for _ in range(3))),
            }
            for key, (product, x, y, out) in products.items():
                flops[key] = 2 * size**3 / _best(lambda p=product, x=x, y=y, o=out: p(x, y, out=o))
        source = rng.random(megabytes * 2**17)
        target = np.empty_like(source)
        return cls(flops, 2 * source.nbytes / _best(lambda: np.copyto(target, source)))

    def floor(self, work: Work) -> float:
        """Seconds below which no code comes."""
        return max(work.flops / self.flops[work.rate], work.bytes / self.bytes)


def counted_flops(call: Callable[[], Any]) -> int:
    """Flops of all matrix products that torch makes in a call."""
    # It does not see into fused attention on a CPU; unfused attention has the same products.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


def _best(call: Callable[[], Any], repetitions: int = 40) -> float:
    times = []
    for _ in range(repetitions):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times)


@dataclass(frozen=True, eq=False)
class Case:
    """One computation of the library and what it is set beside.

    Attributes:
        name: what is computed, with its sizes.
        steps: the scripts that spend their time on it.
        ours, simple: two ways.
        authors: a third, or why there is none.
        count_work: counts what any way must do.
    """

    name: str
    steps: tuple[str, ...]
    ours: Way
    simple: Way
    authors: Way | str
    count_work: Callable[[], Work]

    @cached_property
    def work(self) -> Work:
        """What any way must do."""
        return self.count_work()

    @property
    def baselines(self) -> list[Way]:
        """The ways that ours is compared with."""
        return [self.simple] if isinstance(self.authors, str) else [self.simple, self.authors]

    def check(self) -> dict[Way, float]:
        """Run every way once; their times.

        Raises:
            AssertionError: numbers differ by more than a way's tolerance.
        """
        first, expected = self.ours.timed()
        times = {self.ours: first}
        for way in self.baselines:
            times[way], numbers = way.timed()
            ours = way.of(expected)
            assert numbers, f"{self.name}: {way.name} gives nothing to compare"
            for name, value in numbers.items():
                value, own = np.asarray(value, float), np.asarray(ours[name], float)
                assert value.shape == own.shape, f"{self.name}: {name} of {way.name}"
                np.testing.assert_allclose(
                    value,
                    own,
                    rtol=0,
                    atol=way.tolerance * np.nanmax(np.abs(own), initial=0.0),
                    err_msg=f"{self.name}: {name} of {way.name}",
                )
        return times


@dataclass(frozen=True)
class Row:
    """A case measured; seconds of CPU time."""

    case: Case
    ours: float
    simple: float
    authors: float | None
    floor: float

    @property
    def cells(self) -> list[str]:
        """What, four times in milliseconds, three ratios."""
        times = (self.ours, self.simple, self.authors, self.floor)
        ratios = (
            self.simple / self.ours,
            None if self.authors is None else self.authors / self.ours,
            self.ours / self.floor,
        )
        return [
            self.case.name,
            *("–" if time is None else f"{1e3 * time:,.2f}" for time in times),
            *("–" if ratio is None else _ratio(ratio) for ratio in ratios),
        ]

    @property
    def notes(self) -> str:
        """What the columns are, in three lines."""
        authors = self.case.authors
        said = authors if isinstance(authors, str) else _described(authors)
        return (
            f"{self.case.name}\n  simple: {_described(self.case.simple)}\n  authors: {said}\n"
            f"  floor: {self.case.work.formula}"
        )


def _ratio(value: float) -> str:
    return f"{value:,.2f}x" if value < 10 else f"{value:,.0f}x"


def _described(way: Way) -> str:
    part = "" if way.share == 1 else f"; {way.share:.3g} of the work is run"
    agrees = "the same bits" if way.tolerance == 0 else f"agrees to {way.tolerance:.0e}"
    return f"{way.name} ({agrees}{part})"


def measure(case: Case, rates: Rates) -> Row:
    """Check a case, then time its ways by turns: the median of each."""
    first = case.check()
    once = {way for way in case.baselines if first[way] * way.share > LONG}
    repeated = [way for way in (case.ours, *case.baselines) if way not in once]
    round_seconds = sum(first[way] * way.share for way in repeated)
    rounds = int(min(max(SECONDS / round_seconds, FEWEST), MOST))
    times: dict[Way, list[float]] = {way: [first[way]] for way in once}
    for _ in range(rounds):
        for way in repeated:
            times.setdefault(way, []).append(way.timed()[0])
    found = {way: median(own) for way, own in times.items()}
    authors = None if isinstance(case.authors, str) else found[case.authors]
    floor = rates.floor(case.work)
    return Row(case, found[case.ours], found[case.simple], authors, floor)
