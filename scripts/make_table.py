"""Make a table as its function declares it."""

from onelayer.evidence.asked import run_asked
from onelayer.evidence.tables import write

if __name__ == "__main__":
    run_asked("tables*", write)
