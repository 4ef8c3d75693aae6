# Claims of all papers again, as on other machines and from other seeds. One process a machine: the
# libraries read their switches when they are loaded, and to load them takes as long as most claims.
stability = settings.stability
machines = {machine.name: machine for machine in stability.machines}
pretrained_again = {}
if stability.pretraining.families:
    pretrained_again = encoded_articles("text", "vocabulary", "tokenizer")
if pretrained_again and stability.pretraining.probed:
    probed_again = settings.topic_structure.wikipedia.corpus
    pretrained_again |= {
        "articles": articles_of(probed_again),
        "kept_words": expand(rules.filter_ambiguous_words.output.kept_words, corpus=probed_again),
        "words": expand(rules.count_words.output.vocabulary, corpus=probed_again),
    }


wildcard_constraints:
    machine=one_of(machines),


every["machine"] = list(machines)
step(
    "measure_claims_again/{machine}",
    (2000, 240, "cpu"),
    {"claims": "results/stability/{machine}.parquet"},
    lambda w: settings.claims_of(machines[w.machine]),
    reads=pretrained_again,
    cores=lambda w: machines[w.machine].threads,
    # Its machines are what their own switches say, also in a portable run.
    switches={"switches": "", "portable": ""},
)
# One question in the models of all four papers.
step(
    "follow_circuits",
    (1500, 30),
    {"distances": "results/circuits/distances.parquet"},
    settings.value_before_attention,
)
