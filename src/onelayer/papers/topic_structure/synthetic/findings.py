"""Claims of Li, Li & Risteski (2023) on synthetic documents, each with the row that decides it.

Primary rows are the theorem's own object (the optimum without weight decay, infinitely or most long
documents), the released
configuration's budget, and where a theorem speaks of every setting the row that is farthest from
it. Of the two stages the paper names neither loss nor rate: what stands for them is the setting of
ours that comes nearest to its steps.
"""

from onelayer.evidence.findings import ALL, BEYOND, Finding, Published, Remark

_CLAIMS = "topic_structure/claims"
_GAPS = "topic_structure/theory_gap"
_STAGES = "topic_structure/two_stage"
_ATTENTION = "topic_structure/attention_by_optimizer"
_RATIOS = "topic_structure/stage_two_ratio"
_OBSERVED = "Observation: two-stage optimization process"
_NEAREST = "the setting of ours that comes nearest to the paper's steps"
_OVER = {"seed": ALL}
_OWN = {"studied": "setting", "loss": "cross_entropy", "optimizer": "sgd", "learning_rate": 2}
_OWN |= {"noise": 0.01} | _OVER
_IN_ORDER = {"studied": "setting", "quantity": "share_in_order"} | _OVER
_MAP = {"studied": "map", "quantity": "share_of_cells_in_order"} | _OVER
_ADAM, _SGD = {"optimizer": "adam"}, {"optimizer": "sgd"}
_SQUARED = {"loss": "mean_squared", "masked": "attended"}
_SLOWEST_ADAM = _ADAM | {"learning_rate": 0.003}
_RATIO = {"accounting": "correct", "quantity": "topic_to_different_ratio"}
_AUTHORS = _RATIO | {"variant": "layer_norm"}


def _over_seeds(quantity: str, kind: str = "claim") -> dict:
    """What decides: the one row that the table of claims has of a quantity over seeds."""
    return {"kind": kind, "table": _CLAIMS, "primary": {"quantity": quantity} | _OVER}


def _gap(name: str, parameter: str, matrix: str, place: str) -> Finding:
    optimum = {"parameter": parameter, "masked": "attended", "loss": "squared"}
    optimum |= {"optimizer": "closed form", "weight_decay": 0, "quantity": "gap"}
    return Finding(
        name,
        claim=f"the optimal {matrix} is larger within a topic by 1 / (v (1 - (1 - p_c) p_m))",
        place=place,
        kind="theory",
        table=_GAPS,
        primary=optimum,
        subject=f"under uniform attention the optimal {matrix}",
        does="is larger for two words of one topic by what the theorem says",
        number="{it:5}",
    )


def _median_step(name: str, quantity: str, stage: str, event: str) -> Remark:
    """A step between the two stages, in a setting that was chosen because it comes near."""
    return Remark(
        name,
        _STAGES,
        _OWN | {"quantity": quantity},
        f"In {_NEAREST} the median step at which {event} is {{it:0}} (the paper: {stage}).",
    )


def _attention(optimizer: str, title: str, rate: float) -> Finding:
    """A row of the published table, at the budget of the released configuration."""
    row = _AUTHORS | {"optimizer": optimizer, "learning_rate": rate}
    return Finding(
        f"attention_{optimizer}_{str(rate).partition('.')[2]}",
        claim="words attend more to other words of their topic than to words of other topics "
        f"({title}, learning rate {rate:g})",
        place="Stage 2 result, table of average attention",
        kind="published",
        table=_ATTENTION,
        primary=row | {"budget": "released"},
        subject=f"the authors' model trained with {title} at rate {rate:g}, for as long as their "
        "released configuration says, and looked at by each word's own topic,",
        also="after fewer steps {short.value:.2f}, and then with each word's topic read four words "
        "too far, as in their code, {shifted.value:.2f} ({shifted.verdict})",
        beside={
            "short": row | {"budget": "table"},
            "shifted": row | {"budget": "table", "accounting": "shifted"},
        },
        does="attends more to other words of a topic than to words of other topics",
        number="{it:2} times as much",
        published=Published(
            "topic_structure_attention.csv",
            {"optimizer": title, "learning_rate": f"{rate:g}"},
            "same_topic_mean",
        ),
    )


def _blocks(name: str, quantity: str, fewer: str, width: str) -> Finding:
    """Topics in E with all components trained, the least over losses and optimisers."""
    return Finding(
        name,
        claim=f"with all components trained{fewer} E is larger for words of one topic",
        place="Figure 1",
        **_over_seeds(quantity),
        subject=f"with all components trained, and embeddings {width}, E",
        does="is larger for different words of one topic, under every loss and optimiser",
        does_not="is not larger for different words of one topic under every loss and optimiser",
        number="by at least {it:3}",
    )


_STREAM = " with a residual stream and embeddings that are its output layer"
_SEEN = {
    "usual": "where words to predict are masked, some kept and as many replaced",
    "kept": "where words to predict are masked or kept",
    "replaced": "where words to predict are masked or replaced",
    "masked": "where words to predict are all masked",
}
_OVER_MASKS = {"quantity": "ratio", "tau": 4}
# What a pilot of three runs had shown where there is a stream; of one-hot words without, nothing.
_MASKS = [
    *(
        (model, what, masks, f"_{masks}", seen, "table", predicted)
        for model, what, expected in (
            ("one_hot", "", ("reproduced", "reproduced", "negligible", "negligible")),
            ("stream", _STREAM, ("opposite", "reproduced", "opposite", "opposite")),
        )
        for (masks, seen), predicted in zip(_SEEN.items(), expected, strict=True)
    ),
    ("stream", _STREAM, "usual", "_longer", _SEEN["usual"], "last", "reproduced"),
]


FINDINGS: list[Finding | Remark] = [
    _gap("gap_of_values", "W_V", "W_V", "Stage 1 result"),
    _gap("gap_of_embeddings", "E", "E = W_E^T W_E", "Result: embeddings encode topic structure"),
    Finding(
        "gap_over_settings",
        claim="the gap is 1 / (v (1 - (1 - p_c) p_m)), whatever v, T, p_m, p_c and tau are",
        place="Result: embeddings encode topic structure; Stage 1 result",
        **_over_seeds("farthest_gap_to_theory_ratio", kind="theory"),
        subject="of all gaps over v, T, p_m, p_c and tau the one farthest outside what the finite "
        "length of documents explains",
        does="is the theorem's",
        number="{it:4} of it at {it.setting}, among {all.rows} gaps",
        beside={"all": {"quantity": "gap_of_setting"} | _OVER},
    ),
    Finding(
        "two_stages",
        claim="optimisation can be broken down into two stages: W_V first, then W_K and W_Q",
        place=_OBSERVED,
        kind="claim",
        table=_STAGES,
        primary=_OWN | _IN_ORDER,
        subject=f"in {_NEAREST} W_V",
        does="is at 90% of its largest norm before W_K begins to grow in most runs that go through",
        number="in a share of {it:2} of {it.n}",
    ),
    _median_step(
        "stage_1_ends",
        "t_V_median",
        "stage 1, in which its norm grows, is steps 0 to 400",
        "W_V reaches 90% of its largest norm",
    ),
    Remark(
        "stage_1_ends_twice",
        _STAGES,
        _OWN | {"quantity": "t_V_quartile_1"},
        "There a quarter of the runs has W_V at 90% of its largest norm by step {it:0}, and "
        "another quarter only after step {late:0}.",
        beside={"late": _OWN | {"quantity": "t_V_quartile_3"}},
    ),
    _median_step(
        "stage_2_begins",
        "t_KQ_median",
        "stage 2, in which it grows, is steps 400 to 1000",
        "W_K begins to grow",
    ),
    Remark(
        "two_stages_adam",
        _STAGES,
        _MAP | _ADAM | {"loss": "cross_entropy"},
        "With cross-entropy and Adam the authors' model has two stages, W_V first and then W_K and "
        "W_Q, at a share of {it.value:.2f} of {it.n} pairs of learning rate and initial weights, "
        "with SGD at {sgd.value:.2f} of {sgd.n}.",
        beside={"sgd": _MAP | _SGD | {"loss": "cross_entropy"}},
    ),
    Remark(
        "two_stages_adam_squared",
        _STAGES,
        _MAP | _ADAM | _SQUARED,
        "With one-hot words, the mean squared loss and Adam two stages come at a share of "
        "{it.value:.2f} of {it.n} such pairs, where masked words are among those attended to, as "
        "the paper defines it, and at {hidden.value:.2f} of them where masked words are hidden, as "
        "in the authors' code; at one pair in {one.value:.2f} and in {one_hidden.value:.2f} of "
        "{one.n} runs.",
        beside={
            "hidden": _MAP | _ADAM | _SQUARED | {"masked": "hidden"},
            "one": _IN_ORDER | _ADAM | _SQUARED,
            "one_hidden": _IN_ORDER | _ADAM | _SQUARED | {"masked": "hidden"},
        },
    ),
    Finding(
        "gradient_of_keys",
        claim="the gradient of W_K is near 0 in stage 1",
        place="Intuition: two-stage optimization process",
        **_over_seeds("largest_gradient_ratio_in_stage_1"),
        subject="at every look in stage 1 the gradient of W_K",
        does="is less than a tenth of that of W_V",
        number="at most {it:3} of it on average over {it.n} runs",
    ),
    Finding(
        "weight_decay_unique",
        claim="weight decay makes the optimum of W_V unique",
        place="Stage 1 result",
        **_over_seeds("largest_distance_between_starts"),
        subject="with weight decay W_V",
        does="ends at one matrix from every start",
        number="{it.n} ends lie {it.value:.0e} of the starts' distance apart on average",
    ),
    Finding(
        "no_weight_decay_not_unique",
        claim="without weight decay the loss of W_V is not strongly convex",
        place="Stage 1 result",
        kind="claim",
        table=_CLAIMS,
        primary=_OVER
        | {
            "quantity": "distance_between_starts",
            "setting": "W_V, weight decay 0, infinitely long documents",
        },
        subject="without weight decay, in infinitely long documents, W_V",
        does="ends at another matrix from every start",
        number="{it.n} ends lie {it:2} of the starts' distance apart on average",
    ),
    Finding(
        "stage_1_converges",
        claim="stage 1 is convex, so that training converges",
        place="The two-stage optimization process",
        **_over_seeds("largest_distance_to_optimum"),
        subject="descent on W_V alone with weight decay",
        does="comes to the optimum from every start",
        number="{it.n} ends lie {it.value:.0e} of its norm away on average",
    ),
    *(_attention("adam", "Adam", rate) for rate in (0.003, 0.01, 0.03)),
    *(_attention("sgd", "SGD", rate) for rate in (0.01, 0.03)),
    Remark(
        "attention_sgd_longest",
        _ATTENTION,
        _AUTHORS | _SGD | {"budget": "last", "learning_rate": 0.03},
        "After {it.until} the authors' model trained with SGD at rate 0.03 attends {it:2} times as "
        "much to other words of a topic as to words of other topics, over {it.n} runs, which is "
        "{it.verdict} beside the published number.",
    ),
    Remark(
        "attention_adam",
        _ATTENTION,
        _AUTHORS | _ADAM | {"budget": "released"},
        "At the paper's three learning rates of Adam, trained for as long as the authors' released "
        "configuration says, their model attends {it:2} times as much to other words of a topic as "
        "to words of other topics (published: {it.printed:2}); after {shifted.until}, with each "
        "word's topic read four words too far, as in their code, {shifted:2}.",
        beside={"shifted": _AUTHORS | _ADAM | {"budget": "table", "accounting": "shifted"}},
    ),
    Remark(
        "attention_short",
        _ATTENTION,
        _AUTHORS | _ADAM | {"budget": "table"},
        "After {it.until} with Adam, at the paper's three rates, the authors' model attends {it:2} "
        "times as much to other words of a topic as to words of other topics (published: "
        "{it.printed:2}).",
    ),
    Finding(
        "attention_with_frozen_values",
        claim="with W_V at its optimum training makes words attend more to other words of their "
        "topic",
        place=BEYOND,  # of stage 2 the paper characterises the optimum, not training
        kind="claim",
        table=_ATTENTION,
        primary=_RATIO | _SLOWEST_ADAM | {"variant": "frozen_value"},
        subject="with W_V frozen at stage 1's optimum, training W_K and W_Q",
        does="makes words attend more to other words of their topic than to words of other topics",
        number="{it:2} times as much",
    ),
    *(
        Finding(
            f"attention_past_{variant}",
            claim="words attend more to other words of their topic where a residual stream passes "
            "attention by",
            place=BEYOND,
            kind="analogue",
            table=_ATTENTION,
            primary=_RATIO | _SLOWEST_ADAM | {"variant": variant},
            subject=f"on documents of two topics, in the paper's model with {what} and a residual "
            "stream, words",
            does="attend more to other words of their topic than to words of other topics",
            number="{it:2} times as much",
            also="{without.value:.2f} without that stream",
            beside={"without": _RATIO | _SLOWEST_ADAM | {"variant": without}},
            predicted=predicted,
        )
        for variant, without, what, predicted in (
            ("residual", "one_hot_two_topics", "one-hot embeddings", "negligible"),
            ("tied_residual", "tied", "trained embeddings that are its output layer", "opposite"),
        )
    ),
    *(
        Finding(
            f"masks_in_theory_{model}{name}",
            claim="which words to predict stay in sight decides where attention goes",
            place=BEYOND,
            kind="analogue",
            table=_ATTENTION,
            primary=_RATIO | _SLOWEST_ADAM | {"variant": f"{model}_{masks}", "budget": budget},
            subject=f"on documents of four topics, in the paper's model{what}, {seen}, words",
            does="attend more to other words of their topic than to words of other topics",
            number="{it:2} times as much, after {it.until}",
            predicted=predicted,
        )
        for model, what, masks, name, seen, budget, predicted in _MASKS
    ),
    Finding(
        "optimum_without_kept_words",
        claim="the attention of a pair of words is larger when both belong to one topic, whatever "
        "share of the words to predict is kept",
        place=BEYOND,
        kind="claim",
        table="topic_structure/over_masks",
        primary=_OVER_MASKS | {"kept": 0},
        subject="in long documents of four topics, where no word to predict is kept, the optimal "
        "attention",
        does="is larger for two words of one topic than of two",
        number="{it:2} times as large; {half:2} times where as many are kept as replaced, {all:2} "
        "where none is replaced",
        beside={"half": _OVER_MASKS | {"kept": 0.5}, "all": _OVER_MASKS | {"kept": 1}},
        predicted="negligible",
    ),
    Finding(
        "optimal_attention",
        claim="the attention of a pair of words is larger when both belong to one topic",
        place="Main result 2",
        **_over_seeds("least_alpha"),
        subject="in short documents of several topics the optimal attention",
        does="is larger for two different words of one topic than of two",
        number="{it:1} times as large at {it.setting}, {it.note}",
    ),
    Remark(
        "optimal_attention_one_topic",
        _CLAIMS,
        {"quantity": "least_alpha_of_one_topic"} | _OVER,
        "In documents of one topic the optimal attention to another word of it is {it:3} times "
        "that to words of other topics, and the theorem's mean over all words of the topic "
        "{mean:3}.",
        beside={"mean": {"quantity": "least_ratio_of_one_topic"} | _OVER},
    ),
    Finding(
        "optimal_attention_grows",
        claim="more topics in a document: more attention to the same topic",
        place="Stage 2 result",
        kind="claim",
        table=_RATIOS,
        primary={"documents": "long", "quantity": "least_growth"},
        subject="the optimal ratio of attention to the same topic, the word itself included, to "
        "that to different topics in long documents",
        does="grows from every number of topics in a document that was tried to the next",
        number="by at least {it:2}",
    ),
    Remark(
        "beta_above_one",
        _CLAIMS,
        {"quantity": "beta"} | _OVER,
        "The paper asks whether the optimal attention to the same word is larger than to words of "
        "other topics: it is {it.least:.2f} (the least that the search allows) to {it.most:.2f} "
        "times as large in {it.rows} settings.",
    ),
    _blocks(
        "blocks_with_all_trained", "least_gap_without_diagonal", "", "as wide as the vocabulary"
    ),
    _blocks(
        "blocks_of_small_embeddings",
        "least_gap_of_small_embeddings",
        " and fewer dimensions than words",
        "of fewer dimensions than words",
    ),
    Remark(
        "brackets_values",
        _CLAIMS,
        {"quantity": "W_V_gap"} | _OVER,
        "Of bracket words the optimal W_V is larger within a type of brackets by {it:3}; the "
        "theorem's argument gives {it.published:.3f} for words of this length.",
    ),
    *(
        Finding(
            f"brackets_{name}",
            claim=f"of bracket words attention favours {favoured}",
            place="Interesting future directions",
            **_over_seeds(f"{quantity}_ratio", kind="analogue"),
            subject="trained attention on bracket words",
            does=f"is larger to {favoured} than to other types",
            contrary=f"is smaller to {favoured} than to other types",
            number="{it:2} times as large",
        )
        for name, quantity, favoured in (
            ("attention", "same_topic", "a bracket's partner"),
            ("same_word", "same_word", "the same bracket"),
        )
    ),
    Finding(
        "ratio_linear_in_tau",
        claim="the optimal attention ratio grows in proportion to tau where T / tau is large",
        place=BEYOND,
        kind="analogue",
        table="all_papers/exponents",
        primary={"quantity": "exponent_of_tau", "nearest": 1},
        subject="the optimal attention ratio at the largest T / tau",
        does="grows in proportion to tau, as the theorem's lower bound does",
        does_not="does not grow in proportion to tau, which the theorem's lower bound does",
        number="as tau to the power of {it:2} at {it.setting}",
        also="the power rises with the number of topics, from {all.least:.2f}; whether it rises "
        "further was not tried",
        beside={"all": {"quantity": "exponent_of_tau"}},
    ),
    Finding(
        "brackets_stages",
        claim="on bracket words W_V is trained before W_K begins to grow",
        place="Interesting future directions",
        **_over_seeds("t_KQ_minus_t_V", kind="analogue"),
        subject="on bracket words W_K",
        does="begins to grow after W_V is at 90% of its largest norm",
        contrary="begins to grow before W_V is at 90% of its largest norm",
        number="{it:0} steps after that",
    ),
]
