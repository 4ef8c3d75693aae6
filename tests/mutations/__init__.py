"""Do the tests notice faults? Small slips in the library, each with the test that must fail."""

from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path("src/onelayer")


@dataclass(frozen=True)
class Fault:
    """One slip that somebody could make.

    Attributes:
        module: file below `src/onelayer`.
        old: text that stands exactly once in it.
        new: what the slip makes of it.
        test: file or node id that must fail.
        why: what goes wrong.
        survives: why no test can notice it; empty where one must.
    """

    module: str
    old: str
    new: str
    test: str
    why: str
    survives: str = ""

    @property
    def path(self) -> Path:
        """The module, from the root of the project."""
        return PACKAGE / self.module

    def applied(self, text: str) -> str | None:
        """The module's text with the fault in it; None where it does not apply."""
        return text.replace(self.old, self.new) if text.count(self.old) == 1 else None
