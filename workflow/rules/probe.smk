# What each checkpoint does with the words of the topics, and what each model does on average.
probe_parts = settings.probe.attention.part_names()
probed_at_once = "|".join(map(re.escape, [] if probe_parts else settings.corpora)) or "none"
probed_in_parts = "|".join(map(re.escape, settings.corpora if probe_parts else [])) or "none"
# Their embeddings are extracted beside those of the kept words.
word_groups = [
    word for group in settings.topic_structure.wikipedia.word_groups for word in group.words
]
# What models were pretrained on here, if any is shown.
trained_on = (
    settings.corpora[settings.pretraining.corpus].articles(
        f"results/corpus/{settings.pretraining.corpus}"
    )
    if any(
        settings.models[model].source == "pretrain"
        for model in settings.topic_structure.wikipedia.models
    )
    else []
)


use rule step as probe_attention with:
    input:
        articles=lambda w: settings.corpora[w.corpus].articles(f"results/corpus/{w.corpus}"),
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        model=multiext("results/models/{checkpoint}/", *CHECKPOINT_FILES),
    output:
        by_head="results/probe/{corpus}/{checkpoint}/attention_by_head.parquet",
        by_distance="results/probe/{corpus}/{checkpoint}/attention_by_distance.parquet",
        by_words="results/probe/{corpus}/{checkpoint}/attention_by_words.parquet",
        words="results/probe/{corpus}/{checkpoint}/embedded_words.parquet",
        vectors="results/probe/{corpus}/{checkpoint}/embeddings.safetensors",
        record=record,
    pathvars:
        step="probe_attention/{corpus}/{checkpoint}",
    wildcard_constraints:
        corpus=probed_at_once,
    priority: 3
    threads: settings.probe.attention.threads
    resources:
        **asks(2500, minutes=60, device=settings.probe.attention.device),
    params:
        **script(
            "probe_attention",
            attention=settings.probe.attention,
            words=word_groups,
            threads=settings.probe.attention.threads,
        ),


# Of articles in parts: each part's attention, merged; the embeddings need no articles.
use rule step as probe_attention_part with:
    input:
        articles=lambda w: settings.corpora[w.corpus].articles(f"results/corpus/{w.corpus}"),
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        model=multiext("results/models/{checkpoint}/", *CHECKPOINT_FILES),
    output:
        by_head="results/probe/{corpus}/{checkpoint}/attention/{part}_by_head.parquet",
        by_distance="results/probe/{corpus}/{checkpoint}/attention/{part}_by_distance.parquet",
        by_words="results/probe/{corpus}/{checkpoint}/attention/{part}_by_words.parquet",
        record=record,
    pathvars:
        step="probe_attention_part/{corpus}/{checkpoint}/{part}",
    threads: settings.probe.attention.threads
    resources:
        **asks(2500, minutes=60, device=settings.probe.attention.device),
    params:
        **script(
            "probe_attention_part",
            attention=settings.probe.attention,
            part=lambda w: probe_parts.index(w.part),
            threads=settings.probe.attention.threads,
        ),


use rule step as merge_attention with:
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
    output:
        merged_by_head=rules.probe_attention.output.by_head,
        merged_by_distance=rules.probe_attention.output.by_distance,
        merged_by_words=rules.probe_attention.output.by_words,
        record=record,
    pathvars:
        step="merge_attention/{corpus}/{checkpoint}",
    wildcard_constraints:
        corpus=probed_in_parts,
    resources:
        **asks(2500, minutes=10),
    params:
        **script("merge_attention"),


use rule step as extract_embeddings with:
    input:
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        model=multiext("results/models/{checkpoint}/", *CHECKPOINT_FILES),
    output:
        words=rules.probe_attention.output.words,
        vectors=rules.probe_attention.output.vectors,
        record=record,
    pathvars:
        step="extract_embeddings/{corpus}/{checkpoint}",
    wildcard_constraints:
        corpus=probed_in_parts,
    resources:
        **asks(1500, minutes=10),
    params:
        **script("extract_embeddings", words=word_groups),


use rule step as measure_attention with:
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
    output:
        measures="results/measures/{corpus}/{model}/attention.parquet",
        heads="results/measures/{corpus}/{model}/attention_heads.parquet",
        record=record,
    pathvars:
        step="measure_attention/{corpus}/{model}",
    priority: 3
    threads: settings.probe.uncertainty.threads
    resources:
        **asks(1500, minutes=10),
    params:
        **script(
            "measure_attention",
            uncertainty=settings.probe.uncertainty,
            checkpoint_seeds=lambda w: settings.seeds(w.model),
            threads=settings.probe.uncertainty.threads,
        ),


use rule step as measure_embeddings with:
    input:
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        vocabulary=rules.count_words.output.vocabulary,
        words=lambda w: expand(
            rules.probe_attention.output.words,
            corpus=w.corpus,
            checkpoint=settings.checkpoints(w.model),
        ),
        vectors=lambda w: expand(
            rules.probe_attention.output.vectors,
            corpus=w.corpus,
            checkpoint=settings.checkpoints(w.model),
        ),
    output:
        measures="results/measures/{corpus}/{model}/embeddings.parquet",
        record=record,
    pathvars:
        step="measure_embeddings/{corpus}/{model}",
    priority: 3
    threads: settings.probe.uncertainty.threads
    resources:
        **asks(1500, minutes=10),
    params:
        **script(
            "measure_embeddings",
            uncertainty=settings.probe.uncertainty,
            checkpoint_seeds=lambda w: settings.seeds(w.model),
            threads=settings.probe.uncertainty.threads,
        ),


# A checkpoint of a series is a model of its own: what it measures is gathered.
use rule step as gather_series with:
    input:
        attention=lambda w: expand(
            rules.measure_attention.output.measures,
            corpus=w.corpus,
            model=settings.checkpoints(w.series),
        ),
        embeddings=lambda w: expand(
            rules.measure_embeddings.output.measures,
            corpus=w.corpus,
            model=settings.checkpoints(w.series),
        ),
    output:
        measures="results/measures/{corpus}/{series}/snapshots.parquet",
        record=record,
    pathvars:
        step="gather_series/{corpus}/{series}",
    params:
        **script("gather_series", tokens=lambda w: settings.models[w.series].tokens),


use rule step as measure_snapshots with:
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
    output:
        measures="results/measures/{corpus}/{pretrained}/snapshots.parquet",
        record=record,
    pathvars:
        step="measure_snapshots/{corpus}/{pretrained}",
    threads: settings.probe.attention.threads
    resources:
        **asks(2000, minutes=60, device=settings.probe.attention.device),
    params:
        **script(
            "measure_snapshots",
            attention=settings.probe.attention.model_copy(
                update={"documents": settings.topic_structure.wikipedia.over_tokens.documents}
            ),
            uncertainty=settings.probe.uncertainty,
            checkpoint_seeds=lambda w: settings.seeds(w.pretrained),
            threads=settings.probe.attention.threads,
        ),


# Which heads are removed depends on the probed articles, what that does is measured on others that
# no model was pretrained on here.
use rule step as measure_head_removal with:
    input:
        articles=lambda w: settings.corpora[w.corpus].articles(f"results/corpus/{w.corpus}"),
        trained_on=trained_on,
        encoded=(
            expand(rules.encode_articles.output.text, corpus=settings.pretraining.corpus)
            if trained_on
            else []
        ),
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        vocabulary=rules.count_words.output.vocabulary,
        heads=rules.measure_attention.output.heads,
        models=lambda w: [
            file
            for checkpoint in settings.checkpoints(w.model)
            for file in multiext(f"results/models/{checkpoint}/", *CHECKPOINT_FILES)
        ],
    output:
        losses="results/measures/{corpus}/{model}/head_removal.parquet",
        record=record,
    pathvars:
        step="measure_head_removal/{corpus}/{model}",
    threads: settings.probe.attention.threads
    resources:
        **asks(2500, minutes=60, device=settings.probe.attention.device),
    params:
        **script(
            "measure_head_removal",
            removal=settings.topic_structure.wikipedia.head_removal,
            attention=settings.probe.attention,
            checkpoint_seeds=lambda w: settings.seeds(w.model),
            threads=settings.probe.attention.threads,
        ),
