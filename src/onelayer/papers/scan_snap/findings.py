"""The claims of Tian et al. (2023), each with the row that decides it, and what else is told.

Of each claim the row is that of the paper's own figure: all 64 cells of Fig. 6 together, for the
effect of training on entropy by the one rule, since no cell is more the paper's than another; the
mean over its panels for what a rate does, and the weakest panel for what it does in all of them;
the first iterations as many as the paper's in Fig. 4; of an assumption the change that is farthest
from it, judged by the abstract's last statement; of real text the paper's own optimizer and rates,
and of its common tokens also the training without positions, as the theory has it, and its twin.
"""

from onelayer.evidence.findings import ALL, Finding, Published, Remark

_CLAIMS = "scan_snap/claims"
_SYNTHETIC = {"task": "synthetic", "assumption": ""}
# What is pooled over cells stands for all numbers of the file; the first leads there.
_CELLS = Published(
    "scan_snap_figure6.csv", {"num_last": 1, "lr_Z": 0.5, "lr_Y_multiplier": 1}, "published"
)
_FURTHER = (
    "from iteration {first.iterations:.0f} to {it.iterations:.0f} attention moves by {it:2} of "
    "the distance that it had come"
)


def _on_text(quantity: str, training: str, claim: str) -> dict[str, object]:
    return {
        "claim": claim,
        "task": "text",
        "training": training,
        "quantity": quantity,
        "seed": ALL,
    }


def _without(name: str, letter: str, changed: tuple[str, str], claim: str, where: str) -> Finding:
    """An assumption that does not hold: whether attention still comes to a fixed combination."""
    changed_to = dict(zip(("assumption", "changed"), changed, strict=True))
    return Finding(
        name=name,
        claim=claim,
        place=f"abstract, assumption ({letter})",
        kind="analogue",
        table=_CLAIMS,
        primary={"quantity": "way_after", **changed_to},
        subject=f"the combination of tokens in the synthetic task {where}",
        does="stays (almost) fixed",
        does_not="does not stay fixed",
        number=_FURTHER,
        beside={"first": {"quantity": "slowing_down", **changed_to}},
    )


def _common_on_text(name: str, training: str, where: str) -> Finding:
    """Whether the most frequent tokens of a text lose attention."""
    return Finding(
        name=name,
        claim=f"common tokens lose attention on real text, {where}",
        place="abstract",
        kind="analogue",
        table=_CLAIMS,
        primary=_on_text("received[1–10]_change", training, "common tokens lose attention"),
        subject=f"on real text, {where}, the ten most frequent tokens",
        does="lose attention",
        does_not="do not lose attention",
        number="attention on them changes by {it:2}, uniform attention being 1",
    )


FINDINGS = [
    Finding(
        name="entropies",
        claim="entropy of attention by learning rates and query tokens",
        place="Fig. 6",
        kind="published",
        table=_CLAIMS,
        primary={"quantity": "entropy_slope"},
        subject="training",
        does="changes the entropy of attention as in Fig. 6",
        does_not="does not change the entropy of attention as in Fig. 6",
        number="{it:2} times the published change over {z.n} cells, none of them further than "
        "{z.value:.2f} standard errors from its published mean",
        published=_CELLS,
        beside={"z": {"quantity": "entropy_z_largest"}},
    ),
    Finding(
        name="decoder_rate_softens",
        claim="larger lr_Y/lr_Z, higher entropy",
        place="Fig. 6",
        kind="published",
        table=_CLAIMS,
        primary={"quantity": "lr_Y_multiplier_difference_mean"},
        subject="a larger lr_Y/lr_Z",
        does="gives attention a higher entropy on average over the numbers of query tokens",
        does_not="does not give attention a higher entropy on average over the numbers of query "
        "tokens",
        number="{it:3} nats from the smallest ratio to the largest",
        published=_CELLS,
    ),
    Finding(
        name="decoder_rate_softens_everywhere",
        claim="larger lr_Y/lr_Z, higher entropy, at every number of query tokens",
        place="Fig. 6",
        kind="claim",
        table=_CLAIMS,
        primary={"quantity": "lr_Y_multiplier_difference_weakest"},
        subject="a larger lr_Y/lr_Z",
        does="gives attention a higher entropy at every number of query tokens",
        does_not="does not give attention a higher entropy at every number of query tokens",
        number="{it:3} nats with {it.num_last} of them",
        why="with ten of them the published cells do not show it either",
    ),
    Finding(
        name="attention_rate_sharpens",
        claim="larger lr_Z, sparser attention",
        place="Fig. 6",
        kind="published",
        table=_CLAIMS,
        primary={"quantity": "lr_Z_difference_mean"},
        subject="a larger lr_Z",
        does="gives attention a lower entropy on average over the numbers of query tokens",
        does_not="does not give attention a lower entropy on average over the numbers of query "
        "tokens",
        number="{it:3} nats from the smallest rate to the largest",
        published=_CELLS,
    ),
    Finding(
        name="common_tokens_lose",
        claim="common tokens lose attention",
        place="Fig. 4",
        kind="claim",
        table=_CLAIMS,
        primary={"quantity": "common_mass_change", **_SYNTHETIC},
        subject="in the synthetic task the common tokens",
        does="lose attention",
        does_not="do not lose attention",
        number="their share of it changes by {it:2}",
    ),
    Finding(
        name="distinct_tokens_gain_in_order",
        claim="distinct tokens gain in the order of co-occurrence",
        place="Fig. 4",
        kind="claim",
        table=_CLAIMS,
        primary={"quantity": "gain_spearman", **_SYNTHETIC},
        subject="in the synthetic task distinct tokens",
        does="gain attention in the order of their frequency",
        does_not="do not gain attention in the order of their frequency",
        number="rank correlation {it:3}",
    ),
    Finding(
        name="drops_in_order",
        claim="attention drops progressively, from low to high co-occurrence",
        place="abstract",
        kind="claim",
        table=_CLAIMS,
        primary={"quantity": "drop_delay[1 to 2]"},
        subject="in the synthetic task attention",
        does="drops from the rarest distinct token first and from the next one later",
        does_not="does not drop from the rarest distinct token before it drops from the next one",
        number="{it:2} iterations later",
    ),
    Remark(
        "tokens_that_drop",
        _CLAIMS,
        {"quantity": "tokens_dropping"},
        "In the synthetic task attention drops from few of the ten distinct tokens: from "
        "{always.value:.0f} of them in every run, from {never.value:.0f} in none.",
        beside={
            "always": {"quantity": "tokens_always_dropping"},
            "never": {"quantity": "tokens_never_dropping"},
        },
    ),
    Finding(
        name="not_winner_take_all",
        claim="not winner-take-all",
        place="abstract",
        kind="claim",
        table=_CLAIMS,
        primary={"quantity": "largest_attention", **_SYNTHETIC},
        subject="in the synthetic task attention",
        does="is shared among tokens",
        does_not="goes for the most part to one token",
        number="the largest share is {it:2}",
    ),
    Finding(
        name="comes_to_rest",
        claim="attention decelerates",
        place="abstract",
        kind="claim",
        table=_CLAIMS,
        primary={"quantity": "slowing_down", **_SYNTHETIC},
        subject="in the synthetic task attention",
        does="comes to rest",
        does_not="does not come to rest",
        number="from iteration 10 to {it.iterations:.0f} its speed falls by {it:2} powers of ten",
    ),
    Finding(
        name="fixed_combination",
        claim="an (almost) fixed combination of tokens is left",
        place="abstract",
        kind="claim",
        table=_CLAIMS,
        primary={"quantity": "way_after", **_SYNTHETIC},
        subject="the combination of tokens in the synthetic task",
        does="stays (almost) fixed",
        does_not="does not stay fixed",
        number=_FURTHER,
        beside={"first": {"quantity": "slowing_down", **_SYNTHETIC}},
    ),
    Finding(
        name="transition_by_decoder_rate",
        claim="the phase transition is controllable by the decoder's learning rate",
        place="abstract",
        kind="claim",
        table=_CLAIMS,
        primary={"quantity": "lr_Y_exponent"},
        subject="the phase transition",
        does="comes earlier with a larger lr_Y",
        does_not="does not come earlier with a larger lr_Y",
        number="its time goes as lr_Y to the power of {it:2}",
    ),
    Finding(
        name="transition_by_attention_rate",
        claim="the phase transition is controllable by attention's learning rate",
        place="abstract",
        kind="claim",
        table=_CLAIMS,
        primary={"quantity": "lr_Z_exponent"},
        subject="the phase transition",
        does="comes earlier with a larger lr_Z",
        does_not="does not come earlier with a larger lr_Z",
        number="its time goes as lr_Z to the power of {it:2}",
    ),
    _without(
        "with_positions",
        "a",
        ("positions", "learned"),
        "a fixed combination also with positions",
        "with learned positions",
    ),
    _without(
        "short_inputs",
        "b",
        ("length", "8"),
        "a fixed combination also with short inputs",
        "with sequences of 8 tokens",
    ),
    _without(
        "slow_decoder",
        "c",
        ("decoder", "0.1"),
        "a fixed combination also with a decoder that learns slower than attention",
        "with a decoder that learns ten times slower than attention",
    ),
    Finding(
        name="text_sparse",
        claim="attention becomes sparse on real text",
        place="Fig. 7",
        kind="analogue",
        table=_CLAIMS,
        primary=_on_text("entropy_change", "aggressive", "attention becomes sparse"),
        subject="on real text, trained with the paper's SGD, attention",
        does="becomes sparse",
        does_not="does not become sparse",
        number="its entropy changes by {it:2} nats",
    ),
    Finding(
        name="text_not_winner_take_all",
        claim="not winner-take-all on real text",
        place="abstract",
        kind="analogue",
        table=_CLAIMS,
        primary=_on_text("top1_change", "aggressive", "not winner-take-all"),
        subject="on real text, trained with the paper's SGD, attention",
        does="is shared among tokens",
        does_not="goes for the most part to one token",
        number="the largest weight grows by {it:2}",
    ),
    _common_on_text("text_common_tokens", "aggressive", "trained with the paper's SGD"),
    _common_on_text("text_common_tokens_adam", "gentle", "trained with Adam"),
    _common_on_text(
        "text_common_tokens_no_positions", "no-positions", "trained with Adam without positions"
    ),
    Finding(
        name="text_rare_tokens",
        claim="rare tokens gain attention on real text",
        place="abstract",
        kind="analogue",
        table=_CLAIMS,
        primary={
            "claim": "rare tokens gain attention",
            "task": "text",
            "training": "aggressive",
            "seed": ALL,
        },
        subject="on real text, trained with the paper's SGD, the rarest tokens",
        does="gain attention",
        does_not="do not gain attention",
        number="attention on them changes by {it:2}, uniform attention being 1",
    ),
    Remark(
        name="drop_order",
        table=_CLAIMS,
        rows={"quantity": tuple(f"drop_delay[{n} to {n + 1}]" for n in (1, 2, 3))},
        sentence="Of the four rarest distinct tokens each falls 1% below its start {it:1} "
        "iterations after the rarer one before it, where both do.",
    ),
    Remark(
        name="changed_assumptions",
        table=_CLAIMS,
        rows={
            "quantity": "common_mass_change",
            "assumption": ("positions", "length", "decoder"),
        },
        sentence="With one of the paper's three assumptions changed the common tokens' share of "
        "attention changes by {it:2} ({it.rows} settings).",
    ),
    Remark(
        name="text_adam",
        table=_CLAIMS,
        rows=_on_text("top1_change", "gentle", "not winner-take-all"),
        sentence="On real text, trained with Adam, the largest weight changes by {it:2}.",
    ),
    Remark(
        name="text_no_positions",
        table=_CLAIMS,
        rows={"quantity": "entropy_without_positions", "training": "no-positions"},
        sentence="On real text, trained with Adam, the entropy of attention without positions "
        "minus that with them is {it:2} nats after {it.iterations:.0f} iterations.",
    ),
]
