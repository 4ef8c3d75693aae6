"""Bad input by generation: what the tests of it share, and how many cases they tried."""

import pytest
from hypothesis import HealthCheck, settings

# The same cases on every machine and in every run: what fails, fails for everyone.
GENERATED = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


class Cases:
    """Counts generated cases; the sum stands at the end of what pytest prints."""

    def __init__(self, item: pytest.Item) -> None:
        self._properties = item.user_properties

    def count(self, tried: int = 1) -> None:
        """Count cases that were tried."""
        self._properties.append(("generated cases", tried))
