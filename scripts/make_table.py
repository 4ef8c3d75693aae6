"""Make a table as its function declares it."""

from onelayer.evidence.declarations import asked_for
from onelayer.evidence.tables import make

if __name__ == "__main__":
    make(asked_for())
