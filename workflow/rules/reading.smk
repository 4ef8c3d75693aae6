# Attention on a text: of each model that is shown the first checkpoint, at its snapshots if any.
read_by = [
    ShownCheckpoint(
        name=name,
        seed=str((settings.seeds(name) or ["all"])[0]),
        snapshots=settings.models[name].source == "pretrain",
    )
    for name in wikipedia.read_by
]


use rule step as read_attention with:
    input:
        articles=articles_of(wikipedia.corpus),
        kept_words=expand(rules.filter_ambiguous_words.output.kept_words, corpus=wikipedia.corpus),
        models=expand(
            "results/models/{first}/{file}",
            first=[settings.checkpoints(one.name)[0] for one in read_by],
            file=CHECKPOINT_FILES,
        ),
        heads=[
            rules.measure_attention.output.heads.format(corpus=wikipedia.corpus, model=one.name)
            for one in read_by
        ],
        snapshots=[
            rules.pretrain_model.output.snapshots.format(pretrained=one.name, seed=one.seed)
            for one in read_by
            if one.snapshots
        ],
        template=f"{captions}/reading.html",
    output:
        page=report("results/reading.html", category="Reading", labels={"result": "attention"}),
        record=record,
    pathvars:
        step="read_attention",
    threads: settings.probe.attention.threads
    resources:
        **asks(2000, minutes=10, device=settings.probe.attention.device),
    params:
        **script(
            "read_attention",
            attention=settings.probe.attention,
            shown=wikipedia.reading,
            by=read_by,
        ),
