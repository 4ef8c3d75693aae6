"""What `make bench` compares gives the same numbers, and leaves no training or kernel out."""

from functools import cache

import numpy as np
import pytest

from bench import portable
from bench.__main__ import BENCHES
from bench.case import Case, Rates, Way, Work, measure
from onelayer.run.provenance import REPOSITORY

# Beyond the papers' experiments, half a minute in all: ensembles that autograd differentiates.
READERS = {"train_open_problems"}
# A probe with many sets of topics, each step of which the bench of the probe times.
READERS |= {"calibrate_probe"}
# They read and count text, and put parts together: `make bench-scale` measures them.
READERS |= {"count_part_words", "list_part_words", "merge_words", "parse_articles", "parse_part"}


@cache
def small_cases(bench) -> list[Case]:
    return list(bench.cases(small=True))


def _case(simple: Way, authors: Way | str = "none") -> Case:
    ours = Way("ours", lambda: {"sum": 10.0, "parts": np.array([4.0, 6.0])})
    return Case("a sum", (), ours, simple, authors, lambda: Work(20, 50, "torch float32", "two"))


@pytest.mark.parametrize("bench", BENCHES, ids=lambda bench: bench.__name__.rpartition("_")[2])
def test_every_way_gives_our_numbers(bench) -> None:
    for case in small_cases(bench):
        case.check()


def test_every_script_with_a_progress_bar_is_timed() -> None:
    timed = {step for bench in BENCHES for case in small_cases(bench) for step in case.steps}
    scripts = {path.stem: path.read_text() for path in (REPOSITORY / "scripts").glob("*.py")}
    long = {name for name, text in scripts.items() if "execution_of" in text or "progress" in text}
    assert timed <= set(scripts)
    assert long - timed == READERS


def test_a_way_with_other_numbers_is_refused() -> None:
    _case(Way("right", lambda: {"sum": 10.0})).check()
    for wrong in ({"sum": 10.1}, {"sum": 10.0, "parts": np.array([4.0, 6.1])}, {}):
        with pytest.raises(AssertionError):
            _case(Way("wrong", lambda wrong=wrong: wrong)).check()
    part = Way("part", lambda: {"parts": [4.0]}, of=lambda ours: {"parts": ours["parts"][:1]})
    _case(Way("right", lambda: {"sum": 10.0}), part).check()


def test_the_floor_is_the_slower_of_products_and_traffic() -> None:
    rates = Rates({"torch float32": 10.0}, 5.0)
    assert rates.floor(Work(20, 5, "torch float32", "")) == 2
    assert rates.floor(Work(20, 50, "torch float32", "")) == 10


def test_a_way_that_does_a_share_of_the_work_counts_for_all_of_it(monkeypatch) -> None:
    monkeypatch.setattr("bench.case.SECONDS", 0.1)

    def count(numbers: int) -> dict:
        return {"sum": 10 * sum(1 for _ in range(numbers)) / numbers}

    half = Way("half", lambda: count(20_000), share=0.5)
    rates = Rates({"torch float32": 1.0}, 1.0)
    row = measure(_case(Way("whole", lambda: count(40_000)), half), rates)
    assert row.floor == 50
    assert 0.5 < row.authors / row.simple < 2
    assert row.cells[0] == "a sum"


def test_a_portable_training_is_timed_beside_a_plain_one() -> None:
    [[family, plain, slower, ratio]] = portable.cells(["bert"], pairs=1, small=True)
    assert family == "bert"
    assert float(slower) > 0 and float(plain) > 0 and float(ratio) > 0
