# Li, Li & Risteski (2023) on Wikipedia: tables and figures.
wikipedia = settings.topic_structure.wikipedia
overlaps = settings.topics.ambiguity.overlaps
probed_models = [{"name": n, "settings": settings.models[n]} for n in wikipedia.models]
pretrained_models = [m for m in probed_models if m["settings"].source == "pretrain"]
# What random models are like: each is a control of the published effect of that model.
original_models = [
    {"name": n, "settings": settings.models[n]}
    for n in dict.fromkeys(
        m["settings"].like for m in probed_models if m["settings"].source == "random"
    )
]
# Random embeddings all look the same: the first shows it.
random_models = [m["name"] for m in probed_models if m["settings"].source == "random"]
word_group_models = [m for m in wikipedia.models if m not in random_models[1:]]
models_over_tokens = [
    *pretrained_models,
    *({"name": n, "settings": settings.models[n]} for n in wikipedia.over_tokens.series),
]
measures_over_tokens = expand(
    "results/measures/{corpus}/{model}/snapshots.parquet",
    corpus=wikipedia.corpus,
    model=[m["name"] for m in models_over_tokens],
)
# A model with random weights predicts nothing.
trained_models = [m for m in probed_models if m["settings"].source != "random"]
removal_losses = expand(
    "results/measures/{corpus}/{model}/head_removal.parquet",
    corpus=wikipedia.corpus,
    model=[m["name"] for m in trained_models],
)


wildcard_constraints:
    overlap="disjoint|overlapping",


use rule step as tabulate_wikipedia with:
    input:
        attention=expand(
            rules.measure_attention.output.measures,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
        embeddings=expand(
            rules.measure_embeddings.output.measures,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
        published=f"{reference}/topic_structure_wikipedia.csv",
    output:
        tables=table(
            "topic_structure/wikipedia_{overlap}",
            "Wikipedia: results",
            "table: {overlap} topics",
            caption="table_wikipedia",
            overlap=overlaps,
        ),
        record=record,
    pathvars:
        step="tabulate_wikipedia/{overlap}",
    priority: 3
    localrule: True
    params:
        **script(
            "tabulate_wikipedia",
            models=probed_models,
            originals=original_models,
            ambiguity=settings.topics.ambiguity,
            overlap=lambda w: w.overlap,
        ),


use rule step as tabulate_wikipedia_claims with:
    input:
        attention=expand(
            rules.measure_attention.output.measures,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
        published=f"{reference}/topic_structure_wikipedia.csv",
    output:
        tables=table("topic_structure/wikipedia_claims", "Wikipedia: results", "table: directions"),
        record=record,
    pathvars:
        step="tabulate_wikipedia_claims",
    priority: 3
    localrule: True
    params:
        **script(
            "tabulate_wikipedia_claims",
            models=probed_models,
            originals=original_models,
            ambiguity=settings.topics.ambiguity,
        ),


use rule step as tabulate_topics with:
    input:
        words=expand(rules.measure_topics.output.words, corpus=wikipedia.corpus),
        shares=expand(rules.measure_topics.output.shares, corpus=wikipedia.corpus),
    output:
        tables=table("topic_structure/topics", "Wikipedia: data and topics", "table: topics"),
        record=record,
    pathvars:
        step="tabulate_topics",
    localrule: True
    params:
        **script("tabulate_topics", corpus=wikipedia.corpus, top_words=settings.topics.top_words),


held_out_topics = expand(
    rules.measure_held_out_topics.output.coherence,
    corpus=[wikipedia.corpus] if wikipedia.corpus in in_one_piece else [],
)


use rule step as tabulate_topic_settings with:
    input:
        held_out=held_out_topics,
    output:
        tables=table(
            "topic_structure/topic_settings",
            "Wikipedia: data and topics",
            "table: topic models compared by coherence",
            made=bool(held_out_topics and settings.topics.compared),
        ),
        record=record,
    pathvars:
        step="tabulate_topic_settings",
    localrule: True
    params:
        **script("tabulate_topic_settings", corpus=wikipedia.corpus, models=judged_topic_models),


use rule step as tabulate_topic_quality with:
    input:
        quality=expand(rules.measure_topics.output.quality, corpus=wikipedia.corpus),
        held_out=held_out_topics,
    output:
        tables=table(
            "topic_structure/topic_quality", "Wikipedia: data and topics", "table: topic quality"
        ),
        record=record,
    pathvars:
        step="tabulate_topic_quality",
    localrule: True
    params:
        **script(
            "tabulate_topic_quality", corpus=wikipedia.corpus, top_words=settings.topics.top_words
        ),


use rule step as plot_wikipedia_ratios with:
    input:
        attention=expand(
            rules.measure_attention.output.measures,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
        embeddings=expand(
            rules.measure_embeddings.output.measures,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
        published=f"{reference}/topic_structure_wikipedia.csv",
    output:
        figures=figure(
            "topic_structure/wikipedia_ratios",
            "Wikipedia: results",
            "figure: ratio against threshold",
        ),
        record=record,
    pathvars:
        step="plot_wikipedia_ratios",
    priority: 3
    localrule: True
    params:
        **script("plot_wikipedia_ratios", models=probed_models, ambiguity=settings.topics.ambiguity),


use rule step as plot_attention_heads with:
    input:
        heads=expand(
            rules.measure_attention.output.heads,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
        attention=expand(
            rules.measure_attention.output.measures,
            corpus=wikipedia.corpus,
            model=wikipedia.models,
        ),
    output:
        figures=figure(
            "topic_structure/attention_heads", "Wikipedia: results", "figure: layers and heads"
        ),
        record=record,
    pathvars:
        step="plot_attention_heads",
    localrule: True
    params:
        **script("plot_attention_heads", models=probed_models, ambiguity=settings.topics.ambiguity),


use rule step as plot_word_groups with:
    input:
        words=expand(
            rules.probe_attention.output.words,
            corpus=wikipedia.corpus,
            checkpoint=[settings.checkpoints(m)[0] for m in word_group_models],
        ),
        vectors=expand(
            rules.probe_attention.output.vectors,
            corpus=wikipedia.corpus,
            checkpoint=[settings.checkpoints(m)[0] for m in word_group_models],
        ),
    output:
        figures=figure("topic_structure/word_groups", "Wikipedia: results", "figure: nine words"),
        record=record,
    pathvars:
        step="plot_word_groups",
    localrule: True
    params:
        **script("plot_word_groups", models=word_group_models, word_groups=wikipedia.word_groups),


use rule step as plot_topics with:
    input:
        words=expand(rules.measure_topics.output.words, corpus=wikipedia.corpus),
        shares=expand(rules.measure_topics.output.shares, corpus=wikipedia.corpus),
    output:
        figures=figure("topic_structure/topics", "Wikipedia: data and topics", "figure: topics"),
        record=record,
    pathvars:
        step="plot_topics",
    localrule: True
    params:
        **script("plot_topics", corpus=wikipedia.corpus, top_words=settings.topics.top_words),


use rule step as tabulate_topic_structure_over_tokens with:
    input:
        measures=measures_over_tokens,
    output:
        tables=table(
            "topic_structure/topic_structure_over_tokens",
            "Wikipedia: pretraining",
            "table: tokens seen",
            made=bool(models_over_tokens),
        ),
        record=record,
    pathvars:
        step="tabulate_topic_structure_over_tokens",
    localrule: True
    params:
        **script("tabulate_topic_structure_over_tokens", models=models_over_tokens),


use rule step as plot_topic_structure_over_tokens with:
    input:
        measures=measures_over_tokens,
    output:
        figures=figure(
            "topic_structure/topic_structure_over_tokens",
            "Wikipedia: pretraining",
            "figure: tokens seen",
            made=bool(models_over_tokens),
        ),
        record=record,
    pathvars:
        step="plot_topic_structure_over_tokens",
    localrule: True
    params:
        **script("plot_topic_structure_over_tokens", models=models_over_tokens),


use rule step as tabulate_pretraining_losses with:
    input:
        histories=[
            history
            for m in pretrained_models
            for history in expand(
                rules.pretrain_model.output.history,
                pretrained=m["name"],
                seed=m["settings"].seeds,
            )
        ],
    output:
        tables=table(
            "topic_structure/pretraining_losses",
            "Wikipedia: pretraining",
            "table: losses",
            made=bool(pretrained_models),
        ),
        record=record,
    pathvars:
        step="tabulate_pretraining_losses",
    localrule: True
    params:
        **script("tabulate_pretraining_losses", models=pretrained_models),


use rule step as plot_pretraining_losses with:
    input:
        histories=[
            history
            for m in pretrained_models
            for history in expand(
                rules.pretrain_model.output.history,
                pretrained=m["name"],
                seed=m["settings"].seeds,
            )
        ],
    output:
        figures=figure(
            "topic_structure/pretraining_losses",
            "Wikipedia: pretraining",
            "figure: losses",
            made=bool(pretrained_models),
        ),
        record=record,
    pathvars:
        step="plot_pretraining_losses",
    localrule: True
    params:
        **script("plot_pretraining_losses", models=pretrained_models),


use rule step as tabulate_head_removal with:
    input:
        losses=removal_losses,
    output:
        tables=table(
            "topic_structure/head_removal",
            "Wikipedia: results",
            "table: heads removed",
            made=bool(trained_models),
        ),
        record=record,
    pathvars:
        step="tabulate_head_removal",
    localrule: True
    params:
        **script(
            "tabulate_head_removal",
            models=trained_models,
            removal=wikipedia.head_removal,
            uncertainty=settings.probe.uncertainty,
        ),


use rule step as plot_head_removal with:
    input:
        losses=removal_losses,
    output:
        figures=figure(
            "topic_structure/head_removal",
            "Wikipedia: results",
            "figure: heads removed",
            made=bool(trained_models),
        ),
        record=record,
    pathvars:
        step="plot_head_removal",
    localrule: True
    params:
        **script(
            "plot_head_removal",
            models=trained_models,
            removal=wikipedia.head_removal,
            uncertainty=settings.probe.uncertainty,
        ),
