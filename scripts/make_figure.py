"""Make a figure as its function declares it."""

from onelayer.evidence.asked import run_asked
from onelayer.evidence.figures import write

if __name__ == "__main__":
    run_asked("figures*", write)
