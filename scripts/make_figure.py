"""Make a figure as its function declares it."""

from onelayer.declarations import asked_for
from onelayer.figures import make

if __name__ == "__main__":
    make(asked_for())
