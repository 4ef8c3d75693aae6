"""Every table and figure that the workflow declares under the default settings, and its rule.

A program of its own, because the Snakefile takes the library of its checkout into the process that
reads it.
"""

import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from snakemake.api import SnakemakeApi
from snakemake.settings.types import OutputSettings, Quietness, ResourceSettings

SNAKEFILE = Path(__file__).resolve().parents[2] / "Snakefile"


def main() -> None:
    """Read the workflow, away from any run, and write what its rules declare."""
    with (
        tempfile.TemporaryDirectory() as folder,
        SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api,
    ):
        os.chdir(folder)
        read = api.workflow(ResourceSettings(cores=1), snakefile=SNAKEFILE)
        # What the API itself says of rules is text.
        declared = read._workflow.globals["results"].declared.values()
        makers = {str(file): rule.name for rule in read._workflow.rules for file in rule.output}
        found = [
            asdict(one) | {"folder": one.folder, "rule": makers.get(one.files[0])}
            for one in declared
        ]
        os.chdir(SNAKEFILE.parent)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
