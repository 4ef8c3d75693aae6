"""Progress of long steps: lines in a log, as often as they should come."""

import logging
import time

import pytest

from onelayer.run import progress, step


@pytest.fixture
def minutes(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test turns, in minutes."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: 60 * now[0])
    return now


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_a_long_step_writes_a_line_a_minute(minutes, caplog):
    caplog.set_level(logging.INFO)
    for item in progress.watched(range(10), "fit_lda vital", unit="doc"):
        assert len(caplog.records) == item // 2  # so far, one for each whole minute
        minutes[0] += 0.5
    assert lines(caplog)[0] == "fit_lda vital: 2 of 10 doc, 20%, 4 minutes left"
    assert lines(caplog)[-1] == "fit_lda vital: 8 of 10 doc, 80%, 1 minute left"


def test_a_short_step_writes_nothing(caplog):
    caplog.set_level(logging.INFO)
    assert list(progress.watched(iter("abc"), "count_words")) == ["a", "b", "c"]
    assert lines(caplog) == []


def test_a_step_of_unknown_length_says_how_much_is_done(minutes, caplog):
    caplog.set_level(logging.INFO)
    for _ in progress.watched(iter(range(3)), "merge_words", unit=" words"):
        minutes[0] += 300
    assert lines(caplog) == ["merge_words: 1 words", "merge_words: 2 words"]


@pytest.mark.parametrize(
    ("seconds", "said"), [(20, "less than a minute"), (60, "1 minute"), (9000, "2 hours")]
)
def test_the_time_left_is_one_rounded_number(seconds, said):
    assert progress.lasting(seconds) == said


def test_the_lines_are_in_the_log_file_and_in_what_is_no_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(progress, "EVERY", 0.001)
    log = tmp_path / "fit_lda" / "vital.log"
    step._start_log(log)
    for _ in progress.watched(range(3), step._job("fit_lda", log)):
        time.sleep(0.002)
    assert "INFO fit_lda vital: 2 of 3 it, 67%, less than a minute left" in log.read_text()
    assert log.read_text() == capsys.readouterr().err


def test_a_terminal_has_the_bar_and_not_the_lines(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(step.sys.stderr, "isatty", lambda: True)
    step._start_log(tmp_path / "step.log")
    progress.log.info("a line")
    step.log.info("another")
    assert capsys.readouterr().err == "INFO another\n"
    assert (tmp_path / "step.log").read_text() == "INFO a line\nINFO another\n"
