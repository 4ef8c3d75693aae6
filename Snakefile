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


TABLES = [
    "topic_structure/wikipedia_disjoint",
    "topic_structure/wikipedia_overlapping",
    "topic_structure/topics",
    "topic_structure/sensitivity",
    "topic_structure/inputs",
    "topic_structure/theory_gap",
    "topic_structure/two_stage",
    "topic_structure/attention_by_optimizer",
    "topic_structure/stage_two_ratio",
    "scan_snap/scan",
    "scan_snap/entropy_sweep",
    "scan_snap/phase_transition",
    "scan_snap/text",
    "decision_lists/theorem_1",
    "decision_lists/attention_training",
    "decision_lists/value_from_uniform_attention",
    "decision_lists/theorem_2",
    "local_to_global/critical_points",
    "local_to_global/basins",
    "local_to_global/starts",
    "local_to_global/ablation",
    "local_to_global/trap",
]
FIGURES = [
    "topic_structure/wikipedia_ratios",
    "topic_structure/attention_heads",
    "topic_structure/word_groups",
    "topic_structure/inputs",
    "topic_structure/topic_blocks",
    "topic_structure/two_stage_norms",
    "topic_structure/attention_heatmaps",
    "topic_structure/stage_two_ratio",
    "scan_snap/scan",
    "scan_snap/entropy_sweep",
    "scan_snap/phase_transition",
    "scan_snap/text",
    "decision_lists/time_to_perfect",
    "decision_lists/accuracy_over_time",
    "decision_lists/attention_order",
    "decision_lists/value_from_uniform_attention",
    "decision_lists/joint_training",
    "local_to_global/gradient_flow",
    "local_to_global/attention_flow",
    "local_to_global/landscape",
    "local_to_global/loss_curves",
    "local_to_global/weights",
    "local_to_global/trap",
]


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


rule all:
    default_target: True
    input:
        rules.write_index.output,
        rules.read_attention.output,
        rules.sums.output,
    localrule: True


rule quick:
    input:
        rules.show_wikipedia.output,
    localrule: True
