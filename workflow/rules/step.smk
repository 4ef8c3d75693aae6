def step(
    place,
    measured,
    makes,
    *blocks,
    reads=None,
    program="",
    cores=None,
    priority=0,
    localrule=False,
    where=None,
    switches=step_switches,
    **values,
):
    """Make the rule of a step, with its log, benchmark, record and command line.

    `place` names rule, log, benchmark and record: the script, and the wildcards of the outputs.
    `measured` is memory (MB), time (minutes) and, where no setting says it, the device.
    `makes` and `reads` are outputs and inputs, named as in the script; `blocks` and `values` are its
    settings, as `script` takes them. Threads and device are what these say, or the first block among
    them that says some, as in the step itself; else `cores`. `where` constrains wildcards, `localrule`
    runs the step where Snakemake runs. A `program` that the place does not name is called as `script`
    takes it.

    Of jobs that are ready, those of higher `priority` start first, then those with larger inputs. 4:
    checkpoints from elsewhere, which may turn out not to be what is probed. 3: what models show on
    Wikipedia, which is read first, and what it waits for. 2: pretraining and what it waits for, the
    longest way through the workflow. 1: what else is long.
    """
    fields = {name: value for block in blocks if not callable(block) for name, value in block}
    fields |= values
    name = place.partition("/")[0]
    mem_mb, minutes, *device = measured
    # A table or figure may be told of a block that computed what it shows.
    inside = [vars(value) for value in fields.values() if isinstance(value, Block) and not program]
    said = lambda key: next((one[key] for one in [fields, *inside] if key in one), None)

    rule:
        name:
            name
        input:
            **(reads or {}),
        output:
            **makes,
            record="results/records/<step>.json",
        log:
            "results/logs/<step>.log",
        benchmark:
            "results/benchmarks/<step>.tsv"
        pathvars:
            step=place,
        wildcard_constraints:
            **(where or {}),
        priority: priority
        localrule: localrule
        conda:
            "../../envs/onelayer.yaml"
        threads: cores or said("threads") or 1
        resources:
            **asks(mem_mb, minutes, *(device or [said("device")])),
        params:
            **switches,
            **script(program or name, *blocks, **values),
            files=command_line,
        message:
            "{params.message}"
        shell:
            "{params.switches}python {params.script:q}{params.function} {params.files} "
            "--settings {params.settings:q}{params.portable} --log {log:q}"
