# Attention on a text: of each model that is shown the first checkpoint, at its snapshots if any.
read_by = wikipedia.read_by
with_snapshots = [name for name in read_by if settings.models[name].source == "pretrain"]


use rule step as read_attention with:
    input:
        articles=settings.corpora[wikipedia.corpus].articles(f"results/corpus/{wikipedia.corpus}"),
        kept_words=expand(rules.filter_ambiguous_words.output.kept_words, corpus=wikipedia.corpus),
        models=[
            file
            for model in read_by
            for file in multiext(
                f"results/models/{settings.checkpoints(model)[0]}/", *CHECKPOINT_FILES
            )
        ],
        heads=expand(rules.measure_attention.output.heads, corpus=wikipedia.corpus, model=read_by),
        snapshots=[
            file
            for model in with_snapshots
            for file in expand(
                rules.pretrain_model.output.snapshots,
                pretrained=model,
                seed=settings.models[model].seeds[0],
            )
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
            models=read_by,
            seeds=[str((settings.seeds(name) or ["all"])[0]) for name in read_by],
            snapshots=with_snapshots,
        ),
