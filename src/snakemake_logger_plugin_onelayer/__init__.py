"""Snakemake's own log, and what it leaves out.

Of a dry run why each step would run; last of all, again, the line of every step that failed; on a
terminal one line below the log, how far the run is and what runs. `snakemake --logger onelayer`;
the Makefile says so.
"""

import os
import shutil
import sys
import threading
import time
from logging import LogRecord
from pathlib import Path

from snakemake.logging import ColorizingTextHandler
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from onelayer.run.progress import NO_BARS, lasting
from onelayer.run.time_left import TimeLeft, read_benchmarks

BENCHMARKS = Path("results/benchmarks")
ERASE = "\r\033[K"


class LogHandler(LogHandlerBase, ColorizingTextHandler):
    """Writes what Snakemake's own handler writes, with its format and filter."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        stream = sys.stdout if self.common_settings.stdout else sys.stderr
        ColorizingTextHandler.__init__(self, self.common_settings.nocolor, stream)
        self._jobs = 0
        self._done = 0
        self._running: dict[int, str] = {}
        self._failed: dict[str, Path] = {}
        self._time: TimeLeft | None = None
        self._drawing = threading.RLock()
        self._ended = threading.Event()
        if self.is_tty and not self.common_settings.dryrun:
            os.environ[NO_BARS] = "1"
            threading.Thread(target=self._tick, daemon=True).start()

    def emit(self, record: LogRecord) -> None:
        """Write a record above the line, and draw the line anew."""
        with self._drawing:
            self._erase()
            ColorizingTextHandler.emit(self, record)  # the base class declares one without a body
            self._note(record)
            self._draw()

    def close(self) -> None:
        """Leave nothing of the line behind, and say once more what failed."""
        with self._drawing:
            self._ended.set()
            self._erase()
            for name, log in self._failed.items():
                self.stream.write(f"{_last_error(log) or f'{name} failed'}: see {log}\n")
            self._failed.clear()
            self.flush()
        super().close()

    def _note(self, record: LogRecord) -> None:
        event = getattr(record, "event", None)
        if event == LogEvent.RUN_INFO:
            jobs = {rule: n for rule, n in record.stats.items() if rule != "total"}
            self._jobs = sum(jobs.values())
            self._time = TimeLeft(jobs, read_benchmarks(BENCHMARKS))
        elif event == LogEvent.JOB_INFO and self.common_settings.dryrun:
            # The library is that of the checkout only once the workflow was read.
            from onelayer.run.reasons import reason

            if why := reason(record.shellcmd, record.output):
                self.stream.write(f"    {why}\n")
        elif event == LogEvent.JOB_ERROR and record.log:
            self._failed[record.rule_name] = Path(record.log[0]).resolve()
        elif event == LogEvent.JOB_INFO and self._time:
            values = " ".join(map(str, record.wildcards.values()))
            self._running[record.jobid] = f"{record.rule_name} {values}".rstrip()
            self._time.start(record.jobid, record.rule_name, time.monotonic())
        elif event == LogEvent.JOB_FINISHED and self._time:
            self._running.pop(record.job_id, None)
            self._time.finish(record.job_id)
        elif event == LogEvent.PROGRESS:
            self._done, self._jobs = record.done, record.total

    def line(self) -> str:
        """`12 of 141 jobs, 9 minutes left: pretrain_model bert-here 0, fit_lda vital-articles`."""
        remaining = self._time.estimate(time.monotonic()) if self._time else None
        share = f"{self._done} of {self._jobs} jobs"
        share += "" if remaining is None else f", {lasting(remaining)} left"
        return f"{share}: {', '.join(self._running.values())}"

    def _tick(self) -> None:
        while not self._ended.wait(1):
            with self._drawing:
                self._draw()

    def _draw(self) -> None:
        if os.getenv(NO_BARS) and self._running and not self._ended.is_set():
            columns = shutil.get_terminal_size().columns
            self.stream.write(ERASE + self.line()[: columns - 1])
            self.stream.flush()

    def _erase(self) -> None:
        if os.getenv(NO_BARS) and self._time:
            self.stream.write(ERASE)


def _last_error(log: Path) -> str:
    """The last error that a step wrote down, without time and level."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    errors = [line for line in lines if line.startswith("ERROR ")]
    return errors[-1].removeprefix("ERROR ") if errors else ""
