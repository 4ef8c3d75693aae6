# onelayer: experiments on how one-layer transformers learn, each number beside the published one.
#
#   snakemake --cores all                            everything
#   snakemake --cores 1 table_wikipedia_disjoint     one table and only what it needs
#   snakemake --list-target-rules                    what there is
#
# Results lie in the working directory: with `--directory runs/mine` in runs/mine/results, from
# wherever this file is named (`--snakefile`). As a module of another workflow: docs/overlays.md.
import atexit
import gc
import re
import shlex
from contextlib import contextmanager
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.utils import min_version

min_version("9.27")


include: "workflow/rules/checkout.smk"


from onelayer.run.allocation import asks
from onelayer.evidence.declarations import FORMS, read_declarations
from onelayer.errors import OnelayerError
from onelayer.evidence.findings import check as check_findings
from onelayer.run.liveness import remove_stale_locks
from onelayer.run.occupancy import check_writable, memory_lost, occupy
from onelayer.papers.findings import CLAIMS, FINDINGS
from onelayer.run.portable import assignments
from onelayer.run.provenance import script, states
from onelayer.report.registry import FOLDERS, Registry
from onelayer.settings.block import Block
from onelayer.settings.hub import DiskFiles, HubDataset
from onelayer.settings.kept import keep_settings
from onelayer.settings.local_to_global import IntegrationSettings
from onelayer.settings.models import CHECKPOINT_FILES, PICKLED_WEIGHTS, TOKENIZER_FILES
from onelayer.settings.root import load_settings
from onelayer.settings.topic_structure import ShownCheckpoint


include: "workflow/rules/configuration.smk"


# A last search for garbage, of which an ending process needs none, takes .4 seconds.
atexit.register(gc.freeze)

# After `kill -9` the same command goes on, without --unlock. Of another workflow's jobs, whose
# module this is, nothing is known here.
if workflow.is_main_process and not is_module:
    with in_one_line():
        check_writable()
    if memory_lost():
        logger.warning(
            "Snakemake's memory, .snakemake/metadata, is lost: it sees no change of settings or code "
            "since the results here were made. Had there been any: --forceall; if not: --touch"
        )
    if not workflow.output_settings.dryrun:
        remove_stale_locks()


onstart:
    with in_one_line():
        occupy()
        if not is_module:
            keep_settings(config, Path("results"))
    # Unless told otherwise Snakemake 9.27 limits jobs to 100 a second, which no run here comes near,
    # and for that has one more timer after every job that ended look through all waiting jobs each
    # second: a third of a core after 100 jobs. The last of them keep the process alive.
    limit = getattr(workflow.scheduler, "job_rate_limiter", None)
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


configfile: f"{checkout}/config.yaml"


report: "workflow/report/workflow.rst"


envvars:
    "PYTHONPATH",


# A GPU limit (workflow/profiles/default) holds for one machine, not for a whole cluster.
resource_scopes:
    gpu="local",


with in_one_line():
    if is_module:
        config = overlay_of_module(config)
    settings = load_settings(config)

# Every table, figure and animation, as the rules that make them declare it.
results = Registry(Path(checkout) / "workflow/report")


include: "workflow/rules/declare.smk"
include: "workflow/rules/step.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/topics.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/probe.smk"
include: "workflow/rules/robustness.smk"
include: "workflow/rules/topic_structure.smk"
include: "workflow/rules/reading.smk"
include: "workflow/rules/topic_structure_synthetic.smk"
include: "workflow/rules/decision_lists.smk"
include: "workflow/rules/scan_snap.smk"
include: "workflow/rules/local_to_global.smk"
include: "workflow/rules/stability.smk"
include: "workflow/rules/calibration.smk"
include: "workflow/rules/declared.smk"
include: "workflow/rules/results.smk"


rule all:
    default_target: True
    input:
        rules.write_crate.output,
        rules.write_index.output,
        rules.write_findings.output,
        rules.read_attention.output,
    localrule: True
