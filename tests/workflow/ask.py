"""Ask Snakemake itself about a project: its rules, the jobs that it plans, its tables and figures.

    python ask.py overlay.yaml ... -- path ...

runs in the project's folder, plans every named target and these paths as if nothing were there and
Slurm were to run it, and prints the answer as JSON.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from snakemake.api import SnakemakeApi
from snakemake.jobs import Job
from snakemake.settings.types import (
    ConfigSettings,
    DAGSettings,
    OutputSettings,
    Quietness,
    ResourceSettings,
)
from snakemake.workflow import Workflow
from snakemake_executor_plugin_slurm import ExecutorSettings
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

# So large that no rule gets fewer threads than it asks for.
MACHINE = ResourceSettings(cores=1000, nodes=1000)


def planned(overlays: list[Path], paths: list[str]) -> Workflow:
    """The workflow with its jobs."""
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        read = api.workflow(
            resource_settings=MACHINE,
            config_settings=ConfigSettings(configfiles=overlays),
            snakefile=Path("Snakefile"),
        )
        workflow = read._workflow  # what the API itself says about rules is text
        targets = {rule.name for rule in workflow.rules if rule.shellcmd is None}
        read.dag(DAGSettings(targets=targets.union(paths), forceall=True)).execute_workflow(
            executor="slurm", pseudo_executor="dryrun", executor_settings=ExecutorSettings()
        )
    # A dry-run calls every rule local.
    workflow._executor_plugin = ExecutorPluginRegistry().get_plugin("slurm")
    return workflow


def described(job: Job) -> dict:
    """What a job is and asks for; its memory and time at the first attempt and at the second."""
    asked = []
    for job.attempt in (1, 2):
        asked.append({name: job.resources.get(name) for name in ("mem_mb", "runtime", "gpu")})
    return {
        "rule": job.rule.name,
        "local": job.is_local,
        "script": Path(job.params.get("script", "")).stem,
        "command": job.shellcmd,
        "settings": json.loads(job.params.get("settings", "{}")),
        "message": job.message,
        "log": list(job.log),
        "benchmark": job.benchmark,
        "environment": job.rule.conda_env,
        "threads": job.threads,
        "asked": asked,
    }


def main() -> None:
    end = sys.argv.index("--")
    workflow = planned([Path(word) for word in sys.argv[1:end]], sys.argv[end + 1 :])
    registry, dag = workflow.globals["results"], workflow.dag
    places = {job: place for place, job in enumerate(dag.jobs)}
    answer = {
        "commands": {rule.name: rule.shellcmd for rule in workflow.rules},
        "jobs": [described(job) for job in places],
        "needs": [[places[needed] for needed in dag.dependencies[job]] for job in places],
        "results": [
            asdict(result) | {"groups": result.groups, "files": result.files}
            for result in registry.declared.values()
        ],
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
