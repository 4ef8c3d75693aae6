"""The claims of Tian et al. (2023), each with the row that decides it, and what else is told.

Of each claim the row is that of the paper's own figure: all 64 cells of Fig. 6 together, for the
effect of training on entropy by the one rule, since no cell is more the paper's than another; the
mean over its panels for what a rate does, and the weakest panel for what it does in all of them;
the first iterations as many as the paper's in Fig. 4; of an assumption the change that is farthest
from it, judged by the abstract's last statement; of real text the paper's own optimizer and rates,
and of its common tokens also the training without positions, as the theory has it, and its twin.
"""

from onelayer.evidence.findings import ALL, BEYOND, Finding, Published, Remark, Rows

_CLAIMS = "scan_snap/claims"
_SYNTHETIC = {"task": "synthetic", "assumption": ""}
# What is pooled over cells stands for all numbers of the file; the first leads there.
_CELLS = Published(
    "scan_snap_figure6.csv", {"num_last": 1, "lr_Z": 0.5, "lr_Y_multiplier": 1}, "published"
)
_WINNER = "goes for the most part to one token"
_SGD = "on real text, trained with the paper's SGD,"


def _finding(
    name: str,
    claim: str,
    primary: Rows,
    subject: str,
    does: str,
    number: str,
    *,
    place: str = "abstract",
    kind: str = "claim",
    **further: object,
) -> Finding:
    return Finding(name, claim, place, kind, _CLAIMS, primary, subject, does, number, **further)


def _on_text(training: str, claim: str, **quantity: str) -> Rows:
    return {"claim": claim, "task": "text", "training": training, "seed": ALL, **quantity}


def _fixed(name: str, claim: str, where: str, keys: Rows, **said: str) -> Finding:
    """Whether attention still moves when it has come to a combination of tokens."""
    return _finding(
        name,
        claim,
        {"quantity": "way_after", **keys},
        f"the combination of tokens in the synthetic task{where}",
        "stays (almost) fixed",
        "from iteration {first.iterations:.0f} to {it.iterations:.0f} attention moves by {it:2} of "
        "the distance that it had come",
        beside={"first": {"quantity": "slowing_down", **keys}},
        does_not="does not stay fixed",
        **said,
    )


def _without(name: str, letter: str, to: tuple[str, str], also: str, where: str) -> Finding:
    place = f"abstract, assumption ({letter})"
    keys = {"assumption": to[0], "changed": to[1]}
    claim = f"a fixed combination also with {also}"
    return _fixed(name, claim, f" with {where}", keys, place=place, kind="analogue")


def _received(
    name: str, claim: str, row: Rows, which: str, does: str, them: str = "them"
) -> Finding:
    """Whether the most frequent tokens of a text lose attention, or the rarest gain it."""
    number = (
        f"after {{it.iterations:.0f}} iterations attention on {them} has changed by {{it:2}}, "
        "uniform attention being 1"
    )
    return _finding(name, claim, row, which, does, number, kind="analogue")


def _common_on_text(name: str, training: str, where: str) -> Finding:
    claim = "common tokens lose attention"
    row = _on_text(training, claim, quantity="received[1–10]_change")
    which = f"on real text, {where}, the ten most frequent tokens"
    return _received(name, f"{claim} on real text, {where}", row, which, "lose attention")


def _entropy_by_rate(
    name: str,
    claim: str,
    quantity: str,
    said: tuple[str, str, str],
    number: str,
    place: str = "Fig. 6",
    **further: object,
) -> Finding:
    rate, side, where = said
    does, row = f"gives attention a {side} entropy {where}", {"quantity": quantity}
    return _finding(name, claim, row, rate, does, number, place=place, **further)


def _by_rate(name: str, whose: str, rate: str) -> Finding:
    return _finding(
        name,
        f"the phase transition is controllable by {whose} learning rate",
        {"quantity": f"{rate}_exponent"},
        "the phase transition",
        f"comes earlier with a larger {rate}",
        f"its time goes as {rate} to the power of {{it:2}}",
    )


def _rest(name: str, rate: float, control: str) -> Finding:
    return Finding(
        name,
        f"attention comes to rest more than with a decoder {control}",
        BEYOND,
        "analogue",
        "scan_snap/rest",
        {"quantity": "slowing_down_over_control", "lr_Y_multiplier": rate},
        "in the synthetic task attention",
        f"comes to rest more than with a decoder {control}",
        "the top token's speed falls by {it:2} powers of ten more",
        also="with that decoder it still falls by {control.value:.2f}",
        beside={"control": {"quantity": "slowing_down", "lr_Y_multiplier": rate}},
        refuted_if_undecided=True,
        # Of the frozen decoder it was predicted as well that attention does not slow down.
        also_predicted="control" if rate == 0 else "",
    )


FINDINGS = [
    _finding(
        "entropies",
        "entropy of attention by learning rates and query tokens",
        {"quantity": "entropy_slope"},
        "training",
        "changes the entropy of attention as in Fig. 6",
        "{it:2} times the published change over {z.n} cells, none of them further than "
        "{z.value:.2f} standard errors from its published mean",
        place="Fig. 6",
        kind="published",
        published=_CELLS,
        beside={"z": {"quantity": "entropy_z_largest"}},
    ),
    _entropy_by_rate(
        "decoder_rate_softens",
        "larger lr_Y/lr_Z, higher entropy",
        "lr_Y_multiplier_difference_mean",
        ("a larger lr_Y/lr_Z", "higher", "on average over the numbers of query tokens"),
        "{it:3} nats from the smallest ratio to the largest",
        kind="published",
        published=_CELLS,
    ),
    _entropy_by_rate(
        "decoder_rate_softens_everywhere",
        "larger lr_Y/lr_Z, higher entropy, at every number of query tokens",
        "lr_Y_multiplier_difference_weakest",
        ("a larger lr_Y/lr_Z", "higher", "at every number of query tokens"),
        "{it:3} nats from the smallest ratio to the largest where there are {it.num_last}",
        why="the paper's own figure does not either",
        also="it has {figure.published:.3f} there",
        beside={"figure": {"quantity": "lr_Y_multiplier_difference", "num_last": 10}},
        place=BEYOND,  # the paper has a trend, and a figure that is so
    ),
    _entropy_by_rate(
        "attention_rate_sharpens",
        "larger lr_Z, sparser attention",
        "lr_Z_difference_mean",
        ("a larger lr_Z", "lower", "on average over the numbers of query tokens"),
        "{it:3} nats from the smallest rate to the largest",
        kind="published",
        published=_CELLS,
    ),
    _finding(
        "common_tokens_lose",
        "common tokens lose attention",
        {"quantity": "common_mass_change", **_SYNTHETIC},
        "in the synthetic task the common tokens",
        "lose attention",
        "their share of it changes by {it:2}",
        place="Fig. 4",
    ),
    _finding(
        "distinct_tokens_gain_in_order",
        "distinct tokens gain in the order of co-occurrence",
        {"quantity": "gain_spearman", **_SYNTHETIC},
        "in the synthetic task distinct tokens",
        "gain attention in the order of their frequency",
        "rank correlation {it:3}",
        also="the rarest ends with {rarest.value:.2f} times its attention, the most frequent with "
        "{most.value:.2f} times",
        beside={
            "rarest": {"quantity": "gain_of_rarest", **_SYNTHETIC},
            "most": {"quantity": "gain_of_most_frequent", **_SYNTHETIC},
        },
        place="Fig. 4",
    ),
    _finding(
        "drops_in_order",
        "attention drops progressively, from low to high co-occurrence",
        {"quantity": "drop_delay[1 to 2]"},
        "in the synthetic task attention",
        "drops from the rarest distinct token first and from the next one later",
        "{it:2} iterations later",
        does_not="does not drop from the rarest distinct token before it drops from the next one",
        also="from {never.value:.0f} of the ten it never drops, and the rarest keeps "
        "{rarest.value:.2f} of its attention",
        beside={
            "never": {"quantity": "tokens_never_dropping"},
            "rarest": {"quantity": "gain_of_rarest", **_SYNTHETIC},
        },
    ),
    Remark(
        "tokens_that_drop",
        _CLAIMS,
        {"quantity": "tokens_dropping"},
        "In the synthetic task attention drops from few of the ten distinct tokens: from "
        "{always.value:.0f} of them in every run, from {never.value:.0f} in none.",
        beside={n: {"quantity": f"tokens_{n}_dropping"} for n in ("always", "never")},
    ),
    _finding(
        "not_winner_take_all",
        "not winner-take-all",
        {"quantity": "largest_attention", **_SYNTHETIC},
        "in the synthetic task attention",
        "is shared among tokens",
        "the largest share is {it:2}",
        contrary=_WINNER,
    ),
    _finding(
        "comes_to_rest",
        "attention decelerates",
        {"quantity": "slowing_down", **_SYNTHETIC},
        "in the synthetic task attention",
        "slows down",
        "from iteration 10 to {it.iterations:.0f} its speed falls by {it:2} powers of ten",
    ),
    _fixed("fixed_combination", "an (almost) fixed combination of tokens is left", "", _SYNTHETIC),
    _by_rate("transition_by_decoder_rate", "the decoder's", "lr_Y"),
    _by_rate("transition_by_attention_rate", "attention's", "lr_Z"),
    _without("with_positions", "a", ("positions", "learned"), "positions", "learned positions"),
    _without("short_inputs", "b", ("length", "8"), "short inputs", "sequences of 8 tokens"),
    _without(
        "slow_decoder",
        "c",
        ("decoder", "0.1"),
        "a decoder that learns slower than attention",
        "a decoder that learns ten times slower than attention",
    ),
    _finding(
        "text_sparse",
        "attention becomes sparse on real text",
        _on_text("aggressive", "attention becomes sparse", quantity="entropy_change"),
        f"{_SGD} attention",
        "becomes sparse",
        "its entropy changes by {it:2} nats",
        place="Fig. 7",
        kind="analogue",
    ),
    _finding(
        "text_not_winner_take_all",
        "not winner-take-all on real text",
        _on_text("aggressive", "not winner-take-all", quantity="top1"),
        f"{_SGD} attention",
        "is shared among tokens",
        "the largest weight comes to {it:2}",
        kind="analogue",
        contrary=_WINNER,
    ),
    _common_on_text("text_common_tokens", "aggressive", "trained with the paper's SGD"),
    _common_on_text("text_common_tokens_adam", "gentle", "trained with Adam"),
    _common_on_text(
        "text_common_tokens_no_positions", "no-positions", "trained with Adam without positions"
    ),
    _received(
        "text_rare_tokens",
        "rare tokens gain attention on real text",
        _on_text("aggressive", "rare tokens gain attention"),
        f"{_SGD} the rarest tokens",
        "gain attention",
        "tokens of ranks {it.ranks} by frequency",
    ),
    Finding(
        "rest_with_frozen_decoder",
        "attention does not come to rest with a decoder frozen at its start",
        BEYOND,
        "analogue",
        "scan_snap/rest",
        {"quantity": "entropy_slowing_down", "lr_Y_multiplier": 0.0},
        "in the synthetic task attention under a decoder frozen at its random start",
        "does not come to rest",
        "the speed of its entropy falls by {it:2} powers of ten, that of the top token, which "
        "loses its attention, by {top.value:.2f}",
        beside={"top": {"quantity": "slowing_down", "lr_Y_multiplier": 0.0}},
        does_not="comes to rest",
    ),
    _rest("rest_by_decoder", 0.0, "frozen at its start"),
    _rest("rest_by_slow_decoder", 0.01, "a hundred times slower"),
    Finding(
        "transition_rescales",
        "the exponents of both learning rates add up to -1 where steps are small",
        BEYOND,
        "analogue",
        "all_papers/exponents",
        {"quantity": "sum_of_exponents", "nearest": 1},
        "the time of the phase transition",
        "goes as the learning rates of both layers together to the power of -1 where they are "
        "small",
        "the power is {it:3} at rates divided by {it.level:.0f}, with {it.tolerance:.2f} granted "
        "for momentum's delay",
        also="at the rates of the figure it is {large.value:.2f}",
        beside={"large": {"quantity": "sum_of_exponents", "level": 1}},
    ),
    Remark(
        "drop_order",
        _CLAIMS,
        {"quantity": tuple(f"drop_delay[{n} to {n + 1}]" for n in (1, 2, 3))},
        "Of the four rarest distinct tokens each falls 1% below its start {it:1} "
        "iterations after the rarer one before it, where both do.",
    ),
    Remark(
        "changed_assumptions",
        _CLAIMS,
        {"quantity": "common_mass_change", "assumption_is": "broken"},
        "With one of the paper's three assumptions broken the common tokens' share of "
        "attention changes by {it:2} ({it.rows} settings).",
    ),
    Remark(
        "kept_assumptions",
        _CLAIMS,
        {"quantity": "common_mass_change", "assumption_is": "kept"},
        "With all three assumptions kept, by longer sequences or a faster decoder than in Fig. 4, "
        "the common tokens' share of attention changes by {it:2} ({it.rows} settings).",
    ),
    Remark(
        "text_adam",
        _CLAIMS,
        _on_text("gentle", "not winner-take-all", quantity="top1"),
        "On real text, trained with Adam, the largest weight comes to {it:2}, with the paper's SGD "
        "to {sgd:2}.",
        beside={"sgd": _on_text("aggressive", "not winner-take-all", quantity="top1")},
    ),
    Remark(
        "text_no_positions",
        _CLAIMS,
        {"quantity": "entropy_without_positions", "training": "no-positions"},
        "On real text, trained with Adam, the entropy of attention without positions "
        "minus that with them is {it:2} nats after {it.iterations:.0f} iterations.",
    ),
]
