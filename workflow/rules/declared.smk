# A rule for every table and figure that stands at its function: see onelayer.evidence.declarations. Without
# wildcards it has its target's name, and is it.
try:
    declarations = read_declarations()
except OnelayerError as error:
    raise WorkflowError(str(error)) from None
for declaration in sorted(declarations, key=lambda d: [*FOLDERS, d.folder].index(d.folder)):
    try:
        read, told = files_of(declaration), settings_for(declaration)
    except OnelayerError as error:
        raise WorkflowError(str(error)) from None

    rule:
        name:
            declaration.rule
        input:
            **read,
        output:
            **{f"{declaration.kind}s": declared_files(declaration)},
            record=record,
        log:
            "results/logs/<step>.log",
        benchmark:
            "results/benchmarks/<step>.tsv"
        pathvars:
            step=declaration.place,
        priority: declaration.priority
        localrule: True
        conda:
            "../../envs/onelayer.yaml"
        threads: 1
        resources:
            **asks(1000, minutes=10),
        params:
            **step_params,
            **script(declaration.step, purpose=declaration.purpose, **told),
        message:
            "{params.message}"
        shell:
            command
