# Attention on a text: of each model that is shown the first checkpoint, at its snapshots if any.
read_by = [
    ShownCheckpoint(
        name=name,
        seed=str((settings.seeds(name) or ["all"])[0]),
        snapshots=settings.models[name].source == "pretrain",
    )
    for name in wikipedia.read_by
]
step(
    "read_attention",
    (2000, 10),
    {"page": report("results/reading.html", category="Reading", labels={"result": "attention"})},
    reads={
        "articles": articles_of(wikipedia.corpus),
        "kept_words": expand(
            rules.filter_ambiguous_words.output.kept_words, corpus=wikipedia.corpus
        ),
        "models": checkpoint_files(*(settings.checkpoints(one.name)[0] for one in read_by)),
        "heads": measured("attention_heads", named(wikipedia.read_by)),
        "snapshots": [
            rules.pretrain_model.output.snapshots.format(pretrained=one.name, seed=one.seed)
            for one in read_by
            if one.snapshots
        ],
        "template": f"{captions}/reading.html",
    },
    attention=settings.probe.attention,
    shown=wikipedia.reading,
    by=read_by,
)
