# What each checkpoint does with the words of the topics, and what each model does on average.
probe_parts = settings.probe.attention.part_names()


rule probe_attention:
    input:
        articles=lambda w: settings.corpora[w.corpus].articles(f"results/corpus/{w.corpus}"),
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        model=multiext(
            "results/models/{checkpoint}/",
            "config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        ),
        code=code_closure("probe_attention"),
    output:
        by_head="results/probe/{corpus}/{checkpoint}/attention_by_head.parquet",
        by_distance="results/probe/{corpus}/{checkpoint}/attention_by_distance.parquet",
        by_words="results/probe/{corpus}/{checkpoint}/attention_by_words.parquet",
        record="results/records/probe_attention/{corpus}/{checkpoint}.json",
    log:
        "results/logs/probe_attention/{corpus}/{checkpoint}.log",
    benchmark:
        "results/benchmarks/probe_attention/{corpus}/{checkpoint}.tsv"
    wildcard_constraints:
        corpus="|".join(map(re.escape, [] if probe_parts else settings.corpora)) or "none",
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.probe.attention.threads
    resources:
        mem_mb=growing(2500),
        runtime=growing(60),
        gpu=gpus(settings.probe.attention.device),
    params:
        folder=lambda w, input: os.path.dirname(input.model[0]),
        settings=settings_json(settings.probe.attention),
        libraries=library_versions("probe_attention"),
    message:
        "Probe the attention of {wildcards.checkpoint} on {wildcards.corpus}"
    shell:
        "python scripts/probe_attention.py"
        " --articles {input.articles} --kept-words {input.kept_words} --model {params.folder}"
        " --by-head {output.by_head} --by-distance {output.by_distance}"
        " --by-words {output.by_words}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule probe_attention_part:
    input:
        articles=lambda w: settings.corpora[w.corpus].articles(f"results/corpus/{w.corpus}"),
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        model=rules.probe_attention.input.model,
        code=code_closure("probe_attention_part"),
    output:
        by_head="results/probe/{corpus}/{checkpoint}/attention/{part}_by_head.parquet",
        by_distance="results/probe/{corpus}/{checkpoint}/attention/{part}_by_distance.parquet",
        by_words="results/probe/{corpus}/{checkpoint}/attention/{part}_by_words.parquet",
        record="results/records/probe_attention_part/{corpus}/{checkpoint}/{part}.json",
    log:
        "results/logs/probe_attention_part/{corpus}/{checkpoint}/{part}.log",
    benchmark:
        "results/benchmarks/probe_attention_part/{corpus}/{checkpoint}/{part}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.probe.attention.threads
    resources:
        mem_mb=growing(2500),
        runtime=growing(60),
        gpu=gpus(settings.probe.attention.device),
    params:
        folder=lambda w, input: os.path.dirname(input.model[0]),
        settings=lambda w: settings_json(
            attention=settings.probe.attention,
            part=probe_parts.index(w.part),
            threads=settings.probe.attention.threads,
        ),
        libraries=library_versions("probe_attention_part"),
    message:
        "Probe the attention of {wildcards.checkpoint} on {wildcards.corpus}, part {wildcards.part}"
    shell:
        "python scripts/probe_attention_part.py"
        " --articles {input.articles} --kept-words {input.kept_words} --model {params.folder}"
        " --by-head {output.by_head} --by-distance {output.by_distance}"
        " --by-words {output.by_words}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule merge_attention:
    input:
        by_head=expand(
            rules.probe_attention_part.output.by_head, part=probe_parts, allow_missing=True
        ),
        by_distance=expand(
            rules.probe_attention_part.output.by_distance, part=probe_parts, allow_missing=True
        ),
        by_words=expand(
            rules.probe_attention_part.output.by_words, part=probe_parts, allow_missing=True
        ),
        code=code_closure("merge_attention"),
    output:
        by_head=rules.probe_attention.output.by_head,
        by_distance=rules.probe_attention.output.by_distance,
        by_words=rules.probe_attention.output.by_words,
        record="results/records/merge_attention/{corpus}/{checkpoint}.json",
    log:
        "results/logs/merge_attention/{corpus}/{checkpoint}.log",
    benchmark:
        "results/benchmarks/merge_attention/{corpus}/{checkpoint}.tsv"
    wildcard_constraints:
        corpus="|".join(map(re.escape, settings.corpora if probe_parts else [])) or "none",
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(2500),
        runtime=growing(10),
    params:
        libraries=library_versions("merge_attention"),
    message:
        "Merge the attention sums of {wildcards.checkpoint} on {wildcards.corpus}"
    shell:
        "python scripts/merge_attention.py --by-head {input.by_head}"
        " --by-distance {input.by_distance} --by-words {input.by_words}"
        " --merged-by-head {output.by_head} --merged-by-distance {output.by_distance}"
        " --merged-by-words {output.by_words} --record {output.record} --log {log}"


rule extract_embeddings:
    input:
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        model=multiext(
            "results/models/{checkpoint}/",
            "config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        ),
        code=code_closure("extract_embeddings"),
    output:
        words="results/probe/{corpus}/{checkpoint}/embedded_words.parquet",
        vectors="results/probe/{corpus}/{checkpoint}/embeddings.safetensors",
        record="results/records/extract_embeddings/{corpus}/{checkpoint}.json",
    log:
        "results/logs/extract_embeddings/{corpus}/{checkpoint}.log",
    benchmark:
        "results/benchmarks/extract_embeddings/{corpus}/{checkpoint}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: 1
    resources:
        mem_mb=growing(1500),
        runtime=growing(10),
    params:
        folder=lambda w, input: os.path.dirname(input.model[0]),
        settings=settings_json(
            words=[
                word
                for group in settings.topic_structure.wikipedia.word_groups
                for word in group.words
            ]
        ),
        libraries=library_versions("extract_embeddings"),
    message:
        "Extract the embeddings of {wildcards.checkpoint}"
    shell:
        "python scripts/extract_embeddings.py"
        " --kept-words {input.kept_words} --model {params.folder}"
        " --words {output.words} --vectors {output.vectors}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule measure_attention:
    input:
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        vocabulary=rules.count_words.output.vocabulary,
        by_head=lambda w: expand(
            rules.probe_attention.output.by_head,
            corpus=w.corpus,
            checkpoint=settings.checkpoints(w.model),
        ),
        by_distance=lambda w: expand(
            rules.probe_attention.output.by_distance,
            corpus=w.corpus,
            checkpoint=settings.checkpoints(w.model),
        ),
        by_words=lambda w: expand(
            rules.probe_attention.output.by_words,
            corpus=w.corpus,
            checkpoint=settings.checkpoints(w.model),
        ),
        code=code_closure("measure_attention"),
    output:
        measures="results/measures/{corpus}/{model}/attention.parquet",
        heads="results/measures/{corpus}/{model}/attention_heads.parquet",
        record="results/records/measure_attention/{corpus}/{model}.json",
    log:
        "results/logs/measure_attention/{corpus}/{model}.log",
    benchmark:
        "results/benchmarks/measure_attention/{corpus}/{model}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.probe.uncertainty.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(10),
    params:
        settings=settings_json(settings.probe.uncertainty),
        libraries=library_versions("measure_attention"),
    message:
        "Measure the attention ratios of {wildcards.model}"
    shell:
        "python scripts/measure_attention.py"
        " --kept-words {input.kept_words} --vocabulary {input.vocabulary}"
        " --by-head {input.by_head} --by-distance {input.by_distance}"
        " --by-words {input.by_words} --measures {output.measures} --heads {output.heads}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule measure_embeddings:
    input:
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        vocabulary=rules.count_words.output.vocabulary,
        words=lambda w: expand(
            rules.extract_embeddings.output.words,
            corpus=w.corpus,
            checkpoint=settings.checkpoints(w.model),
        ),
        vectors=lambda w: expand(
            rules.extract_embeddings.output.vectors,
            corpus=w.corpus,
            checkpoint=settings.checkpoints(w.model),
        ),
        code=code_closure("measure_embeddings"),
    output:
        measures="results/measures/{corpus}/{model}/embeddings.parquet",
        record="results/records/measure_embeddings/{corpus}/{model}.json",
    log:
        "results/logs/measure_embeddings/{corpus}/{model}.log",
    benchmark:
        "results/benchmarks/measure_embeddings/{corpus}/{model}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.probe.uncertainty.threads
    resources:
        mem_mb=growing(1500),
        runtime=growing(10),
    params:
        settings=settings_json(settings.probe.uncertainty),
        libraries=library_versions("measure_embeddings"),
    message:
        "Measure the embedding ratios of {wildcards.model}"
    shell:
        "python scripts/measure_embeddings.py"
        " --kept-words {input.kept_words} --vocabulary {input.vocabulary}"
        " --words {input.words} --vectors {input.vectors} --measures {output.measures}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


rule measure_snapshots:
    input:
        snapshots=lambda w: expand(
            rules.pretrain_model.output.snapshots,
            pretrained=w.pretrained,
            seed=settings.models[w.pretrained].seeds,
        ),
        model=lambda w: multiext(
            f"results/models/{settings.checkpoints(w.pretrained)[0]}/",
            "config.json",
            "tokenizer.json",
        ),
        articles=lambda w: settings.corpora[w.corpus].articles(f"results/corpus/{w.corpus}"),
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        vocabulary=rules.count_words.output.vocabulary,
        code=code_closure("measure_snapshots"),
    output:
        measures="results/measures/{corpus}/{pretrained}/snapshots.parquet",
        record="results/records/measure_snapshots/{corpus}/{pretrained}.json",
    log:
        "results/logs/measure_snapshots/{corpus}/{pretrained}.log",
    benchmark:
        "results/benchmarks/measure_snapshots/{corpus}/{pretrained}.tsv"
    conda:
        "../../envs/onelayer.yaml"
    threads: settings.probe.attention.threads
    resources:
        mem_mb=growing(2000),
        runtime=growing(60),
        gpu=gpus(settings.probe.attention.device),
    params:
        folder=lambda w, input: os.path.dirname(input.model[0]),
        settings=settings_json(
            attention=settings.probe.attention.model_copy(
                update={"documents": settings.topic_structure.wikipedia.over_tokens.documents}
            ),
            uncertainty=settings.probe.uncertainty,
        ),
        libraries=library_versions("measure_snapshots"),
    message:
        "Measure the ratios of {wildcards.pretrained} at its snapshots"
    shell:
        "python scripts/measure_snapshots.py"
        " --snapshots {input.snapshots} --model {params.folder} --articles {input.articles}"
        " --kept-words {input.kept_words} --vocabulary {input.vocabulary}"
        " --measures {output.measures}"
        " --record {output.record} --settings {params.settings:q} --log {log}"


for model in settings.topic_structure.wikipedia.models:
    corpus = settings.topic_structure.wikipedia.corpus
    checkpoints = settings.checkpoints(model)
    probing = [rules.extract_embeddings.output.record]
    if probe_parts:
        probing += [rules.probe_attention_part.output.record, rules.merge_attention.output.record]
    else:
        probing.append(rules.probe_attention.output.record)
    for record in probing:
        records += expand(record, corpus=corpus, checkpoint=checkpoints, part=probe_parts)
    for record in (rules.measure_attention.output.record, rules.measure_embeddings.output.record):
        records += expand(record, corpus=corpus, model=model)
    if settings.models[model].source == "pretrain":
        records += expand(rules.measure_snapshots.output.record, corpus=corpus, pretrained=model)
