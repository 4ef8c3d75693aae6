"""The paths of a GPU on a device that is none; run by `tests/unit/test_gpu.py`."""
