# onelayer: experiments on how one-layer transformers learn, each number beside the published one.
#
#   snakemake --cores all                            everything
#   snakemake --cores 1 table_wikipedia_disjoint     one table and only what it needs
#   snakemake --list-target-rules                    what there is
import os
import re
import sys

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.20")

# Steps run with the Python that runs Snakemake (unless an environment is deployed) and import the
# library of this very checkout.
library = os.path.join(workflow.basedir, "src")
search_path = os.pathsep.join([os.path.dirname(sys.executable), os.getenv("PATH", "")])
os.environ.update(PYTHONPATH=library, PATH=search_path)
sys.path.insert(0, library)

from onelayer.allocation import gpus, growing
from onelayer.errors import OnelayerError
from onelayer.liveness import remove_stale_locks
from onelayer.provenance import code_closure, library_versions, settings_json
from onelayer.settings.corpus import SHARDED
from onelayer.settings.hub import DiskFiles, HubFiles
from onelayer.settings.models import CHECKPOINT_FILES
from onelayer.settings.root import load_settings

# After `kill -9` the same command goes on, without --unlock.
if workflow.is_main_process:
    remove_stale_locks()


configfile: "config.yaml"


report: "workflow/report/workflow.rst"


envvars:
    "PYTHONPATH",


# A GPU limit (workflow/profiles/default) holds for one machine, not for a whole cluster.
resource_scopes:
    gpu="local",


try:
    settings = load_settings(config)
except OnelayerError as error:
    raise WorkflowError(str(error)) from None

# Every room adds what it makes: tables, figures and animations (paths without suffix) with the
# caption that describes each, and the record of every step.
tables, figures, animations, records = {}, {}, {}, []


include: "workflow/rules/corpus.smk"
include: "workflow/rules/topics.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/probe.smk"
include: "workflow/rules/robustness.smk"
include: "workflow/rules/topic_structure.smk"
include: "workflow/rules/topic_structure_synthetic.smk"
include: "workflow/rules/decision_lists.smk"
include: "workflow/rules/scan_snap.smk"
include: "workflow/rules/local_to_global.smk"
include: "workflow/rules/results.smk"


# On a cluster these run where Snakemake runs: downloads, because compute nodes often reach no
# network, and tables and figures, which take seconds from what was measured.
workflow.localrules(
    *(r.name for r in workflow.rules if r.name.startswith(("fetch_", "tabulate_", "plot_")))
)


rule all:
    default_target: True
    input:
        rules.write_manifest.output,
        rules.write_index.output,
