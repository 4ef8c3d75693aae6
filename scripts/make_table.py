"""Make a table as its function declares it."""

from onelayer.declarations import asked_for
from onelayer.tables import make

if __name__ == "__main__":
    make(asked_for())
