"""Before anything is downloaded: is this Python new enough, is there room on the disk?"""

import json
import shutil
import subprocess
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - here alone an old Python may run
    sys.exit(
        "Python {}.{} is too old: 3.11 or newer is needed; name one: make PYTHON=python3.11".format(
            *sys.version_info
        )
    )

GB = 10**9
free = shutil.disk_usage(".").free
if free < 2 * GB:
    sys.exit(f"{free / GB:.1f} GB of disk are free here: an environment needs 2 GB at least")
if free < 8 * GB:
    command = "pip install --dry-run --quiet --no-deps --ignore-installed --report - torch==2.13.0"
    found = subprocess.run(
        [sys.executable, "-m", *command.split(), *sys.argv[1:]], capture_output=True, text=True
    )
    version = ""
    if found.returncode == 0:
        version = json.loads(found.stdout)["install"][0]["metadata"]["version"]
    if not version.endswith("+cpu"):
        sys.stderr.write(
            f"warning: {free / GB:.1f} GB of disk are free here; PyTorch with CUDA needs 8 GB in "
            "all. README says how to install its CPU build.\n"
        )
