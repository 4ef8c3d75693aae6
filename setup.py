"""What an installed package has beside its library: the workflow, in `share/onelayer`.

`onelayer.checkout` finds it there. All else about the package stands in `pyproject.toml`.
"""

from pathlib import Path

from setuptools import setup

WORKFLOW = [
    "Snakefile",
    "CITATION.cff",
    "config.yaml",
    "config/*.yaml",
    "envs/*.yaml",
    "profiles/*/*.yaml",
]
WORKFLOW += ["scripts/*.py", "src/**/*.py", "src/**/*.pyi", "workflow/**/*.*"]

files = sorted(file for pattern in WORKFLOW for file in Path().glob(pattern))
setup(data_files=[(f"share/onelayer/{file.parent}", [str(file)]) for file in files])
