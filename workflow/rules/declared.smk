# What `from_settings` declared, and every table and figure that stands at its function: see
# onelayer.evidence.declarations. Without wildcards these have their target's name, and are it.
with in_one_line():
    declarations = read_declarations()
declarations.sort(key=lambda d: [*FOLDERS, d.folder].index(d.folder))
for made in chain(from_settings_alone, map(from_declaration, declarations)):

    rule:
        name:
            made.place.partition("/")[0]
        input:
            **made.read,
        output:
            **made.outputs,
            record=record,
        log:
            "results/logs/<step>.log",
        benchmark:
            "results/benchmarks/<step>.tsv"
        pathvars:
            step=made.place,
        priority: made.priority
        localrule: made.local
        conda:
            "../../envs/onelayer.yaml"
        threads: made.threads
        resources:
            **made.resources,
        params:
            **step_params,
            **made.params,
        message:
            "{params.message}"
        shell:
            command
