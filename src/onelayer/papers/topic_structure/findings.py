"""What came out of Li, Li & Risteski (2023), as sentences on the rows of its tables.

Of each model of the paper's table, and of what stands in for it, one ratio is named:
attention, and the cosine of embeddings, at the paper's first threshold, with disjoint topics.
"""

from onelayer.evidence.findings import ALL, BEYOND, Finding, Published, Remark
from onelayer.papers.topic_structure.synthetic.findings import FINDINGS as SYNTHETIC

_PLACE = "Experiment result on Wikipedia dataset"
# The first threshold of the paper's tables, and the row that is set beside it.
_FIRST = 0.0005
_FAMILIES = {
    "bert": "BERT",
    "albert": "ALBERT",
    "bart": "BART",
    "electra": "ELECTRA",
    "roberta": "RoBERTa",
}
_MINILM = "MiniLM (a small BERT tuned on pairs of sentences)"
_OF_MINILM = {"model": "minilm", "seed": ALL}
_MPNET = "MPNet (as large as the paper's BERT, tuned on pairs of sentences)"
_SMALL = {
    family: f"a small {name} trained for this comparison" for family, name in _FAMILIES.items()
}
_BUDGET = "it has read far less text than the paper's checkpoint"
# Cosines of output embeddings have a large part in common, which bounds their ratio.
_BOUNDED = (
    "words of two topics have a mean cosine of {apart.value:.2f} here, and none is larger than 1"
)
_AT_EQUAL_DISTANCE = "with pairs of words weighted to be equally far apart {near.value:.2f}"
_BESIDE = {
    "attention_ratio": ("near", "attention_ratio_distance_standardised"),
    "embedding_cosine_ratio": ("apart", "embedding_cosine_different"),
}


def _comparing(does: str) -> dict[str, str]:
    """What something does, and does not: a comparison, `{}more than`, holds or it is `no more`."""
    return {"does": does.format(""), "does_not": does.format("no ")}


_PERMUTED = "than equally frequent words of permuted topics"
_WORDS = {
    "attention_ratio": {
        "claim": "words of one topic attend more to each other than words of different topics",
        "number": "{it.corrected:3} times as much, at the tightest threshold",
        **_comparing(f"attend to each other {{}}more {_PERMUTED}"),
    },
    "embedding_cosine_ratio": {
        "claim": "embeddings of words of one topic are more alike than those of different topics",
        "number": "a cosine {it.corrected:3} times as large, at the tightest threshold",
        **_comparing(f"have {{}}more similar embeddings {_PERMUTED}"),
    },
}


def _published(row: str, quantity: str, overlap: str = "disjoint") -> Published:
    keys = {"overlap": overlap, "model": row, "threshold": f"{_FIRST:g}"}
    return Published("topic_structure_wikipedia.csv", keys, quantity)


def _ratio(
    name: str,
    model: str,
    subject: str,
    kind: str,
    row: str,
    overlap: str = "disjoint",
    **others: object,
) -> Finding:
    """A ratio of one model at the first threshold, beside a row of the published table."""
    shared = "" if overlap == "disjoint" else ", where topics overlap,"
    quantity = "attention_ratio" if name.startswith("attention") else "embedding_cosine_ratio"
    primary = {"model": model, "published_threshold": _FIRST, "seed": ALL, "quantity": quantity}
    texts = {"place": f"{_PLACE}: {overlap} topics"} | _WORDS[quantity] | others
    name_beside, quantity_beside = _BESIDE[quantity]
    texts["beside"] = {name_beside: primary | {"quantity": quantity_beside}}
    return Finding(
        name=name,
        kind=kind,
        table=f"topic_structure/wikipedia_{overlap}",
        primary=primary,
        subject=f"in {subject} words of one topic{shared}",
        published=_published(row, quantity, overlap),
        **texts,
    )


def _small(name: str, overlap: str = "disjoint") -> list[Finding]:
    """Models of the five families that the pipeline pretrains."""
    said = {"why": _BUDGET} if name.startswith("attention") else {"also": _BOUNDED}
    return [
        _ratio(f"{name}_{row}", f"{row}-here", subject, "analogue", row, overlap, **said)
        for row, subject in _SMALL.items()
    ]


def _control(model: str, like: str, row: str) -> Finding:
    """A model with random weights."""
    return _ratio(
        f"attention_{model.replace('-', '_')}",
        model,
        f"{like} with random weights",
        "control",
        row,
        place=f"{_PLACE}: row of a random BERT",
        claim="a random model shows no topic structure in attention",
        number="{it.corrected:4} times as much",
    )


def _heads(family: str, subject: str) -> Finding:
    """Whether the heads of the largest ratios matter more than others."""
    removed = {"model": f"{family}-here", "removal": "zero", "words": "same_topic", "seed": ALL}
    more = "{}more, on words whose topic the text shows, than taking out as many others"
    return Finding(
        name=f"heads_{family}",
        claim="attention encodes topics: what attends within topics is used for words of a topic",
        place=BEYOND,
        kind="analogue",
        table="topic_structure/head_removal",
        primary=removed | {"quantity": "largest_minus_random"},
        subject="taking out the heads that attend most within topics",
        **_comparing(f"costs {subject} {more}"),
        number="a difference of {it:4} nats a word, where as many others cost {others.value:.4f}",
        beside={"others": removed | {"quantity": "increase_random"}},
    )


def _several(
    name: str,
    model: str,
    subject: str,
    quantity: str = "over_one_article",
    claim: str = "attention to words of one topic grows with the number of topics in a document",
    probed: str = "articles",
    **texts: object,
) -> Finding:
    """Whether attention shows topics where an input has several of them."""
    texts = {"number": "{it:3} more, as a multiple of permuted topics"} | texts
    texts = {"refuted_if_undecided": texts.get("predicted") != "undecided"} | texts
    return Finding(
        name=name,
        claim=claim,
        place=BEYOND,
        kind="analogue",
        table="topic_structure/topics_per_input",
        primary={"model": model, "seed": ALL, "quantity": quantity, "probed": probed},
        subject=subject,
        **texts,
    )


_READ_FOUR = "that read pieces of four articles in each input"
_READ_TWO = "that read pieces of two articles in each input"
_READ_LONGER = f"{_READ_FOUR}, ten million tokens of them,"
_LEARNED = {"seed": ALL, "quantity": "most_below_frequencies", "probed": "articles"}
_TOPICS_TELL = {"seed": ALL, "quantity": "topics_below_frequencies", "probed": "articles"}
_READ_BAGS = "that read the words of {} in random order"
_OF_BAGS = f"a small BERT {_READ_BAGS}"
_READ_DRAWN = "that read words drawn from four topics in each input"
_IN_SIGHT = "of which four in five words to predict were in sight, right or wrong,"
_SEEN_AS_THEY_ARE = "that sees the words it must predict as they are, or masked,"
_SEEN_REPLACED = "that sees the words it must predict replaced, or masked,"
_ALL_MASKED = "that sees none of the words it must predict"
_FEW_KEPT = "that sees one in fifty of the words it must predict as it is, the others masked, and"
_MORE_TEXT = "a small BERT trained on 24 million tokens, no input twice,"
_FOLLOWED = {
    "model": "bert-drawn-longer",
    "seed": ALL,
    "quantity": "attention_ratio_null_corrected",
}
_MASKS = "which words to predict stay in sight decides where attention goes"
_UNTIED = "whose embeddings are not its output layer"
_ASKED_OF_SEEN = "attention follows topics where a model is asked of words that it can see"
_CONTROL = "documents of the theory's own model show topics in attention: the positive control"
_GROWS_WITH_TOPICS = "attention follows topics the more, the more of them a document has"
_DRAWN = [("one", 1, "one topic"), ("two", 2, "two topics"), ("four", 4, "four topics")]
_OF_SEVERAL = "attention follows topics where documents have several of them"
_NULL_TEXTS = {name: text for name, text in _WORDS["attention_ratio"].items() if name != "claim"}
_AFTER_FOUR = {
    "": ("bert", "a small BERT"),
    "_one_layer": ("bert-one-layer", "a small BERT of one layer"),
    "_roberta": ("roberta", "a small RoBERTa"),
    "_albert": ("albert", "a small ALBERT"),
    "_bart": ("bart", "a small BART"),
    "_electra": ("electra", "a small ELECTRA"),
}
_MORE = _comparing("attends {}more within topics than one that read articles one by one")
_THAN_ONE, _THAN_IN_ORDER = (
    _comparing(f"attends {{}}more within topics than one that read {what}")
    for what in ("those of single articles so", "them in order")
)
_THAN_USUAL = _comparing("attends {}more within topics than one with the usual masks")
_NUMBERS = {"one": 1, "two": 2, "four": 4}
_READ_AT_512 = {
    of: f"{_READ_BAGS.format(f'{what} articles')}, up to 512 tokens of them in an input,"
    for of, what in zip(_NUMBERS, ("single", "two", "four"), strict=True)
}
_NEVER_TWICE = "a small BERT that never read an input twice and"
_LONGER = "trained on ten million tokens, no input twice,"
_SIXTEEN = "trained on 32 million tokens, 8,192 a batch,"  # sixteen inputs of 512
_BAGS_AT_512 = {
    "bert-512": "a small BERT",
    "roberta-512": "a small RoBERTa",
    "albert-512": "a small ALBERT",
    "bart-512": "a small BART",
    "electra-512": "a small ELECTRA",
    "electra-512-one-layer": "a small ELECTRA of one layer",
}
_SIXTEEN_AT_512 = {
    **{f"{family}-512": _BAGS_AT_512[f"{family}-512"] for family in ("bert", "roberta", "electra")},
    "bert-512-one-layer": "a small BERT of one layer",
}
_SIXTEEN_INPUTS = {
    "pieces": ("bert-512-of-4", f"a small BERT {_SIXTEEN} {_READ_FOUR},"),
    "articles": ("bert-512-of-1", f"a small BERT {_SIXTEEN} that read articles one by one"),
    "pieces_of_two": ("bert-512-of-2", f"a small BERT {_SIXTEEN} {_READ_TWO},"),
    "drawn_topics": ("bert-512-drawn-of-4", f"a small BERT {_SIXTEEN} {_READ_DRAWN}"),
    **{
        name: (
            f"{model}-bag-of-{_NUMBERS[of]}",
            f"{_SIXTEEN_AT_512[model]} {_SIXTEEN} {_READ_AT_512[of]}",
        )
        for name, model, of in (
            ("bert_of_two", "bert-512", "two"),
            ("bert", "bert-512", "four"),
            ("roberta", "roberta-512", "four"),
            ("electra_of_one", "electra-512", "one"),
            ("electra_of_two", "electra-512", "two"),
            ("electra", "electra-512", "four"),
            ("bert_one_layer_of_two", "bert-512-one-layer", "two"),
            ("bert_one_layer", "bert-512-one-layer", "four"),
        )
    },
}
_TEN_MILLION = "trained on ten million tokens, 8,192 a batch,"
_ONE_AND_FOUR = {
    "articles": (
        "bert-512-of-1-ten",
        f"a small BERT {_TEN_MILLION} that read articles one by one",
        "attention follows topics once articles one by one have been learned from",
    ),
    "pieces_of_four": (
        "bert-512-of-4-ten",
        f"a small BERT {_TEN_MILLION} {_READ_FOUR},",
        _OF_SEVERAL,
    ),
}
_PIECES_OF_TWO = {
    family: f"{_BAGS_AT_512[f'{family}-512']} trained on {tokens} million tokens, 8,192 a batch, "
    f"{_READ_TWO},"
    for family, tokens in (
        ("roberta", "ten"),
        ("bart", "four"),
        ("bert", "ten"),
        ("electra", "eight"),
    )
}


def _topics_after(name: str, one: str, four: str, subject: str, of_four: str) -> Remark:
    """How much attention shows topics after inputs of one article, and of four."""
    of = {"seed": ALL, "quantity": "attention_ratio_null_corrected", "probed": "articles"}
    return Remark(
        f"topics_after_{name}",
        "topic_structure/topics_per_input",
        of | {"model": one},
        f"In {subject} words of one topic attend to each other {{it:3}} times as much as equally "
        f"frequent words of permuted topics; after {of_four} {{four:3}} times.",
        beside={"four": of | {"model": four}},
    )


def _what_topics_tell(name: str, model: str, of_four: str) -> Remark:
    """What there is to learn from inputs of one article, and of four."""
    return Remark(
        f"what_topics_tell{name}",
        "topic_structure/topics_per_input",
        _TOPICS_TELL | {"model": f"{model}-bag-of-1"},
        "Of hidden words in inputs of one article topics tell {it:2} nats a word more than "
        f"frequencies do; in {of_four} {{four:2}}.",
        beside={"four": _TOPICS_TELL | {"model": f"{model}-bag-of-4"}},
    )


def _after_pieces(name: str, model: str, subject: str, longer: str = "") -> Remark:
    """That of pieces of four articles in turn."""
    models = f"{model}-one{longer}", f"{model}-of-4{longer}"
    subject = f"{subject} that read articles one by one"
    of_four = "pieces of four articles in each input"
    return _topics_after(f"one_article{name}", *models, subject, of_four)


def _at_512(
    model: str, subject: str, how: str = "", several: str = "four"
) -> list[Finding | Remark]:
    """Bags of one and of several articles in inputs long enough for those."""
    of = "" if several == "four" else f"_of_{several}"
    name = f"at_512_{model}{how}{of}".replace("-512", "").replace("-", "_")
    one, many = (f"{model}-bag-of-{_NUMBERS[number]}{how}" for number in ("one", several))
    of_one, of_many = (f"{subject} {_READ_AT_512[number]}" for number in ("one", several))
    return [
        _several(name, many, of_many, "over_bag_of_one", **_THAN_ONE),
        _topics_after(name, one, many, of_one, f"the words of {several} articles"),
        Remark(
            f"learned_{name}",
            "topic_structure/topics_per_input",
            _LEARNED | {"model": one},
            f"Of words to predict {of_one} knows {{it:2}} nats a word more than frequencies tell, "
            f"at the snapshot at which this is surest; one that read those of {several} articles "
            "so {many:2}.",
            beside={"many": _LEARNED | {"model": many}},
        ),
    ]


def _above_null(name: str, model: str, subject: str, claim: str, **texts: str) -> Finding:
    """Whether words of one topic attend to each other more than those of permuted topics."""
    texts = _NULL_TEXTS | texts
    return _several(name, model, subject, "attention_ratio", claim, **texts)


def _control_on_inputs(name: str, model: str, subject: str, **texts: str) -> Finding:
    """The positive control where it should show most, on inputs as it was trained on."""
    subject = f"in {subject} {_READ_DRAWN}, words of one topic of such an input"
    return _above_null(
        name, model, subject, _CONTROL, probed="inputs, words of one article", **texts
    )


def _values(name: str, model: str, subject: str, predicted: str = "reproduced") -> list[Finding]:
    """The theorem's stages asked of a small model: do values know the topics, and first?"""
    place = {
        "place": BEYOND,
        "kind": "analogue",
        "table": "topic_structure/value_circuit",
        "subject": subject,
    }
    of = {"model": model, "reading": "embedding layer's output", "seed": ALL}
    return [
        Finding(
            f"values_{name}",
            claim="values know the topics: heads write words of the topic that they attend to",
            primary=of | {"quantity": "value_circuit_gap"},
            **_comparing(
                "writes, in the mean of its heads, the topic of the word that it attends to {}more "
                "than a permuted one"
            ),
            number="a gap of {it:3} standard deviations, where permuted topics have "
            "{it.reference:.3f}",
            predicted=predicted,
            refuted_if_undecided=predicted != "undecided",
            **place,
        ),
        Finding(
            f"values_first_{name}",
            claim="values learn the topics before attention does",
            primary=of | {"quantity": "doublings_before_attention"},
            does="learns the topics in its values before it does in its attention",
            number="{it:1} doublings of text between the halves of both, each on the side of its "
            "null on which it ends",
            **place,
        ),
    ]


def _choices(model: str, title: str, suffix: str = "") -> list[Finding]:
    """Whether what the probe finds depends on how it is done."""
    of = {"place": BEYOND, "kind": "analogue", "table": "topic_structure/probe_choices"}
    return [
        Finding(
            f"every_choice{suffix}",
            claim="attention follows topics however it is probed",
            primary={"model": model, "quantity": "least_over_null"},
            subject=f"{title}, probed in the way whose interval reaches lowest,",
            **_comparing("attends within topics {}more than permuted topics would have it"),
            number="{it:2} times as much",
            also="of {above.n} ways the intervals of a share of {above.value:.3f} lie above them",
            beside={"above": {"model": model, "quantity": "share_above_null"}},
            refuted_if_undecided=True,
            **of,
        ),
        Finding(
            f"authors_choice{suffix}",
            claim="the authors' ways to probe give a smaller ratio than ours",
            primary={"model": model, "quantity": "authors_over_ours"},
            subject=f"{title}, probed as in the authors' code,",
            **_comparing("attends {}less within topics than probed as here, over the null"),
            also="of the spread over all ways the weights of the words explain a share of "
            "{weights.value:.2f}, the number of words of a topic {words.value:.2f}, which layers "
            "are taken {pooling.value:.2f}",
            beside={
                name: {"model": model, "quantity": f"eta2_{name}"}
                for name in ("weights", "words", "pooling")
            },
            refuted_if_undecided=True,
            **of,
        ),
        Finding(
            f"probed_as_the_authors{suffix}",
            claim="words of one topic attend more to each other than words of different topics, "
            "by the authors' own probe",
            primary={"model": model, "choice": "authors", "quantity": "attention_ratio"},
            subject=f"{title}, probed as in the authors' code,",
            **_comparing("attends within topics {}more than permuted topics would have it"),
            number="{it.corrected:2} times as much",
            also="the ratio itself is {it:2}, under other seeds of the topic model {others:2}",
            published=_published("bert", "attention_ratio", "overlapping"),
            beside={
                "others": {
                    "model": model,
                    "weights": "tf-idf",
                    "schedule": "authors",
                    "topics": 100,
                    "seed": (1, 2),
                    "words": 51,
                    "overlap": "overlapping",
                    "pooling": "mean",
                    "length": "as it is",
                    "quantity": "attention_ratio",
                }
            },
            **of | {"place": _PLACE},
        ),
    ]


def _heads_of(model: str, title: str) -> Remark:
    """How many heads of a real model write topics, and how many write other topics."""
    of = {"model": model, "reading": "embedding layer's output"}
    return Remark(
        f"values_of_heads_{model}",
        "topic_structure/value_circuit",
        of | {"quantity": "heads_above"},
        f"Of the {{it.n}} heads of {title} a share of {{it.value:.2f}} writes the topic of the "
        "word that it attends to more than a permuted one, and a share of {below.value:.2f} less; "
        "their mean gap is {gap:3} standard deviations.",
        beside={
            "below": of | {"quantity": "heads_below"},
            "gap": of | {"quantity": "value_circuit_gap"},
        },
    )


WIKIPEDIA: list[Finding | Remark] = [
    *(
        _ratio(f"{what}_{family}", family, f"the paper's {name}", "published", family)
        for what in ("attention", "embeddings")
        for family, name in _FAMILIES.items()
    ),
    _ratio("attention_minilm", "minilm", _MINILM, "analogue", "bert", also=_AT_EQUAL_DISTANCE),
    _ratio("attention_mpnet", "mpnet", _MPNET, "analogue", "bert", also=_AT_EQUAL_DISTANCE),
    *_small("attention_small"),
    _ratio("embeddings_minilm", "minilm", _MINILM, "analogue", "bert"),
    _ratio("embeddings_mpnet", "mpnet", _MPNET, "analogue", "bert", also=_BOUNDED),
    *_small("embeddings_small"),
    _ratio("attention_overlapping_minilm", "minilm", _MINILM, "analogue", "bert", "overlapping"),
    _ratio("attention_overlapping_mpnet", "mpnet", _MPNET, "analogue", "bert", "overlapping"),
    *_small("attention_overlapping", "overlapping"),
    *(
        Finding(
            f"{name}_minilm",
            claim=f"attention ratios are larger {claim}",
            place=_PLACE,
            kind="analogue",
            table="topic_structure/wikipedia_claims",
            primary=_OF_MINILM | row,
            subject=f"in {_MINILM} the ratio of attention within topics to that between them",
            does=does,
            does_not=does_not,
            number="a difference of {it.beyond:2} beyond that of permuted topics",
            also=f"{beside_it} {{other.value:.2f}} in all",
            beside={"other": _OF_MINILM | row | other},
            # A difference of two published ratios; the first of them.
            published=_published("bert", "attention_ratio"),
        )
        for name, claim, row, other, beside_it, does, does_not in (
            (
                "threshold",
                "at tighter thresholds",
                {"quantity": "attention_ratio_tightest_minus_loosest", "overlap": "disjoint"},
                {"overlap": "overlapping"},
                "where topics share words",
                "falls as the threshold loosens",
                "",
            ),
            (
                "overlap",
                "for disjoint topics",
                {
                    "quantity": "attention_ratio_disjoint_minus_overlapping",
                    "published_threshold": _FIRST,
                },
                {"published_threshold": 0.002},
                "at the loosest threshold",
                "is larger where topics share no words",
                "is no larger where topics share no words",
            ),
        )
    ),
    _control("random", "a BERT", "bert"),
    *(
        _control(f"random-{family}", f"a small {name}", family)
        for family, name in _FAMILIES.items()
    ),
    *(_heads(family, subject) for family, subject in _SMALL.items()),
    *(
        _several(f"several_articles{name}", f"{model}-of-4", f"{subject} {_READ_FOUR}", **_MORE)
        for name, (model, subject) in _AFTER_FOUR.items()
    ),
    _several(
        "several_articles_longer", "bert-of-4-longer", f"a small BERT {_READ_LONGER}", **_MORE
    ),
    _several(
        "several_articles_of_two",
        "bert-of-2",
        "a small BERT that read pieces of two articles in each input",
        **_MORE,
    ),
    *(_after_pieces(name, *of) for name, of in _AFTER_FOUR.items()),
    _after_pieces("_longer", "bert", "a small BERT of ten million tokens", "-longer"),
    _what_topics_tell("", "bert", "inputs of four articles"),
    _topics_after(
        "bags",
        "bert-bag-of-1",
        "bert-bag-of-4",
        _OF_BAGS.format("single articles"),
        "the words of four articles",
    ),
    *(
        _several(
            f"bags_of_articles{name}",
            f"bert-bag-of-{number}",
            _OF_BAGS.format(what),
            "over_words_in_order",
            **_THAN_IN_ORDER,
            predicted=predicted,
        )
        for name, number, what, predicted in (
            ("", 4, "four articles", "reproduced"),
            ("_of_one", 1, "single articles", "undecided"),
        )
    ),
    _several(
        "bags_of_several_articles",
        "bert-bag-of-4",
        _OF_BAGS.format("four articles"),
        "over_bag_of_one",
        **_THAN_ONE,
    ),
    *(one for of in _BAGS_AT_512.items() for one in _at_512(*of)),
    *_at_512("bert-512", _NEVER_TWICE, "-anew"),
    *_at_512("bert-512", _NEVER_TWICE, "-anew", "two"),
    *_at_512("bert-512", f"a small BERT {_LONGER}", "-longer", "two"),
    *(
        one
        for model, subject in _SIXTEEN_AT_512.items()
        for several in ("two", "four")
        for one in _at_512(model, f"{subject} {_SIXTEEN}", "-sixteen", several)
    ),
    _topics_after(
        "at_512_pieces_sixteen",
        "bert-512-of-1-sixteen",
        "bert-512-of-4-sixteen",
        _SIXTEEN_INPUTS["articles"][1],
        "pieces of four articles in each input",
    ),
    Remark(
        "learned_at_512_batches",
        "topic_structure/topics_per_input",
        _LEARNED | {"model": "bert-512-bag-of-2-batches"},
        f"Of words to predict a small BERT {_LONGER} 8,192 a batch, {_READ_AT_512['two']} knows "
        "{it:2} nats a word more than frequencies tell, at the snapshot at which this is surest.",
    ),
    _what_topics_tell("_at_512", "bert-512", "inputs of four articles, up to 512 tokens of them,"),
    *(
        Remark(
            f"own_topics_at_512{of}",
            "topic_structure/topics_per_input",
            _TOPICS_TELL | {"model": model, "quantity": "own_topics_below_frequencies"},
            f"In inputs of the words of {several} articles, up to 512 tokens of them, topics of "
            "the words of a hidden word's own article tell {it:2} nats a word more than "
            "frequencies do, those of all words {all:2}.",
            beside={"all": _TOPICS_TELL | {"model": model}},
        )
        for of, several, model in (
            ("", "four", "bert-512-bag-of-4-anew"),
            ("_of_two", "two", "bert-512-bag-of-2-anew"),
        )
    ),
    _several(
        "at_512_pieces",
        "bert-512-of-4",
        f"a small BERT {_READ_FOUR}, up to 512 tokens,",
        **_MORE,
    ),
    _several(
        "at_512_in_order",
        "bert-512-bag-of-4",
        f"a small BERT {_READ_AT_512['four']}",
        "over_words_in_order",
        **_THAN_IN_ORDER,
        predicted="opposite",
    ),
    _several(
        "at_512_pieces_sixteen",
        "bert-512-of-4-sixteen",
        _SIXTEEN_INPUTS["pieces"][1],
        **_MORE,
    ),
    _several(
        "at_512_in_order_sixteen",
        "bert-512-bag-of-4-sixteen",
        _SIXTEEN_INPUTS["bert"][1],
        "over_words_in_order",
        **_THAN_IN_ORDER,
        predicted="opposite",
    ),
    *(
        asked
        for name, (model, subject) in _SIXTEEN_INPUTS.items()
        for asked in _values(f"at_512_{name}_sixteen", f"{model}-sixteen", subject)
    ),
    *(
        _above_null(
            f"attention_at_512_{name}_sixteen",
            f"{_SIXTEEN_INPUTS[name][0]}-sixteen",
            f"in {_SIXTEEN_INPUTS[name][1]} words of one topic",
            _OF_SEVERAL,
        )
        for name in (
            "pieces",
            "pieces_of_two",
            "bert_of_two",
            "bert",
            "roberta",
            "electra",
            "bert_one_layer",
        )
    ),
    *(
        one
        for family, predicted, values, asked in (
            ("roberta", "reproduced", "reproduced", 2),
            ("bart", "undecided", "reproduced", 1),
            ("bert", "undecided", "reproduced", 2),
            ("electra", "reproduced", "opposite", 1),
        )
        for one in (
            _above_null(
                f"attention_at_512_{family}_pieces_of_two",
                f"{family}-512-of-2",
                f"in {_PIECES_OF_TWO[family]} words of one topic",
                _OF_SEVERAL,
                predicted=predicted,
            ),
            *_values(
                f"at_512_{family}_pieces_of_two",
                f"{family}-512-of-2",
                _PIECES_OF_TWO[family],
                values,
            )[:asked],
        )
    ),
    *(
        one
        for name, (model, subject, claim) in _ONE_AND_FOUR.items()
        for one in (
            _above_null(
                f"attention_at_512_{name}_ten",
                model,
                f"in {subject} words of one topic",
                claim,
                predicted="undecided",
            ),
            _values(f"at_512_{name}_ten", model, subject)[0],
        )
    ),
    _above_null(
        "attention_albert_of_two",
        "albert-of-2-longer",
        f"in a small ALBERT of ten million tokens {_READ_TWO} words of one topic",
        _OF_SEVERAL,
        predicted="undecided",
    ),
    _values(
        "albert_of_two",
        "albert-of-2-longer",
        f"a small ALBERT of ten million tokens {_READ_TWO}",
    )[0],
    _several(
        "at_512_pieces_of_four_ten",
        *_ONE_AND_FOUR["pieces_of_four"][:2],
        **_MORE,
        predicted="undecided",
    ),
    Remark(
        "learned_at_512_one_and_four",
        "topic_structure/topics_per_input",
        _LEARNED | {"model": "bert-512-of-1-ten"},
        f"Of words to predict {_ONE_AND_FOUR['articles'][1]} knows {{it:2}} nats a word more than "
        "frequencies tell, at the snapshot at which this is surest; one that read pieces of four "
        "{four:2}.",
        beside={"four": _LEARNED | {"model": "bert-512-of-4-ten"}},
    ),
    Remark(
        "learned_at_512_pieces_of_two_sixteen",
        "topic_structure/topics_per_input",
        _LEARNED | {"model": "bert-512-of-2-sixteen"},
        f"Of words to predict {_SIXTEEN_INPUTS['pieces_of_two'][1]} knows {{it:2}} nats a word "
        "more than frequencies tell, at the snapshot at which this is surest.",
    ),
    Remark(
        "learned_at_512_pieces_of_two",
        "topic_structure/topics_per_input",
        _LEARNED | {"model": "roberta-512-of-2"},
        f"Of words to predict {_PIECES_OF_TWO['roberta']} knows {{it:2}} nats a word more than "
        "frequencies tell, at the snapshot at which this is surest, a BERT so {bert:2}, a BART of "
        "four million tokens {bart:2}; a RoBERTa that read articles one by one {articles:2}.",
        beside={
            what: _LEARNED | {"model": model}
            for what, model in (
                ("bert", "bert-512-of-2"),
                ("bart", "bart-512-of-2"),
                ("articles", "roberta-512-of-1"),
            )
        },
    ),
    Remark(
        "learned_at_512_electra_pieces_of_two",
        "topic_structure/topics_per_input",
        _LEARNED | {"model": "electra-512-of-2"},
        f"Of words to predict the generator of {_PIECES_OF_TWO['electra']} knows {{it:2}} nats a "
        "word more than frequencies tell, at the snapshot at which this is surest; topics of all "
        "words of the input tell {topics:2}.",
        beside={"topics": _TOPICS_TELL | {"model": "electra-512-of-2"}},
    ),
    _above_null(
        "attention_at_512_roberta_articles",
        "roberta-512-of-1",
        f"in a small RoBERTa {_TEN_MILLION} that read articles one by one words of one topic",
        "attention follows topics where more than a nat a word has been learned",
    ),
    _several(
        "at_512_roberta_pieces_of_two",
        "roberta-512-of-2",
        _PIECES_OF_TWO["roberta"],
        **_MORE,
        predicted="opposite",
    ),
    *(
        _several(
            f"size_{what}",
            f"bert-512-{what}",
            subject,
            "over_usual_size",
            "attention follows topics in larger models",
            **_comparing(f"attends {{}}more within topics than one {usual}"),
            predicted=predicted,
        )
        for what, subject, usual, predicted in (
            ("deep", "a small BERT of four layers", "of two layers", "reproduced"),
            ("wide", "a small BERT of 256 dimensions", "of 128 dimensions", "reproduced"),
            ("dropout", "a small BERT trained with dropout", "trained without", "undecided"),
        )
    ),
    *(
        values
        for name, model, subject in (
            ("bert_of_one", "bert-512-bag-of-1", f"a small BERT {_READ_AT_512['one']}"),
            ("bert", "bert-512-bag-of-4", f"a small BERT {_READ_AT_512['four']}"),
            ("roberta", "roberta-512-bag-of-4", f"a small RoBERTa {_READ_AT_512['four']}"),
            ("bart", "bart-512-bag-of-4", f"a small BART {_READ_AT_512['four']}"),
            ("pieces", "bert-512-of-4", f"a small BERT {_READ_FOUR}, up to 512 tokens,"),
            ("bert_anew", "bert-512-bag-of-4-anew", f"{_NEVER_TWICE} {_READ_AT_512['four']}"),
            (
                "bert_longer_one_layer_of_two",
                "bert-512-one-layer-bag-of-2-longer",
                f"a small BERT of one layer {_LONGER} {_READ_AT_512['two']}",
            ),
        )
        for values in _values(f"at_512_{name}", model, subject)[:1]
    ),
    *_values(
        "at_512_bert_longer_of_two",
        "bert-512-bag-of-2-longer",
        f"a small BERT {_LONGER} {_READ_AT_512['two']}",
    ),
    *_values(
        "at_512_electra_of_one", "electra-512-bag-of-1", f"a small ELECTRA {_READ_AT_512['one']}"
    ),
    _above_null(
        "attention_at_512_electra_of_two",
        "electra-512-bag-of-2",
        f"in a small ELECTRA {_READ_AT_512['two']} words of one topic",
        _OF_SEVERAL,
    ),
    *(
        _above_null(
            name,
            model,
            f"in a small BERT {_READ_DRAWN}, {budget} (the positive control), words of one topic "
            "in articles",
            _CONTROL,
        )
        for name, model, budget in (
            ("drawn_topics", "bert-drawn-as-long", "as many as others read of articles"),
            ("drawn_topics_longer", "bert-drawn-of-4", "more than others read of articles"),
        )
    ),
    _control_on_inputs("drawn_topics_in_inputs", "bert-drawn-as-long", "a small BERT"),
    _control_on_inputs(
        "drawn_topics_sixteen", "bert-512-drawn-of-4-sixteen", f"a small BERT {_SIXTEEN}"
    ),
    _control_on_inputs("drawn_topics_in_sight", "bert-seen-drawn", f"a small BERT {_IN_SIGHT} and"),
    _control_on_inputs("drawn_topics_electra", "electra-drawn", "a small ELECTRA"),
    *(
        _above_null(
            f"drawn_of_{of}_electra",
            f"electra-drawn-of-{number}",
            f"in a small ELECTRA that read words drawn from {topics} in each input words of one "
            "topic in articles",
            _GROWS_WITH_TOPICS,
            predicted="undecided" if number == 1 else "reproduced",
        )
        for of, number, topics in _DRAWN
    ),
    Remark(
        "learned_drawn_topics_electra",
        "topic_structure/topics_per_input",
        _LEARNED | {"model": "electra-drawn-of-1"},
        "Of hidden words a small ELECTRA that read words drawn from one topic in each input knows "
        "{it:2} nats a word more than frequencies tell, at the snapshot at which this is surest, "
        "of the {it_tell:2} that topics do; one that read words of two topics {two:2} of "
        "{two_tell:2}, of four {four:2} of {four_tell:2}.",
        beside={
            "it_tell": _TOPICS_TELL | {"model": "electra-drawn-of-1"},
            "two": _LEARNED | {"model": "electra-drawn-of-2"},
            "two_tell": _TOPICS_TELL | {"model": "electra-drawn-of-2"},
            "four": _LEARNED | {"model": "electra-drawn-of-4"},
            "four_tell": _TOPICS_TELL | {"model": "electra-drawn-of-4"},
        },
    ),
    *(
        _several(
            f"over_one_topic_electra_of_{of}",
            f"electra-drawn-of-{number}",
            f"a small ELECTRA that read words drawn from {topics} in each input",
            "over_one_topic",
            _GROWS_WITH_TOPICS,
            **_comparing("attends {}more within topics than one that read words drawn from one"),
        )
        for of, number, topics in _DRAWN[1:]
    ),
    _control_on_inputs(
        "drawn_topics_every_word",
        "bert-asked-drawn",
        "a small BERT that was asked of every word and",
        predicted="opposite",
    ),
    _control_on_inputs("drawn_topics_untied", "bert-untied-drawn", f"a small BERT {_UNTIED} and"),
    _above_null(
        "topics_after_untied",
        "bert-untied",
        f"in a small BERT {_UNTIED} words of one topic",
        "attention follows topics where embeddings are not the output layer",
    ),
    _control_on_inputs(
        "drawn_topics_tied", "bert-tied-drawn", "a small BERT", predicted="opposite"
    ),
    _several(
        "untied_output_layer",
        "bert-untied-drawn",
        f"a small BERT {_UNTIED} and {_READ_DRAWN}",
        "over_tied_embeddings",
        "attention follows topics less where embeddings are the output layer",
        "inputs, words of one article",
        **_comparing("attends {}more within topics of such inputs than one whose embeddings are"),
    ),
    *(
        one
        for what, subject, above, more in (
            ("kept", _SEEN_AS_THEY_ARE, "reproduced", "reproduced"),
            ("replaced", _SEEN_REPLACED, "opposite", "opposite"),
            ("masked", _ALL_MASKED, "opposite", "undecided"),
        )
        for one in (
            _control_on_inputs(
                f"drawn_topics_{what}",
                f"bert-{what}-drawn",
                f"a small BERT {subject} and",
                predicted=above,
            ),
            _several(
                f"{what}_words",
                f"bert-{what}-drawn",
                f"a small BERT {subject} and {_READ_DRAWN}",
                "over_usual_masks",
                _MASKS,
                "inputs, words of one article",
                **_THAN_USUAL,
                predicted=more,
            ),
        )
    ),
    Remark(
        "learned_masked",
        "topic_structure/topics_per_input",
        _LEARNED | {"model": "bert-masked-drawn"},
        f"Of words behind masks a small BERT {_ALL_MASKED}, and {_READ_DRAWN}, knows {{it:2}} nats "
        "a word more than frequencies tell, at the snapshot at which this is surest; one that sees "
        "some of them replaced {replaced:2}, one that sees some as they are {kept:2}, one with the "
        "usual masks {usual:2}.",
        beside={
            what: _LEARNED | {"model": f"bert-{model}-drawn"}
            for what, model in (("replaced", "replaced"), ("kept", "kept"), ("usual", "tied"))
        },
    ),
    Remark(
        "learned_few_kept",
        "topic_structure/topics_per_input",
        _LEARNED | {"model": "bert-few-kept-drawn"},
        f"Of words behind masks a small BERT {_FEW_KEPT} that read words drawn from four topics in "
        "each input, knows {it:2} nats a word more than frequencies tell, at the snapshot at which "
        f"this is surest; one {_ALL_MASKED}, and {_UNTIED}, {{untied:2}}.",
        beside={"untied": _LEARNED | {"model": "bert-masked-untied-drawn"}},
    ),
    _control_on_inputs(
        "drawn_topics_few_kept",
        "bert-few-kept-drawn",
        f"a small BERT {_FEW_KEPT}",
        predicted="opposite",
    ),
    _several(
        "kept_words_in_articles",
        "bert-kept",
        f"a small BERT {_SEEN_AS_THEY_ARE} and that read articles one by one",
        "over_usual_masks",
        _MASKS,
        **_THAN_USUAL,
    ),
    _above_null(
        "topics_after_kept_words",
        "bert-kept",
        f"in a small BERT {_SEEN_AS_THEY_ARE} and that read articles one by one, words of one "
        "topic",
        _MASKS,
    ),
    _control_on_inputs("drawn_topics_more_text", "bert-drawn-longer", _MORE_TEXT),
    *_values("drawn_topics_more_text", "bert-drawn-longer", f"{_MORE_TEXT} {_READ_DRAWN}"),
    Remark(
        "drawn_topics_over_tokens",
        "topic_structure/topic_structure_over_tokens",
        _FOLLOWED | {"tokens_seen": 4194824},
        f"In {_MORE_TEXT} {_READ_DRAWN}, words of one topic in articles attend to each other "
        "{it:2} times as much as equally frequent words of permuted topics after four million "
        "tokens, {eight:2} times after eight and {end:2} times at the end.",
        beside={
            "eight": _FOLLOWED | {"tokens_seen": 8388972},
            "end": _FOLLOWED | {"tokens_seen": 24000597},
        },
    ),
    _several(
        "words_in_sight",
        "bert-seen",
        f"a small BERT {_IN_SIGHT}",
        "over_usual_masks",
        _ASKED_OF_SEEN,
        **_THAN_USUAL,
    ),
    _above_null(
        "topics_after_words_in_sight",
        "bert-seen",
        f"in a small BERT {_IN_SIGHT} words of one topic",
        _ASKED_OF_SEEN,
    ),
    *(
        finding
        for family, subject in _SMALL.items()
        for finding in _values(family, f"{family}-here", subject)
    ),
    *_values("several_articles", "bert-of-4", f"a small BERT {_READ_FOUR}"),
    *_values("several_articles_longer", "bert-of-4-longer", f"a small BERT {_READ_LONGER}"),
    *_values("bags_of_one", "bert-bag-of-1", _OF_BAGS.format("single articles")),
    *_values("bags_of_four", "bert-bag-of-4", _OF_BAGS.format("four articles")),
    *_values("drawn_topics_longer", "bert-drawn-of-4", f"a small BERT {_READ_DRAWN}"),
    *_values("drawn_topics_electra", "electra-drawn", f"a small ELECTRA {_READ_DRAWN}"),
    *_choices("minilm", _MINILM),
    *_choices("mpnet", _MPNET, "_mpnet"),
    _heads_of("minilm", "MiniLM"),
    _heads_of("mpnet", "MPNet"),
    Remark(
        "topic_models_minilm",
        "topic_structure/topic_model_robustness",
        {
            "model": "minilm",
            "backend": ALL,
            "topics": ALL,
            "seed": ALL,
            "quantity": (
                "attention_ratio_null_corrected_min",
                "attention_ratio_null_corrected_max",
            ),
        },
        "Under {it.n} topic models words of one topic attend to each other {it:2} times as much in "
        "MiniLM as words of permuted topics do.",
    ),
]

FINDINGS = [*WIKIPEDIA, *SYNTHETIC]
