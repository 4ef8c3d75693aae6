# What each checkpoint does with the words of the topics, and what each model does on average.
sensitivity = settings.topic_structure.sensitivity


rule probe_model:
    input:
        articles="results/corpora/{corpus}/articles.parquet",
        kept_words="results/topics/{corpus}/kept_words.parquet",
        vocabulary="results/topics/{corpus}/vocabulary.parquet",
        model=lambda w: checkpoint_files(w.checkpoint),
    output:
        pairs="results/probe/{corpus}/{checkpoint}/pairs.parquet",
        heads="results/probe/{corpus}/{checkpoint}/heads.parquet",
        embeddings="results/probe/{corpus}/{checkpoint}/embeddings.parquet",
    log:
        "results/logs/probe_model/{corpus}/{checkpoint}.log",
    benchmark:
        "results/benchmarks/probe_model/{corpus}/{checkpoint}.tsv"
    priority: 3
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.probe.attention.threads
    resources:
        mem_mb=lambda w, attempt: 2500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
        gpu=gpus(settings.probe.attention),
    params:
        settings=dump(settings.probe.attention),
        folder="results/models/{checkpoint}",
        words=[word for group in wikipedia.word_groups for word in group.words],
        code=code("probe_model"),
    message:
        "Probe {wildcards.checkpoint} on {wildcards.corpus}"
    script:
        "../../scripts/probe_model.py"


rule measure_model:
    input:
        kept_words="results/topics/{corpus}/kept_words.parquet",
        vocabulary="results/topics/{corpus}/vocabulary.parquet",
        pairs=lambda w: expand(
            rules.probe_model.output.pairs, corpus=w.corpus, checkpoint=checkpoints_of(w.model)
        ),
        embeddings=lambda w: expand(
            rules.probe_model.output.embeddings,
            corpus=w.corpus,
            checkpoint=checkpoints_of(w.model),
        ),
    output:
        measures="results/measures/{corpus}/{model}.parquet",
    log:
        "results/logs/measure_model/{corpus}/{model}.log",
    benchmark:
        "results/benchmarks/measure_model/{corpus}/{model}.tsv"
    priority: 3
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.probe.uncertainty.threads
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        settings=dump(settings.probe.uncertainty),
        seeds=lambda w: getattr(settings.models[w.model], "seeds", []),
        code=code("measure_model"),
    message:
        "Measure the ratios of {wildcards.model} on {wildcards.corpus}"
    script:
        "../../scripts/measure_model.py"


rule measure_inputs:
    input:
        kept_words="results/topics/{corpus}/kept_words.parquet",
        vocabulary="results/topics/{corpus}/vocabulary.parquet",
        mixed=lambda w: mixed_inputs(w.model),
        models=lambda w: checkpoint_files(*checkpoints_of(w.model)),
    output:
        measures="results/inputs/{corpus}/{model}.parquet",
    log:
        "results/logs/measure_inputs/{corpus}/{model}.log",
    benchmark:
        "results/benchmarks/measure_inputs/{corpus}/{model}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.probe.attention.threads
    resources:
        mem_mb=lambda w, attempt: 2500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
        gpu=gpus(settings.probe.attention),
    params:
        settings=dump(
            settings.probe.attention,
            documents=wikipedia.inputs.documents,
            longest=settings.pretraining.size.longest - 2,
            uncertainty=dump(settings.probe.uncertainty),
        ),
        seeds=lambda w: settings.models[w.model].seeds,
        folders=lambda w: [f"results/models/{name}" for name in checkpoints_of(w.model)],
        code=code("measure_inputs"),
    message:
        "Measure {wildcards.model} on inputs of its training"
    script:
        "../../scripts/measure_inputs.py"


rule measure_sensitivity:
    input:
        articles="results/corpora/{corpus}/articles.parquet",
        vocabulary="results/topics/{corpus}/vocabulary.parquet",
        topics=lambda w: expand(
            "results/sensitivity/{corpus}/topics/{fit}.safetensors",
            corpus=w.corpus,
            fit=[way.fit(settings.topics.lda) for way in sensitivity.ways],
        ),
        model=lambda w: checkpoint_files(checkpoints_of(w.model)[0]),
    output:
        measures="results/sensitivity/{corpus}/{model}.parquet",
    log:
        "results/logs/measure_sensitivity/{corpus}/{model}.log",
    benchmark:
        "results/benchmarks/measure_sensitivity/{corpus}/{model}.tsv"
    priority: 3
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.probe.attention.threads
    resources:
        mem_mb=lambda w, attempt: 2500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
        gpu=gpus(settings.probe.attention),
    params:
        settings=dump(
            settings.probe.attention,
            documents=sensitivity.documents,
            uncertainty=dump(sensitivity.uncertainty),
            ways=[dump(way) for way in sensitivity.ways],
        ),
        folder=lambda w: f"results/models/{checkpoints_of(w.model)[0]}",
        code=code("measure_sensitivity"),
    message:
        "Probe {wildcards.model} in other ways"
    script:
        "../../scripts/measure_sensitivity.py"
