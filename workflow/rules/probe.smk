# What each checkpoint does with the words of the topics, and what each model does on average.
probing, uncertainty = settings.probe.attention, settings.probe.uncertainty
probe_parts = probing.part_names()
probed_at_once = "|".join(map(re.escape, [] if probe_parts else settings.corpora)) or "none"
probed_in_parts = "|".join(map(re.escape, settings.corpora if probe_parts else [])) or "none"
# Their embeddings are extracted beside those of the kept words.
word_groups = [
    word for group in settings.topic_structure.wikipedia.word_groups for word in group.words
]
# What models were pretrained on here, if any is shown.
trained_on, encoded = [], []
if any(settings.models[m].source == "pretrain" for m in settings.topic_structure.wikipedia.models):
    trained_on = [path for name in settings.pretraining.corpora for path in articles_of(name)]
    encoded = expand(rules.encode_articles.output.text, corpus=settings.pretraining.text_name)


use rule step as probe_attention with:
    input:
        articles=lambda w: articles_of(w.corpus),
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
    threads: probing.threads
    resources:
        **asks(2500, minutes=60, device=probing.device),
    params:
        **script("probe_attention", attention=probing, words=word_groups),


# Of articles in parts: each part's attention, merged; the embeddings need no articles.
use rule probe_attention as probe_attention_part with:
    output:
        by_head="results/probe/{corpus}/{checkpoint}/attention/{part}_by_head.parquet",
        by_distance="results/probe/{corpus}/{checkpoint}/attention/{part}_by_distance.parquet",
        by_words="results/probe/{corpus}/{checkpoint}/attention/{part}_by_words.parquet",
        record=record,
    pathvars:
        step="probe_attention_part/{corpus}/{checkpoint}/{part}",
    wildcard_constraints:
        corpus=probed_in_parts,
    priority: 0
    params:
        **script(
            "probe_attention_part", attention=probing, part=lambda w: probe_parts.index(w.part)
        ),


use rule step as merge_attention with:
    input:
        **{
            name: expand(
                rules.probe_attention_part.output[name], part=probe_parts, allow_missing=True
            )
            for name in ("by_head", "by_distance", "by_words")
        },
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
        by_head=of_checkpoints(rules.probe_attention.output.by_head),
        by_distance=of_checkpoints(rules.probe_attention.output.by_distance),
        by_words=of_checkpoints(rules.probe_attention.output.by_words),
    output:
        measures="results/measures/{corpus}/{model}/attention.parquet",
        heads="results/measures/{corpus}/{model}/attention_heads.parquet",
        record=record,
    pathvars:
        step="measure_attention/{corpus}/{model}",
    priority: 3
    threads: uncertainty.threads
    resources:
        **asks(1500, minutes=10),
    params:
        **script(
            "measure_attention",
            uncertainty=uncertainty,
            checkpoint_seeds=lambda w: settings.seeds(w.model),
        ),


use rule measure_attention as measure_embeddings with:
    input:
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        vocabulary=rules.count_words.output.vocabulary,
        words=of_checkpoints(rules.probe_attention.output.words),
        vectors=of_checkpoints(rules.probe_attention.output.vectors),
    output:
        measures="results/measures/{corpus}/{model}/embeddings.parquet",
        circuits="results/measures/{corpus}/{model}/value_circuits.parquet",
        record=record,
    pathvars:
        step="measure_embeddings/{corpus}/{model}",
    resources:
        **asks(1500, minutes=30),
    params:
        **script(
            "measure_embeddings",
            uncertainty=uncertainty,
            checkpoint_seeds=lambda w: settings.seeds(w.model),
            control=lambda w: settings.models[w.model].source == "random",
        ),


use rule step as gather_series with:
    input:
        attention=of_series(rules.measure_attention.output.measures),
        embeddings=of_series(rules.measure_embeddings.output.measures),
        circuits=of_series(rules.measure_embeddings.output.circuits),
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
            seed=settings.seeds(w.pretrained),
        ),
        histories=lambda w: expand(
            rules.pretrain_model.output.history,
            pretrained=w.pretrained,
            seed=settings.seeds(w.pretrained),
        ),
        model=lambda w: multiext(
            f"results/models/{settings.checkpoints(w.pretrained)[0]}/",
            "config.json",
            "tokenizer.json",
        ),
        text=pretraining_text,
        pieces=rules.pretrain_model.input.vocabulary,
        topics=rules.fit_lda.output.topics,
        articles=lambda w: articles_of(w.corpus),
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        vocabulary=rules.count_words.output.vocabulary,
    output:
        measures="results/measures/{corpus}/{pretrained}/snapshots.parquet",
        record=record,
    pathvars:
        step="measure_snapshots/{corpus}/{pretrained}",
    threads: probing.threads
    resources:
        **asks(2000, minutes=60, device=probing.device),
    params:
        **script(
            "measure_snapshots",
            attention=probing.of(settings.topic_structure.wikipedia.over_tokens.documents),
            uncertainty=uncertainty,
            trainings=lambda w: [
                settings.pretraining_of(w.pretrained, seed)
                for seed in settings.seeds(w.pretrained)
            ],
            lda=settings.topics.lda,
        ),


# The same ratios on inputs like those of some training, told apart by whether both words are of one
# article.
use rule step as measure_inputs with:
    input:
        models=lambda w: [
            file
            for checkpoint in settings.checkpoints(w.pretrained)
            for file in multiext(f"results/models/{checkpoint}/", *CHECKPOINT_FILES)
        ],
        mixed=rules.mix_articles.output.mixed,
        kept_words=rules.filter_ambiguous_words.output.kept_words,
        vocabulary=rules.count_words.output.vocabulary,
    output:
        measures="results/measures/{corpus}/{pretrained}/inputs_of_{mixed}.parquet",
        record=record,
    pathvars:
        step="measure_inputs/{corpus}/{pretrained}/{mixed}",
    threads: probing.threads
    resources:
        **asks(2000, minutes=60, device=probing.device),
    params:
        **script(
            "measure_inputs",
            attention=probing.of(settings.topic_structure.wikipedia.topics_per_input.documents),
            uncertainty=uncertainty,
            checkpoint_seeds=lambda w: settings.seeds(w.pretrained),
            longest=settings.pretraining.size.longest - 2,
        ),


# Which heads are removed depends on the probed articles, what that does is measured on others that
# no model was pretrained on here.
use rule step as measure_head_removal with:
    input:
        articles=lambda w: articles_of(w.corpus),
        trained_on=trained_on,
        encoded=encoded,
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
    threads: probing.threads
    resources:
        **asks(2500, minutes=60, device=probing.device),
    params:
        **script(
            "measure_head_removal",
            removal=settings.topic_structure.wikipedia.head_removal,
            attention=probing,
            checkpoint_seeds=lambda w: settings.seeds(w.model),
        ),
