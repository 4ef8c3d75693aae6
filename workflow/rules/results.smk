# What is written last: the manifest, the index of all tables and figures; and the check of both.
captions = {**tables, **figures, **animations}


rule write_manifest:
    input:
        tables=[f"{t}.{kind}" for t in tables for kind in ("csv", "md", "tex", "html")],
        figures=[f"{f}.{kind}" for f in figures for kind in ("pdf", "png")],
        animations=[f"{a}.gif" for a in animations],
        records=sorted(set(records)),
        code=code_closure("write_manifest"),
    output:
        manifest="results/manifest.json",
    log:
        "results/logs/write_manifest.log",
    benchmark:
        "results/benchmarks/write_manifest.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(500),
        runtime=growing(5),
    params:
        libraries=library_versions("write_manifest"),
    message:
        "Write the manifest"
    shell:
        "python scripts/write_manifest.py --tables {input.tables} --figures {input.figures}"
        " --animations {input.animations} --records {input.records} --manifest {output.manifest} --log {log}"


rule write_index:
    input:
        manifest=rules.write_manifest.output.manifest,
        tables=[f"{t}.csv" for t in tables],
        figures=[f"{f}.png" for f in figures],
        animations=[f"{a}.gif" for a in animations],
        captions=sorted({f"workflow/report/{c}.rst" for c in captions.values()}),
        code=code_closure("write_index"),
    output:
        index="results/index.md",
    log:
        "results/logs/write_index.log",
    benchmark:
        "results/benchmarks/write_index.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(500),
        runtime=growing(5),
    params:
        settings=settings_json(captions=captions),
        libraries=library_versions("write_index"),
    message:
        "Write the index of all results"
    shell:
        "python scripts/write_index.py --tables {input.tables} --figures {input.figures}"
        " --animations {input.animations} --captions {input.captions} --index {output.index}"
        " --settings {params.settings:q} --log {log}"


rule verify:
    log:
        "results/logs/verify_results.log",
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(500),
        runtime=growing(5),
    # The manifest is no input, or a changed setting would rebuild what is to be verified.
    params:
        manifest=rules.write_manifest.output.manifest,
    message:
        "Recompute the sums of all tables and figures"
    shell:
        "python scripts/verify_results.py --manifest {params.manifest} --log {log}"


localrules:
    write_manifest,
    write_index,
    verify,
    all,
