"""What came out of Li, Li & Risteski (2023), as sentences on the rows of its tables."""

from onelayer.findings import Finding
from onelayer.tables import ALL

_CLAIMS = "topic_structure/claims"
_OVER_SETTINGS = (
    "{it.within} of {it.rows} gaps of W_V and E are the theorems' to .7% in documents of finite "
    "length; for W_V {exact.within} of {exact.rows} are what is exact for that length."
)
_TIGHTEST, _LOOSEST = {"threshold": "top 20"}, {"threshold": "top 100"}
_SEEDS = tuple(map(str, range(10)))
_DISJOINT = "topic_structure/wikipedia_disjoint"
_FAMILIES = {
    "bert": "BERT",
    "albert": "ALBERT",
    "bart": "BART",
    "electra": "ELECTRA",
    "roberta": "RoBERTa",
}


def _attention_here(family: str, name: str) -> Finding:
    model = {"model": f"{family}-here", "seed": ALL, "quantity": "attention_ratio"}
    return Finding(
        f"attention_{family}_here",
        _DISJOINT,
        model,
        holds=f"{name}, pretrained here, shows topic structure in attention: {{tight:2}} with the "
        "top 20 words a topic and {loose:2} with the top 100 (published {tight.published:.2f}), "
        "z {z.value:.1f}, over {seeds.rows} trainings and the documents together.",
        fails=f"{name}, pretrained here, shows none in attention: {{tight:2}} with the top 20 "
        "words a topic (published {tight.published:.2f}), z {z.value:.1f}, over {seeds.rows} "
        "trainings and the documents together.",
        open=f"Whether {name}, pretrained here, shows topic structure in attention is open: "
        "{tight:2} with the top 20 words a topic (published {tight.published:.2f}), "
        "z {z.value:.1f}; its {seeds.rows} trainings lie between {seeds.least:.2f} and "
        "{seeds.most:.2f}.",
        beside={
            "tight": model | _TIGHTEST,
            "loose": model | _LOOSEST,
            "z": model | _TIGHTEST | {"quantity": "attention_ratio_z"},
            "seeds": model | _TIGHTEST | {"seed": _SEEDS},
        },
    )


def _embeddings_here(family: str, name: str) -> Finding:
    model = {"model": f"{family}-here", "seed": ALL}
    ratio = model | {"quantity": "embedding_cosine_ratio"}
    beside = (
        "cosine ratio {tight:3} with the top 20 words a topic (published {tight.published:.2f}), "
        "{corrected:3} times what permuted topics give (z {z.value:.1f})."
    )
    return Finding(
        f"embeddings_{family}_here",
        _DISJOINT,
        ratio,
        holds=f"In the embedding layer of {name}, pretrained here, words of one topic are closer "
        f"than words of different topics: {beside}",
        fails=f"In the embedding layer of {name}, pretrained here, words of one topic are not "
        f"closer than words of different topics: {beside}",
        open=f"Whether words of one topic are closer in the embedding layer of {name}, pretrained "
        f"here, is open: {beside}",
        beside={
            "tight": ratio | _TIGHTEST,
            "corrected": model | _TIGHTEST | {"quantity": "embedding_cosine_ratio_null_corrected"},
            "z": model | _TIGHTEST | {"quantity": "embedding_cosine_ratio_z"},
        },
    )


def _heads(name: str, whose: str, families: tuple[str, ...]) -> Finding:
    """Whether the heads of the largest ratios matter more than others, over models made here."""
    row = {"removal": "zero", "words": "same_topic", "seed": ALL}
    claim = (
        "the loss on words whose topic the text shows grows more without the heads with the "
        "largest topic ratios than without as many others"
    )
    found = "{it:3} nats a word more, {it.agree} of {it.rows}"
    return Finding(
        name,
        "topic_structure/head_removal",
        {"model": tuple(f"{family}-here" for family in families)}
        | row
        | {"quantity": "largest_minus_random"},
        holds=f"In {whose}, pretrained here, {claim}: by {{it:3}} nats a word.",
        fails=f"In {whose}, pretrained here, {claim} nowhere: {found}.",
        mixed=f"In {whose}, pretrained here, {claim} in some: {found}.",
        open=f"Whether in {whose}, pretrained here, {claim} is open: {found}.",
    )


_TOPICS_SUFFER = (
    "the loss without the heads with the largest topic ratios grows more on words whose topic the "
    "text shows than on other words"
)
_MINILM = {"model": "minilm", "seed": ALL, "quantity": "attention_ratio"}
_OPTIMIZERS = {"accounting": "correct", "quantity": "topic_to_different_ratio"}

FINDINGS = [
    Finding(
        "attention_minilm",
        _DISJOINT,
        _MINILM,
        holds="In MiniLM words of one topic attend to each other {tight:2} times as much as words "
        "of different topics (top 20 words a topic, disjoint topics), {z.value:.0f} standard "
        "deviations above a null that permutes topics among equally frequent words; with the top "
        "100 it is {loose:2}, and at equal distance between the words {equal:2}.",
        fails="In MiniLM words of one topic do not attend to each other more: {tight:2} times as "
        "much (top 20 words a topic, disjoint topics), z {z.value:.1f}; with the top 100 "
        "{loose:2}; at equal distance {equal:2}.",
        open="Whether words of one topic attend to each other more in MiniLM is open: {tight:2} "
        "times as much (top 20 words a topic, disjoint topics), z {z.value:.1f}; with the top 100 "
        "{loose:2}; at equal distance {equal:2}.",
        beside={
            "tight": _MINILM | _TIGHTEST,
            "loose": _MINILM | _LOOSEST,
            "z": _MINILM | _TIGHTEST | {"quantity": "attention_ratio_z"},
            "equal": _MINILM | _TIGHTEST | {"quantity": "attention_ratio_distance_standardised"},
        },
    ),
    Finding(
        "directions_minilm",
        "topic_structure/wikipedia_claims",
        {"model": "minilm", "seed": ALL},
        holds="Both directions of the paper hold in MiniLM: attention ratios fall as the threshold "
        "loosens, and disjoint topics have larger ones than overlapping ones (all {it.rows} "
        "differences, {it.least:.3f} to {it.most:.3f}).",
        fails="The two directions of the paper do not hold in MiniLM (ratios that fall as the "
        "threshold loosens; larger ones for disjoint topics): none of {it.rows} differences, "
        "{it.least:.3f} to {it.most:.3f}.",
        mixed="Of the two directions of the paper (ratios that fall as the threshold loosens; "
        "larger ones for disjoint topics) {it.agree} of {it.rows} differences hold in MiniLM.",
        open="The two directions of the paper (ratios that fall as the threshold loosens; larger "
        "ones for disjoint topics) are not settled in MiniLM: {it.agree} of {it.rows} differences "
        "hold, the intervals of the others contain 0.",
    ),
    Finding(
        "attention_random",
        _DISJOINT,
        {"model": "random", "seed": ALL, "quantity": "attention_ratio"},
        holds="With random weights the ratio is {it:3}.",
        fails="With random weights the ratio is {it:3}, where none is expected.",
        open="With random weights the ratio is {it:3}.",
        mixed="With random weights the ratio is {it:3}; only {it.agree} of {it.rows} are 1 within "
        "their interval.",
    ),
    Finding(
        "attention_controls",
        _DISJOINT,
        {
            "model": tuple(f"random-{family}" for family in _FAMILIES),
            "seed": ALL,
            "quantity": "attention_ratio",
        },
        holds="In the random controls of the models pretrained here the attention ratio is {it:3}.",
        fails="In the random controls of the models pretrained here the attention ratio is {it:3}, "
        "where none is expected.",
        open="In the random controls of the models pretrained here the attention ratio is {it:3}.",
        mixed="In the random controls of the models pretrained here the attention ratio is {it:3}; "
        "{it.agree} of {it.rows} agree with no effect.",
    ),
    *[_attention_here(family, name) for family, name in _FAMILIES.items()],
    *[_embeddings_here(family, name) for family, name in _FAMILIES.items()],
    Finding(
        "heads_for_topics",
        "topic_structure/head_removal",
        {
            "model": tuple(f"{family}-here" for family in _FAMILIES),
            "removal": "zero",
            "words": "same_topic - other",
            "seed": ALL,
            "quantity": "increase_largest",
        },
        holds=f"In all {{it.rows}} models pretrained here {_TOPICS_SUFFER}: "
        "by {it:3} nats a word.",
        fails=f"In none of the {{it.rows}} models pretrained here {_TOPICS_SUFFER}: "
        "by {it:3} nats a word.",
        mixed=f"In {{it.agree}} of the {{it.rows}} models pretrained here {_TOPICS_SUFFER}: "
        "by {it:3} nats a word.",
        open=f"In {{it.agree}} of the {{it.rows}} models pretrained here {_TOPICS_SUFFER}, in the "
        "others it is open: by {it:3} nats a word.",
    ),
    _heads("heads_electra", "ELECTRA", ("electra",)),
    _heads(
        "heads_others",
        "BERT, ALBERT, BART and RoBERTa",
        tuple(family for family in _FAMILIES if family != "electra"),
    ),
    Finding(
        "robustness_minilm",
        "topic_structure/topic_model_robustness",
        {"model": "minilm", "seed": _SEEDS, "quantity": "attention_ratio"},
        holds="Under {it.rows} topic models MiniLM's attention ratio is {it:2}, at equal distance "
        "{equal:2}.",
        beside={
            "equal": {
                "model": "minilm",
                "seed": _SEEDS,
                "quantity": "attention_ratio_distance_standardised",
            },
        },
    ),
    Finding(
        "theory_gap",
        "topic_structure/theory_gap",
        {"quantity": "gap", "weight_decay": 0},
        holds="Under uniform attention the same-topic minus different-topic gap of W_V and of the "
        "embeddings is the theorems' {it.published:.4f}, in all {it.rows} ways of solving for it "
        "({it:4}; without weight decay).",
        fails="Under uniform attention the same-topic minus different-topic gap is {it:4} "
        "(theorems: {it.published:.4f}).",
        mixed="Under uniform attention the same-topic minus different-topic gap agrees with the "
        "theorems' {it.published:.4f} in {it.agree} of {it.rows} ways of solving for it ({it:4}).",
        open="Under uniform attention the same-topic minus different-topic gap is {it:4} beside "
        "the theorems' {it.published:.4f}; {it.agree} of {it.rows} ways of solving for it agree.",
    ),
    Finding(
        "two_stages_cross_entropy",
        "topic_structure/two_stage",
        {"setting": "cross-entropy, SGD 2, noise .01", "quantity": "share_in_order"},
        holds="At the rate of the paper's observation (SGD 2, cross-entropy) W_V is at 90% of its "
        "maximum before W_K begins to grow in a share of {it:2} of the runs that do not diverge, "
        "and at 80% in {nearly:2}; {lost:2} diverge.",
        beside={
            "nearly": {
                "setting": "cross-entropy, SGD 2, noise .01",
                "quantity": "share_nearly_in_order",
            },
            "lost": {"setting": "cross-entropy, SGD 2, noise .01", "quantity": "share_diverged"},
        },
    ),
    Finding(
        "two_stages_mean_squared",
        "topic_structure/two_stage",
        {"setting": "mean squared, Adam .003, noise .001", "quantity": "share_in_order"},
        holds="With the mean squared loss and Adam the two stages come in a share of {it:2} of "
        "{it.n} runs.",
    ),
    Finding(
        "attention_by_optimizer",
        "topic_structure/attention_by_optimizer",
        _OPTIMIZERS | {"variant": "layer_norm", "until": "1500 steps"},
        holds="After 1,500 steps the published ratios of same-topic to different-topic attention "
        "come back in the authors' model: {it:2}, all {it.rows} rows.",
        fails="After 1,500 steps the published table of attention by optimiser does not come back "
        "in the authors' model: ratios {it:2}.",
        mixed="After 1,500 steps {it.agree} of the {it.rows} published ratios of same-topic to "
        "different-topic attention come back in the authors' model, {it.within} of them in size "
        "(ours {it:2}).",
        open="After 1,500 steps {it.agree} of the {it.rows} published ratios of same-topic to "
        "different-topic attention come back in the authors' model; the others are open or stand "
        "at uniform attention (ours {it:2}).",
    ),
    Finding(
        "attention_by_optimizer_longer",
        "topic_structure/attention_by_optimizer",
        _OPTIMIZERS | {"variant": "layer_norm", "until": "best held-out loss"},
        holds="At the best held-out loss all {it.rows} of them come back: {it:2}.",
        fails="At the best held-out loss none of them comes back: {it:2}.",
        mixed="At the best held-out loss {it.agree} of {it.rows} come back, {it.within} in size "
        "(ours {it:2}).",
        open="At the best held-out loss {it.agree} of {it.rows} come back, the others are open "
        "(ours {it:2}).",
    ),
    Finding(
        "optimal_attention_grows",
        "topic_structure/stage_two_ratio",
        {"quantity": "least_growth"},
        holds="The best attention puts the more weight on the same topic, the more topics a "
        "document has: the ratio grows from {first.least:.1f} to {last.most:.1f}.",
        fails="The best attention does not put more weight on the same topic where a document has "
        "more topics: least growth {it:2}.",
        open="Whether the best attention puts more weight on the same topic where a document has "
        "more topics is open: least growth {it:2}.",
        mixed="The best attention puts more weight on the same topic where a document has more "
        "topics in {it.agree} of {it.rows} kinds of documents.",
        beside={
            "first": {"quantity": "ratio", "method": "optimum", "tau": "1"},
            "last": {"quantity": "ratio", "method": "optimum", "tau": "7"},
        },
    ),
    Finding(
        "gap_over_settings",
        _CLAIMS,
        {"quantity": "gap_of_setting", "seed": ALL},
        holds=f"Over v, T, p_m, p_c and tau, one at a time, {_OVER_SETTINGS}",
        fails="Over v, T, p_m, p_c and tau there is no gap as the theorems have it: {it:4}.",
        open=f"Over v, T, p_m, p_c and tau some gaps are open; {_OVER_SETTINGS}",
        beside={"exact": {"quantity": "gap_at_length", "seed": ALL}},
    ),
    Finding(
        "weight_decay_unique",
        _CLAIMS,
        {"quantity": "distance_between_starts", "seed": ALL},
        holds="Stage 1 ends at one matrix from every start with weight decay and at different ones "
        "without.",
        fails="Weight decay does not decide whether stage 1 ends at one matrix.",
        mixed="Stage 1 ends as claimed, at one matrix from every start with weight decay and at "
        "different ones without, in {it.agree} of {it.rows} cases.",
        open="Whether weight decay makes stage 1 end at one matrix is open: {it.agree} of "
        "{it.rows} cases agree.",
    ),
    Finding(
        "beta_above_one",
        _CLAIMS,
        {"quantity": "beta", "seed": ALL},
        holds="In the optimal attention beta, the weight of the same word, is above 1 throughout.",
        fails="In the optimal attention beta, the weight of the same word relative to that of "
        "other topics, is above 1 in none of {it.rows} settings.",
        mixed="In the optimal attention beta, the weight of the same word relative to that of "
        "other topics, is above 1 in {it.agree} of {it.rows} settings; elsewhere the optimum puts "
        "less weight on it, often as little as the optimiser may.",
        open="Whether beta is above 1 in the optimal attention is open: it is in {it.agree} of "
        "{it.rows} settings.",
    ),
]
