"""Run a script of the project, the first argument, without pauses between attempts."""

import runpy
import sys
import time

import onelayer.fetching.fetch

onelayer.fetching.fetch.FIRST_PAUSE = 0
time.sleep = lambda seconds: None

sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
