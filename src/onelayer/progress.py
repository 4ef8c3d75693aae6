"""How far a long step is: a bar on a terminal, a line a minute in logs."""

import logging
import time
from collections.abc import Iterable, Iterator, Sized

from tqdm import tqdm

# Its lines stay out of a terminal, where the bar says the same.
log = logging.getLogger("onelayer.progress")
EVERY = 60.0  # seconds


def watched(items: Iterable, job: str, total: int | None = None, unit: str = "it") -> Iterator:
    """Iterate, and say from time to time how many items are done.

    Args:
        items: what to go through.
        job: the name on the bar and in the lines.
        total: how many items there are, where they do not say it themselves.
        unit: what an item is.
    """
    total = len(items) if total is None and isinstance(items, Sized) else total
    start = said = time.monotonic()
    bar = tqdm(items, desc=job, total=total, unit=unit, disable=None, leave=False)
    for done, item in enumerate(bar):
        now = time.monotonic()
        if now - said >= EVERY and done:
            said = now
            log.info("%s: %s", job, _line(done, total, unit.strip(), now - start))
        yield item


def _line(done: int, total: int | None, unit: str, seconds: float) -> str:
    """`12,000 of 48,000 doc, 25%, 3 minutes left`."""
    if not total:
        return f"{done:,} {unit}"
    left = seconds / done * (total - done)
    return f"{done:,} of {total:,} {unit}, {done / total:.0%}, {_lasting(left)} left"


def _lasting(seconds: float) -> str:
    """A time as one rounded number."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    if minutes < 120:
        return f"{minutes} minute{'s' * (minutes > 1)}"
    return f"{round(minutes / 60)} hours"
