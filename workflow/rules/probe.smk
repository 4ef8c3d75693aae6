# What each model does with the words of the topics, and what it does on average.
sensitivity = settings.topic_structure.sensitivity


rule probe_model:
    input:
        articles="results/corpora/{corpus}/articles.parquet",
        kept_words="results/topics/{corpus}/kept_words.parquet",
        vocabulary="results/topics/{corpus}/vocabulary.parquet",
        authors_topics=f"results/sensitivity/{{corpus}}/topics/{authors_fit}.safetensors",
        models=lambda w: checkpoint_files(*checkpoints_of(w.model)),
    output:
        measures="results/measures/{corpus}/{model}.parquet",
        heads="results/probe/{corpus}/{model}/heads.parquet",
        embeddings="results/probe/{corpus}/{model}/embeddings.parquet",
    log:
        "results/logs/probe_model/{corpus}/{model}.log",
    benchmark:
        "results/benchmarks/probe_model/{corpus}/{model}.tsv"
    priority: 3
    threads: settings.probe.attention.threads
    resources:
        mem_mb=lambda w, attempt: 2500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
        gpu=gpus(settings.probe.attention),
    params:
        settings=dump(settings.probe.attention),
        uncertainty=dump(settings.probe.uncertainty),
        overlaps=settings.topics.ambiguity.overlaps,
        seeds=lambda w: getattr(settings.models[w.model], "seeds", [0]),
        folders=lambda w: [f"results/models/{name}" for name in checkpoints_of(w.model)],
        code=code("probe_model"),
    message:
        "Probe {wildcards.model} on {wildcards.corpus}"
    script:
        "../../scripts/probe_model.py"


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
    threads: settings.probe.attention.threads
    resources:
        mem_mb=lambda w, attempt: 2500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
        gpu=gpus(settings.probe.attention),
    params:
        settings=dump(settings.probe.attention, documents=wikipedia.inputs.documents),
        longest=settings.pretraining.size.longest - 2,
        uncertainty=dump(settings.probe.uncertainty),
        seeds=lambda w: settings.models[w.model].seeds,
        drawn=lambda w: getattr(settings.models[w.model].inputs, "order", "") == "drawn",
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
    threads: settings.probe.attention.threads
    resources:
        mem_mb=lambda w, attempt: 2500 * attempt,
        runtime=lambda w, attempt: 60 * attempt,
        gpu=gpus(settings.probe.attention),
    params:
        settings=dump(settings.probe.attention, documents=sensitivity.documents),
        uncertainty=dump(sensitivity.uncertainty),
        ways=[dump(way) for way in sensitivity.ways],
        folder=lambda w: f"results/models/{checkpoints_of(w.model)[0]}",
        code=code("measure_sensitivity"),
    message:
        "Probe {wildcards.model} in other ways"
    script:
        "../../scripts/measure_sensitivity.py"
