"""What came out of Li, Li & Risteski (2023), as sentences on the rows of its tables.

Of each model of the paper's table, and of what stands in for it, one ratio is named:
attention, and the cosine of embeddings, at the paper's first threshold, with disjoint topics.
"""

from onelayer.evidence.findings import ALL, BEYOND, Finding, Published, Remark, Rows
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
_BUDGET = "it has read far less text than the paper's checkpoint"
_MINILM = "MiniLM (a small BERT tuned on pairs of sentences)"
_ATTENTION = {
    "claim": "words of one topic attend more to each other than words of different topics",
    "does": "attend to each other more than equally frequent words of permuted topics",
    "does_not": "attend to each other no more than equally frequent words of permuted topics",
    "number": "{it.corrected:3} times as much",
}
_COSINE = {
    "claim": "embeddings of words of one topic are more alike than those of different topics",
    "does": "have more similar embeddings than equally frequent words of permuted topics",
    "does_not": "have no more similar embeddings than equally frequent words of permuted topics",
    "number": "a cosine {it.corrected:3} times as large",
}
_QUANTITIES = {
    "attention": ("attention_ratio", _ATTENTION),
    "embeddings": ("embedding_cosine_ratio", _COSINE),
}


def _ratio(
    what: str,
    model: str,
    subject: str,
    name: str,
    kind: str,
    row: str,
    overlap: str = "disjoint",
    why: str = "",
) -> Finding:
    """A ratio of one model at the first threshold, beside a row of the published table."""
    shared = "" if overlap == "disjoint" else ", where topics overlap,"
    quantity, words = _QUANTITIES[what]
    published = {"overlap": overlap, "model": row, "threshold": f"{_FIRST:g}"}
    return Finding(
        name=f"{what}_{name}",
        place=f"{_PLACE}: {overlap} topics",
        kind=kind,
        table=f"topic_structure/wikipedia_{overlap}",
        primary={
            "model": model,
            "published_threshold": _FIRST,
            "seed": ALL,
            "quantity": quantity,
        },
        subject=f"in {subject} words of one topic{shared}",
        published=Published("topic_structure_wikipedia.csv", published, quantity),
        why=why,
        **words,
    )


def _papers_own(what: str) -> list[Finding]:
    """The paper's five checkpoints."""
    return [
        _ratio(what, family, f"the paper's {name}", family, "published", family)
        for family, name in _FAMILIES.items()
    ]


def _small(what: str) -> list[Finding]:
    """Models of the five families that the pipeline pretrains."""
    return [
        _ratio(
            what,
            f"{family}-here",
            f"a small {name} trained for this comparison",
            f"small_{family}",
            "analogue",
            family,
            why=_BUDGET,
        )
        for family, name in _FAMILIES.items()
    ]


def _overlapping() -> list[Finding]:
    """Attention where a word may be of several topics."""
    trained = {
        f"{family}-here": (f"a small {name} trained for this comparison", family, _BUDGET)
        for family, name in _FAMILIES.items()
    }
    models = {"minilm": (_MINILM, "bert", "")} | trained
    return [
        _ratio(
            "attention",
            model,
            whose,
            f"overlapping_{model.removesuffix('-here')}",
            "analogue",
            row,
            overlap="overlapping",
            why=why,
        )
        for model, (whose, row, why) in models.items()
    ]


def _direction(
    name: str, quantity: str, does: str, does_not: str, claim: str, row: Rows
) -> Finding:
    """One of the paper's two directions, in MiniLM."""
    return Finding(
        name=f"{name}_minilm",
        claim=claim,
        place=_PLACE,
        kind="analogue",
        table="topic_structure/wikipedia_claims",
        primary={"model": "minilm", "seed": ALL, "quantity": quantity} | row,
        subject=f"in {_MINILM} the ratio of attention within topics to that between them",
        does=does,
        does_not=does_not,
        number="a difference of {it:2}",
        # A difference of two published ratios; the first of them.
        published=Published(
            "topic_structure_wikipedia.csv",
            {"overlap": "disjoint", "model": "bert", "threshold": f"{_FIRST:g}"},
            "attention_ratio",
        ),
    )


def _control(model: str, like: str, row: str) -> Finding:
    """A model with random weights."""
    quantity, words = _QUANTITIES["attention"]
    return Finding(
        name=f"attention_{model.replace('-', '_')}",
        place=f"{_PLACE}: row of a random BERT",
        kind="control",
        table="topic_structure/wikipedia_disjoint",
        primary={
            "model": model,
            "published_threshold": _FIRST,
            "seed": ALL,
            "quantity": quantity,
        },
        subject=f"in {like} with random weights words of one topic",
        published=Published(
            "topic_structure_wikipedia.csv",
            {"overlap": "disjoint", "model": row, "threshold": f"{_FIRST:g}"},
            quantity,
        ),
        **words
        | {
            "claim": "a random model shows no topic structure in attention",
            "number": "{it.corrected:4} times as much",
        },
    )


def _heads(family: str, name: str) -> Finding:
    """Whether the heads of the largest ratios matter more than others."""
    return Finding(
        name=f"heads_{family}",
        claim="attention encodes topics: what attends within topics is used for words of a topic",
        place=BEYOND,
        kind="analogue",
        table="topic_structure/head_removal",
        primary={
            "model": f"{family}-here",
            "removal": "zero",
            "words": "same_topic",
            "seed": ALL,
            "quantity": "largest_minus_random",
        },
        subject=f"a small {name} trained for this comparison",
        does="does worse on words whose topic the text shows without the heads that attend most "
        "within topics than without as many others",
        does_not="does no worse on words whose topic the text shows without the heads that attend "
        "most within topics than without as many others",
        number="a difference of {it:4} nats a word",
    )


WIKIPEDIA: list[Finding | Remark] = [
    *_papers_own("attention"),
    *_papers_own("embeddings"),
    _ratio("attention", "minilm", _MINILM, "minilm", "analogue", "bert"),
    *_small("attention"),
    _ratio("embeddings", "minilm", _MINILM, "minilm", "analogue", "bert"),
    *_small("embeddings"),
    *_overlapping(),
    _direction(
        "threshold",
        "attention_ratio_tightest_minus_loosest",
        "falls as the threshold loosens",
        "does not fall as the threshold loosens",
        "attention ratios are larger at tighter thresholds",
        {"overlap": "disjoint"},
    ),
    _direction(
        "overlap",
        "attention_ratio_disjoint_minus_overlapping",
        "is larger where topics share no words",
        "is no larger where topics share no words",
        "attention ratios are larger for disjoint topics",
        {"published_threshold": _FIRST},
    ),
    _control("random", "a BERT", "bert"),
    *[_control(f"random-{family}", f"a small {name}", family) for family, name in
      _FAMILIES.items()],
    *[_heads(family, name) for family, name in _FAMILIES.items()],
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
        "MiniLM as permuted topics would.",
    ),
]  # fmt: skip

FINDINGS = [*WIKIPEDIA, *SYNTHETIC]
