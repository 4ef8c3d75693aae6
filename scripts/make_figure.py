"""Make a figure as its function declares it."""

from onelayer.evidence.declarations import asked_for
from onelayer.evidence.figures import make

if __name__ == "__main__":
    make(asked_for())
