"""How far a long step is: a bar on a terminal, a line a minute in logs."""

import logging
import os
import time
from collections.abc import Iterable, Iterator, Sized

from tqdm import tqdm

# Its lines stay out of a terminal, where the bar says the same.
log = logging.getLogger("onelayer.run.progress")
EVERY = 60.0  # seconds
# Set where one line for the whole run takes the place of the steps' bars.
NO_BARS = "ONELAYER_NO_BARS"


def watched(items: Iterable, job: str, total: int | None = None, unit: str = "it") -> Iterator:
    """Iterate, and say from time to time how many items of a `job` are done.

    `total` is how many there are, where they do not say it themselves; `unit` what one is.
    """
    total = len(items) if total is None and isinstance(items, Sized) else total
    start = said = time.monotonic()
    hidden = True if os.getenv(NO_BARS) else None  # None: where stderr is no terminal
    bar = tqdm(items, desc=job, total=total, unit=unit, disable=hidden, leave=False)
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
    remaining = seconds / done * (total - done)
    return f"{done:,} of {total:,} {unit}, {done / total:.0%}, {lasting(remaining)} left"


def lasting(seconds: float) -> str:
    """A time as one rounded number: `less than a minute`, `12 minutes`, `3 hours`."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    if minutes < 120:
        return f"{minutes} minute{'s' * (minutes > 1)}"
    return f"{round(minutes / 60)} hours"
