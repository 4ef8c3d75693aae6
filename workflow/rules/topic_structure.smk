# Li, Li & Risteski (2023) on Wikipedia: what its tables and figures read, see onelayer.papers.
wikipedia = settings.topic_structure.wikipedia
overlaps = settings.topics.ambiguity.overlaps
probed_models = named(wikipedia.models)
pretrained_models = [m for m in probed_models if m["settings"].source == "pretrain"]
# What random models are like: each is a control of the published effect of that model.
random_models = [m["name"] for m in probed_models if m["settings"].source == "random"]
original_models = named(dict.fromkeys(settings.models[name].like for name in random_models))
# Random embeddings all look the same: the first shows it.
word_group_models = [m for m in wikipedia.models if m not in random_models[1:]]
models_over_tokens = [*pretrained_models, *named(wikipedia.over_tokens.series)]
measures_over_tokens = measured("snapshots", models_over_tokens)
# A model with random weights predicts nothing.
trained_models = [m for m in probed_models if m["settings"].source != "random"]
removal_losses = measured("head_removal", trained_models)


wildcard_constraints:
    overlap="disjoint|overlapping",


held_out_topics = expand(
    rules.measure_held_out_topics.output.coherence,
    corpus=[wikipedia.corpus] if wikipedia.corpus in in_one_piece else [],
)
topic_models_compared = bool(held_out_topics and settings.topics.compared)
pretraining_histories = [
    f"results/pretraining/{training}/history.parquet"
    for model in pretrained_models
    for training in settings.checkpoints(model["name"])
]
words_of_groups, vectors_of_groups = (
    of_first_checkpoints(pattern, wikipedia.corpus, word_group_models)
    for pattern in (rules.probe_attention.output.words, rules.probe_attention.output.vectors)
)
every |= {"corpus": [wikipedia.corpus], "model": wikipedia.models}
# Several articles an input: attention on articles, and on inputs of the training, or, where that had
# articles one by one, of the first that had several.
trained_on_inputs = named(wikipedia.topics_per_input.models)
of_several = [m["name"] for m in trained_on_inputs if m["settings"].inputs]
probed_inputs = trained_on_inputs if of_several else []
measures_on_articles = measured("attention", probed_inputs)
measures_at_snapshots = measured("snapshots", probed_inputs)
measures_on_inputs = [
    path
    for m in probed_inputs
    for path in measured(f"inputs_of_{m['name'] if m['settings'].inputs else of_several[0]}", [m])
]
# Values of all of them: those of the other tables, and those that read several articles an input.
only_by_inputs = [
    (model, at_snapshots)
    for model, at_snapshots in zip(trained_on_inputs, measures_at_snapshots)
    if model["name"] not in wikipedia.models
]
valued_models = [*probed_models, *(model for model, _ in only_by_inputs)]
valued_over_tokens = [*models_over_tokens, *(model for model, _ in only_by_inputs)]
values_over_tokens = [*measures_over_tokens, *(measured for _, measured in only_by_inputs)]
circuits_of_models = measured("value_circuits", valued_models)
attention_of_models = measured("attention", valued_models)
