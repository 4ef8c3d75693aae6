# Claims of all papers again, as on other machines and from other seeds. One process a machine: the
# libraries read their switches when they are loaded, and to load them takes as long as most claims.
stability = settings.stability
machines = {machine.name: machine for machine in stability.machines}
pretrained_again = {}
if stability.pretraining.families:
    pretrained_again = {
        name: expand(rules.encode_articles.output[name], corpus=settings.pretraining.text_name)
        for name in ("text", "vocabulary", "tokenizer")
    }
if pretrained_again and stability.pretraining.probed:
    probed_again = settings.topic_structure.wikipedia.corpus
    pretrained_again |= {
        "articles": articles_of(probed_again),
        "kept_words": expand(rules.filter_ambiguous_words.output.kept_words, corpus=probed_again),
        "words": expand(rules.count_words.output.vocabulary, corpus=probed_again),
    }


wildcard_constraints:
    machine="|".join(map(re.escape, machines)),


every["machine"] = list(machines)


use rule step as measure_claims_again with:
    input:
        **pretrained_again,
    output:
        claims="results/stability/{machine}.parquet",
        record=record,
    pathvars:
        step="measure_claims_again/{machine}",
    threads: lambda w: machines[w.machine].threads
    resources:
        **asks(2000, minutes=240, device="cpu"),
    params:
        **script("measure_claims_again", lambda w: settings.claims_of(machines[w.machine])),
        # Its machines are what their own switches say, also in a portable run.
        switches="",
        portable="",


# One question in the models of all four papers.
from_settings(
    "follow_circuits",
    (1500, 30),
    {"distances": "results/circuits/distances.parquet"},
    settings.value_before_attention,
)
