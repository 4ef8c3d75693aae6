# Nobody runs this rule, every step is made of it: `use rule step as ... with:`. A step names its
# script three times (as the rule, in `pathvars:` with its wildcards, in `params:`), its inputs and
# outputs as the script does, and what differs from here.
#
# Of jobs that are ready, those of higher `priority:` start first, then those with larger inputs.
# 4: checkpoints from elsewhere, which may turn out not to be what is probed. 3: what models show on Wikipedia, which is read first, and what it waits for. 2: pretraining and
# what it waits for, the longest way through the workflow. 1: what else is long.
rule step:
    output:
        "results/{step}",
    log:
        "results/logs/<step>.log",
    benchmark:
        "results/benchmarks/<step>.tsv"
    pathvars:
        step="{step}",
    wildcard_constraints:
        step="(?!)",  # matches no file
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        **asks(1000, minutes=10),
    params:
        **step_params,
    message:
        "{params.message}"
    shell:
        command
