# onelayer: experiments on how one-layer transformers learn, each number beside the published one.
#
#   snakemake --cores all                                      everything
#   snakemake results/tables/topic_structure/two_stage.csv     one table and only what it needs
#   snakemake --list-target-rules                              what has a name
#
# Results lie in the working directory: with `--directory runs/mine` in runs/mine/results.
from snakemake.utils import min_version

min_version("9.27")


configfile: f"{workflow.basedir}/config.yaml"


report: "workflow/report/workflow.rst"


# A GPU limit (workflow/profiles/default) holds for one machine, not for a whole cluster.
resource_scopes:
    gpu="local",


include: "workflow/rules/common.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/topics.smk"
include: "workflow/rules/models.smk"
include: "workflow/rules/probe.smk"
include: "workflow/rules/topic_structure.smk"
include: "workflow/rules/topic_structure_synthetic.smk"
include: "workflow/rules/scan_snap.smk"
include: "workflow/rules/decision_lists.smk"
include: "workflow/rules/local_to_global.smk"
include: "workflow/rules/results.smk"


# With `--sdm conda` all rules have one environment.
for each in workflow.rules:
    each.conda_env = f"{workflow.basedir}/envs/onelayer.yaml"


rule all:
    default_target: True
    input:
        rules.scoreboard.output,
        rules.read_attention.output,
        rules.sums.output,
    localrule: True


rule quick:
    input:
        rules.show_wikipedia.output,
    localrule: True
