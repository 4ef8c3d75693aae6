"""The time left of a run, from benchmarks that the test writes."""

import pytest

from onelayer.run.time_left import TimeLeft, read_benchmarks

SECONDS = {"fit_lda": 30.0, "probe": 10.0}


def test_a_rule_takes_the_mean_of_its_jobs(tmp_path):
    for name, seconds in (("fit_lda", 30), ("probe/a/0", 5), ("probe/b", 15)):
        path = tmp_path / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\th:m:s\tcpu_time\n{seconds}\t0:00:05\t4\n")
    assert read_benchmarks(tmp_path) == SECONDS
    assert read_benchmarks(tmp_path / "nothing") == {}


def test_two_at_a_time_take_half_as_long():
    run = TimeLeft({"probe": 10}, SECONDS)
    for job in range(2):
        run.start(job, "probe", now=0)
    assert run.estimate(now=5) == pytest.approx(45)
    for job in range(2):
        run.finish(job)
    assert run.estimate(now=10) == pytest.approx(40)


def test_the_time_before_the_first_job_makes_no_run_slow():
    run = TimeLeft({"fit_lda": 1}, SECONDS)
    run.start(0, "fit_lda", now=7)
    assert run.estimate(now=7.001) == pytest.approx(30, abs=0.01)


def test_a_job_that_takes_longer_than_ever_is_not_more_than_done():
    run = TimeLeft({"fit_lda": 1, "probe": 1}, SECONDS)
    run.start(0, "probe", now=0)
    assert run.estimate(now=20) == pytest.approx(60)  # half as fast as it was


@pytest.mark.parametrize("jobs", [{"new": 3, "probe": 1}, {"new": 1}])
def test_nothing_is_said_where_too_little_is_known(jobs):
    run = TimeLeft(jobs, SECONDS)
    run.start(0, next(iter(jobs)), now=0)
    assert run.estimate(now=5) is None


def test_nothing_is_said_before_anything_is_done():
    assert TimeLeft({"probe": 2}, SECONDS).estimate(now=3) is None
