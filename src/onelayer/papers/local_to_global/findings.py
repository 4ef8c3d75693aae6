"""The claims of Makkuva et al. (2024), each with the row that decides it."""

from onelayer.evidence.findings import ALL, BEYOND, Finding, Published, Remark

_CLAIMS = "local_to_global/claims"
_STARTS = "local_to_global/initialisation"
_ABLATION = "local_to_global/ablation"
_OPEN = "local_to_global/open_problems"
_FLOWS = "a share of {it:4} of the flows from {it.n:,} starts on each chain"
_NATS = "a final loss of {it:4} nats on one set of held-out sequences"
_SMALL = "starts around the origin reach a global minimum for p + q < 1, a local one for > 1"
_GLOBAL_BELOW = "a global minimum for p + q < 1 and a local one for p + q > 1"
_RETURNS = {"place": "Theorem 1", "quantity": "share_of_flows"}
_RANK_ONE = "at convergence, all the parameter matrices are approximately rank-one"
_KEPT_RANK_ONE = "from a rank-one start all matrices stay rank one"
_GAIN = "the paper's start learns the model that the standard one does not"


def _theorem(
    name: str,
    claim: str,
    place: str,
    quantity: str,
    subject: str,
    does: str,
    said: str,
    does_not: str = "",
    **more: object,
) -> Finding:
    """A claim on the canonical model, decided over all chains together."""
    primary = {"claim": claim, "place": place, "quantity": quantity, "seed": ALL}
    texts = subject, does, said
    words = {"does_not": does_not, **more}
    return Finding(name, claim, place, "theory", _CLAIMS, primary, *texts, **words)


def _start(
    name: str, claim: str, table: str, row: dict, start: str, does: str, said: str, **more: object
) -> Finding:
    """What a start does to the loss of a transformer."""
    row, subject = row | {"quantity": "final_loss"}, f"the {start} start"
    return Finding(name, claim, "Fig. 4", "analogue", table, row, subject, does, said, **more)


_TRAP_CHAIN = {"p": 0.5, "q": 0.8}
_TRAPPED = {"variant": "standard start", "quantity": "curvature_where_trapped"}
_ELSEWHERE = {"other": _TRAPPED | {"p": 0.7, "q": 0.6}, "third": _TRAPPED | {"p": 0.8, "q": 0.4}}
_CURVATURE = "the least curvature is {it:2} times what the theorem gives for small weights"


def _trap(
    name: str,
    row: dict,
    subject: str,
    does: str,
    said: str,
    claim: str = "the unigram model is a local minimum where p + q > 1",
    **more: object,
) -> Finding:
    """What the whole transformer does where theorem 2 has a local minimum of the canonical one."""
    texts = subject, does, said
    return Finding(name, claim, BEYOND, "analogue", "local_to_global/trap", row, *texts, **more)


def _above_bigram(variant: str) -> dict[str, str]:
    """How far above the bigram entropy a variant ends."""
    return {"variant": variant, "quantity": "final_loss_above_bigram"}


def _way(variant: str, p: float, q: float) -> dict:
    return {"variant": variant, "quantity": "way_closed", "p": p, "q": q}


_OTHER_P, _OTHER_Q = (0.9, 0.7, 0.8), (0.9, 0.6, 0.4)  # of the other chains


def _leaving(
    quantity: str, p: float | tuple[float, ...], q: float | tuple[float, ...], more: str = ""
) -> dict:
    return {"variant": f"{more}rate 4 times", "quantity": quantity, "p": p, "q": q}


def _by_more(by: str, what: str, opens: str, still_more: str) -> Finding:
    """Whether runs with four times as much data a batch leave the trap earlier."""
    earlier = f"earlier_by_{by}"
    return _trap(
        f"trap_by_{by}",
        _leaving(earlier, **_TRAP_CHAIN),
        f"with four times the {what} the standard start, on the chain p = .5, q = .8 "
        "at four times the learning rate,",
        "leaves the unigram model at fewer iterations",
        "a share of {it:2} of {it.n} seeds",
        claim=f"{opens} the trap earlier",
        also="with four times as many again {more:2}; on the other chains {others:2}, and with as "
        "many again {others_more:2}",
        beside={
            "more": _leaving(earlier, **_TRAP_CHAIN, more=still_more),
            "others": _leaving(earlier, _OTHER_P, _OTHER_Q),
            "others_more": _leaving(earlier, _OTHER_P, _OTHER_Q, still_more),
        },
    )


FINDINGS: list[Finding | Remark] = [
    _theorem(
        "critical_points",
        "the flow comes back to a local minimum",
        "Theorem 1",
        "share_of_flows",
        "the gradient flow of the canonical model",
        "comes back to the local minima that theorem 1 names from all around them",
        "a share of {it:3} of the flows from {it.n} starts on each chain does",
        "does not come back to the local minima that theorem 1 names from all around them",
        also="to its local maxima {most.value:.3f} do; at all {zero.n} points that it names the "
        "gradient is at most {zero.value:.0e}",
        beside={
            "most": _RETURNS | {"claim": "the flow leaves a local maximum"},
            "zero": {"place": "Theorem 1", "quantity": "gradient_norm", "seed": ALL},
        },
    ),
    _theorem(
        "energy",
        "the energy is constant along the flow",
        "Lemma 1",
        "energy_drift",
        "the energy",
        "is constant along the gradient flow",
        "it changes by at most {it.value:.0e} over {it.n:,} flows",
    ),
    _theorem(
        "basins",
        "E and w decide at which minimum the flow ends",
        "Theorem 2",
        "share_of_flows",
        "the gradient flow",
        "ends in the basin that theorem 2 names",
        _FLOWS,
        "does not always end in the basin that theorem 2 names",
    ),
    _theorem(
        "limit",
        "the flow ends at the point of its energy",
        "Theorem 2",
        "limit_point_error",
        "the gradient flow",
        "ends at the point that its energy predicts",
        "at most {it.value:.0e} away from it in {it.n:,} flows",
    ),
    _theorem(
        "gaussian_starts",
        "a start's scale decides the share that reaches a global minimum",
        "Theorem 2, Fig. 1",
        "largest_share_error",
        "the share of Gaussian starts that reach a global minimum",
        "is the Gaussian integral over the basin of theorem 2 at all scales",
        "the two differ by at most {it.value:.3f}",
    ),
    *(
        _theorem(
            name,
            _SMALL,
            place,
            "share_of_flows",
            subject,
            f"reach {_GLOBAL_BELOW}",
            _FLOWS,
            f"do not all reach {_GLOBAL_BELOW}",
        )
        for name, place, subject in (
            ("small_gaussian_starts", "Fig. 1 (b), (d)", "small Gaussian starts"),
            (
                "with_attention",
                "Theorem 3, Figs. 2 and 5",
                "with the attention scalar, too, small Gaussian starts",
            ),
        )
    ),
    _start(
        "start_standard",
        "the standard start converges to the unigram model",
        _STARTS,
        {"initialisation": "standard", "claimed": "unigram", "seed": ALL},
        "standard",
        "keeps the transformer's loss at the unigram entropy",
        _NATS,
    ),
    _start(
        "trap_conditions",
        "the standard start converges to the unigram model, also in twice the training",
        _ABLATION,
        {"variant": "twice as long", "claimed": "unigram"},
        "standard",
        "keeps the transformer's loss at the unigram entropy in twice the training",
        "after {it.iterations:,} iterations " + _NATS,
        also="of {trapped.n} runs a share of {trapped.value:.2f} stays there",
        beside={"trapped": {"variant": "twice as long", "quantity": "trapped_share"}},
    ),
    _start(
        "start_paper",
        "the paper's start converges to the bigram model",
        _STARTS,
        {"initialisation": "paper", "claimed": "bigram", "seed": ALL},
        "paper's",
        "lets the transformer's loss fall from the unigram to the bigram entropy",
        _NATS,
    ),
    Finding(
        "guideline",
        _GAIN,
        "Fig. 4",
        "analogue",
        _CLAIMS,
        {"claim": _GAIN, "quantity": "gain_of_the_papers_start", "seed": ALL},
        "the paper's start",
        "ends with a lower loss than the standard start",
        "lower by {it:4} nats on one set of held-out sequences",
    ),
    _start(
        "guideline_gpt_block",
        "the paper's start converges to the bigram model, also in a block with LayerNorm",
        _ABLATION,
        {"variant": "GPT block, paper's start", "claimed": "bigram"},
        "paper's",
        "lets the loss of a transformer with LayerNorm fall from the unigram to the bigram entropy",
        _NATS,
        also="LayerNorm removes the constant vectors of this start; from the standard one the loss "
        "ends at {standard.value:.4f}",
        beside={"standard": {"variant": "GPT block", "quantity": "final_loss"}},
    ),
    Finding(
        "rank_one_of_all",
        _RANK_ONE,
        "Fig. 3",
        "published",
        _CLAIMS,
        {"quantity": "smallest_top_share_of_the_authors", "seed": ALL},
        "the parameter matrices of the authors' one saved run, at its last iteration saved, 200,",
        "are all approximately rank one",
        "of W_K, by a number that was carried over and not computed here, the square of the "
        "largest singular value is {it.value:.2f} of the sum of all squares, where .9, a threshold "
        "of ours, would count as near; it is one run, and not known to have converged",
        published=Published(
            "local_to_global_rank_one.csv",
            {"initialisation": "standard", "matrix": "W_K", "iteration": 200},
            "published",
        ),
    ),
    Finding(
        "rank_one_of_ours",
        f"{_RANK_ONE}, trained anew",
        "Fig. 3",
        "analogue",
        _CLAIMS,
        {"claim": _RANK_ONE, "quantity": "smallest_top_share", "seed": ALL},
        "the parameter matrices of a transformer trained anew from the standard start",
        "all come near rank one",
        "in each the square of the largest singular value is at least {it:2} of the sum of all "
        "squares ({it.setting}), where .9 would count as near",
    ),
    Finding(
        "rank_one_start",
        _KEPT_RANK_ONE,
        "Fig. 6",
        "analogue",
        _CLAIMS,
        {"claim": _KEPT_RANK_ONE, "seed": ALL},
        "the parameter matrices from a rank-one start",
        "all stay rank one",
        "the smallest share of a largest singular value is {it.value:.4f} ({it.setting})",
    ),
    Finding(
        "more_states",
        "the standard start stays at the unigram model where symbols change often, with three "
        "states as with two",
        "open problems",
        "analogue",
        _OPEN,
        {"source": "3 states, leaves always", "depth": 1, "quantity": "way_closed"},
        "the standard start on a chain of three states that never stays where it is",
        "remains at the unigram model in a short training",
        "it closes a share of {it:3} of the way to the best entropy",
        contrary="leaves the unigram model in a short training",
    ),
    Remark(
        "escapes",
        _ABLATION,
        {"variant": "twice as long", "quantity": "first_escape_iteration"},
        "Of {trapped.n} standard starts that train for {it.iterations:,} iterations a share of "
        "{trapped.value:.2f} ends near the unigram entropy; the first leaves it at iteration "
        "{it.value:.0f}.",
        beside={"trapped": {"variant": "twice as long", "quantity": "trapped_share"}},
    ),
    Remark(
        "what_holds_the_papers_start_up",
        _ABLATION,
        _above_bigram("paper's start, 10 times as long"),
        "With 256 inputs the paper's start ends {usual:4} nats above the bigram entropy, at four "
        "times the learning rate {faster:4}, in four times the iterations {longer:4} and in ten "
        "times as many {it:4}.",
        beside={
            "usual": _above_bigram("paper's start"),
            "faster": _above_bigram("paper's start, rate 4 times"),
            "longer": _above_bigram("paper's start, 4 times as long"),
        },
    ),
    Remark(
        "order_and_depth",
        _OPEN,
        {"source": "second order, repeats .9", "quantity": "way_closed", "depth": 1},
        "Of a source of the second order one layer closes a share of {it:2} of the way from the "
        "unigram to the best entropy, and two layers {two:2}.",
        beside={
            "two": {"source": "second order, repeats .9", "quantity": "way_closed", "depth": 2}
        },
    ),
    _trap(
        "trap_is_minimum",
        _TRAPPED | _TRAP_CHAIN,
        "where the standard start on the chain p = .5, q = .8 stays at the unigram model, the "
        "whole transformer's loss, averaged over starts,",
        "has a local minimum there in its embedding",
        f"{_CURVATURE} ({{it.n}} of {{all.n}} starts)",
        also="with a quarter of the inputs it is {short:2}, on the chain p = .7, q = .6 "
        "{other.value:.2f}, on p = .8, q = .4 {third.value:.2f}",
        beside={
            "all": {"variant": "standard start", "quantity": "trapped_share"} | _TRAP_CHAIN,
            "short": _TRAPPED | _TRAP_CHAIN | {"variant": "16 inputs"},
            **_ELSEWHERE,
        },
    ),
    _trap(
        "trap_opens",
        {"variant": "rate 4 times", "quantity": "curvature_before_escape"} | _TRAP_CHAIN,
        "on the chain p = .5, q = .8, before the standard start leaves the unigram model at four "
        "times the learning rate, its loss",
        "curves downwards there",
        _CURVATURE,
        claim="runs leave the unigram model where the loss curves downwards",
        also="where runs stay, at the usual rate, it is {stay.value:.2f} there, on p = .7, q = .6 "
        "{other.value:.2f} and on p = .8, q = .4 {third.value:.2f}",
        beside={"stay": _TRAPPED | _TRAP_CHAIN, **_ELSEWHERE},
        does_not="does not curve downwards there",
    ),
    _trap(
        "trap_by_rate",
        _leaving("earlier_by_rate", 0.8, 0.4),
        "at four times the learning rate the standard start, on the chain p = .8, q = .4,",
        "leaves the unigram model at fewer iterations than at the usual rate",
        "a share of {it:2} of the {it.n} seeds that leave at either",
        claim="a higher learning rate opens the trap earlier",
        also="on p = .7, q = .6 {other.value:.2f}, on p = q = .9 {equal.value:.2f}",
        beside={
            "other": _leaving("earlier_by_rate", 0.7, 0.6),
            "equal": _leaving("earlier_by_rate", 0.9, 0.9),
        },
    ),
    _by_more("batch", "sequences in a batch", "a larger batch opens", "64 sequences, "),
    _by_more("inputs", "inputs", "longer inputs open", "256 inputs, "),
    _trap(
        "trap_by_time",
        _TRAP_CHAIN | {"variant": "rate 8 times", "quantity": "time_by_rate"},
        "at eight times the learning rate the standard start, on the chain p = .5, q = .8,",
        "leaves the unigram model after the same sum of learning rates as at four times",
        "{it:2} times that sum",
        claim="learning rates open the trap after the same learning time",
        also="at four times the rate {half:2} times the sum at two",
        beside={"half": _leaving("time_by_rate", **_TRAP_CHAIN)},
    ),
    Remark(
        "who_stays_by_rate",
        "local_to_global/trap",
        {"variant": "rate 4 times", "quantity": "trapped_share"},
        "Of the standard starts a share of {usual:2}, by chain, stays at the unigram model for as "
        "long as the training goes on; at four times the learning rate {it:2}.",
        beside={"usual": {"variant": "standard start", "quantity": "trapped_share"}},
    ),
    _trap(
        "guideline_elsewhere",
        {"variant": "paper's start", "quantity": "least_way_closed"},
        "the paper's start, on that chain other than the authors' on which it goes least,",
        "goes more than half of the way to the bigram entropy",
        "a share of {it:2} of the way on p = {it.p:.15g}, q = {it.q:.15g}",
        claim="the paper's start reaches the global minimum where p + q > 1",
        also="on p = .7, q = .6 it goes {near.value:.2f} of the way and on p = q = .9 "
        "{best.value:.2f}, where the standard start goes {standard.value:.2f}",
        beside={
            "near": _way("paper's start", 0.7, 0.6),
            "best": _way("paper's start", 0.9, 0.9),
            "standard": _way("standard start", 0.9, 0.9),
        },
    ),
    Remark(
        "slow_for_the_papers_start",
        "local_to_global/trap",
        _way("paper's start", **_TRAP_CHAIN),
        "With short inputs, on the chain p = .5, q = .8, the paper's start goes {it:2} of the way "
        "to the bigram entropy, and at four times the learning rate {faster:2} in as many "
        "iterations.",
        beside={"faster": _way("paper's start, rate 4 times", **_TRAP_CHAIN)},
    ),
]
