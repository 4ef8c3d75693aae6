"""Claims about what rules ask of the machine."""

import pytest

from onelayer.run.allocation import asks


def test_a_retry_asks_for_more_memory_and_time() -> None:
    found = asks(1500, minutes=30)
    attempts = [(found["mem_mb"](None, n), found["runtime"](None, n)) for n in (1, 2, 3)]
    assert attempts == [(1500, 30), (3000, 60), (4500, 90)]


@pytest.mark.parametrize(("device", "reserved"), [("cuda", 1), ("auto", 0), ("cpu", 0)])
def test_just_a_step_that_needs_a_gpu_reserves_one(device: str, reserved: int) -> None:
    assert asks(1, 1, device)["gpu"] == reserved
    assert asks(1, 1, lambda _: device)["gpu"](None) == reserved
    assert "gpu" not in asks(1, 1)
