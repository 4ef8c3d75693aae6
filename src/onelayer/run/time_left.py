"""How long a run will still take, from the benchmarks that earlier runs left behind."""

import csv
import math
from collections.abc import Mapping
from pathlib import Path

KNOWN = 0.8  # of the jobs' share at least, or nothing is said


def read_benchmarks(folder: Path) -> dict[str, float]:
    """Mean seconds of each rule's jobs, from `<rule>.tsv` and `<rule>/**/*.tsv`."""
    by_rule: dict[str, list[float]] = {}
    for path in folder.rglob("*.tsv"):
        rule = path.relative_to(folder).parts[0].removesuffix(".tsv")
        with path.open(newline="", encoding="utf-8") as file:
            by_rule.setdefault(rule, []).extend(
                float(row["s"]) for row in csv.DictReader(file, delimiter="\t")
            )
    return {rule: sum(seconds) / len(seconds) for rule, seconds in by_rule.items() if seconds}


class TimeLeft:
    """The work of a run in seconds of its jobs, what is done of it, and how fast that went.

    `jobs` has how many of each rule there are, `seconds` how long one takes; jobs of rules that are
    not in it count as nothing.
    """

    def __init__(self, jobs: Mapping[str, int], seconds: Mapping[str, float]) -> None:
        self._seconds = seconds
        self._start = math.inf  # of the first job; planning is no work
        self._total = sum(count * seconds.get(rule, 0.0) for rule, count in jobs.items())
        timed = sum(count for rule, count in jobs.items() if rule in seconds)
        self._known = timed >= KNOWN * sum(jobs.values())
        self._done = 0.0
        self._running: dict[int, tuple[str, float]] = {}

    def start(self, job: int, rule: str, now: float) -> None:
        """A job starts, in seconds of any clock."""
        self._start = min(self._start, now)
        self._running[job] = (rule, now)

    def finish(self, job: int) -> None:
        """A job ends; one that is not known to run is left out."""
        if running := self._running.pop(job, None):
            self._done += self._seconds.get(running[0], 0.0)

    def estimate(self, now: float) -> float | None:
        """Seconds until the end, at the speed so far; None where too little is known."""
        # A job that takes longer than it used to is never more than done.
        under_way = sum(
            min(now - start, self._seconds.get(rule, 0.0)) for rule, start in self._running.values()
        )
        done = self._done + under_way
        if not self._known or done <= 0 or now <= self._start:
            return None
        return (self._total - done) * (now - self._start) / done
