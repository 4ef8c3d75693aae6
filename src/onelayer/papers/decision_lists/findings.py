"""What came out of the paper on decision lists, claim by claim, and what only describes.

The paper publishes no numbers but two bounds, whose constants γ and δ it leaves open; ours are
named in the sentences. What a theorem says of all is decided by the worst size, margin or run.
"""

from onelayer.evidence.findings import BEYOND, Finding, Remark

_CLAIMS = "decision_lists/claims"
_THEOREM_1, _THEOREM_2 = "section I.C.1 (Theorem 1)", "section I.C.2 (Theorem 2)"


def _claim(place: str, kind: str, quantity: str) -> tuple[str, str, str, dict[str, str]]:
    """Place and kind of a claim, and the one row of the table of claims that decides it."""
    return place, kind, _CLAIMS, {"quantity": quantity}


_PROVEN = {
    "does": "is proven to classify every sequence",
    "number": "the least share of query tokens with a proof over {it.n} runs is {it:3}",
    "why": "the steps that the settings allow may be too few",
}

FINDINGS = [
    Finding(
        "theorem_1",
        "gradient flow on W from 0, with V = cP, classifies perfectly within time 4 M / (log(L) γ)",
        *_claim(_THEOREM_1, "bound", "largest_time_to_bound_ratio"),
        subject="gradient flow on W from 0 (γ and δ ≤ 1 are ours)",
        does="is perfect within Theorem 1's time at every size and every δ up to 1",
        does_not="is not perfect within Theorem 1's time at some size and δ up to 1",
        number="the longest of {it.n} flows takes {it:4} of the bound",
    ),
    Remark(
        "list_order",
        _CLAIMS,
        {"quantity": "least_list_order"},
        "Where gradient flow on W is perfect, W ranks the tokens of every list in its order: of "
        "{it.n} sizes and values of δ the least share of neighbours in order is {it:3}; the "
        "solver stops there.",
    ),
    Finding(
        "certified_perfect",
        "what gradient flow on W finds classifies all sequences perfectly",
        *_claim(_THEOREM_1, "theory", "certified_full"),
        subject="the whole matrix W, trained on the population loss with lists of one length,",
        **_PROVEN,
    ),
    Finding(
        "unequal_lists",
        "lists may be of any length m ≤ M",
        *_claim("section I.B", "theory", "certified_full_unequal_lists"),
        subject="the whole matrix W, trained on the population loss with lists of unequal length,",
        **_PROVEN,
    ),
    Finding(
        "theorem_2",
        "near V = cP gradient descent on W and V meets a perfect step up to every T of the window "
        "[2 m L_0 / (A^2 η), ε / (2 η)]",
        *_claim(_THEOREM_2, "bound", "largest_step_to_window_ratio"),
        subject="gradient descent on W and V from starts that meet Theorem 2's hypotheses "
        "(δ = 1 is ours)",
        does="meets a perfect step in every run before the theorem's window begins",
        does_not="meets no perfect step in some run before the theorem's window begins",
        number="the first comes after at most {it:4} of the steps to there (a mean over a start's "
        "seeds) in {it.n} runs",
    ),
    Finding(
        "value_alone",
        "uniform attention (W = 0) is sufficient to push V in the direction of P",
        *_claim("section II", "claim", "least_centred_cosine"),
        subject="training V alone under uniform attention",
        does="pushes V in the direction of P",
        number="the centred cosine of V and P is {it:3} at the size where it is least",
    ),
    Finding(
        "attention_crucial",
        "learning the attention head is crucial in solving the task",
        *_claim("section I", "claim", "largest_task_accuracy_ceiling"),
        subject="the task",
        does="cannot be solved by any V under uniform attention",
        does_not="is not beyond every V under uniform attention",
        contrary="can be solved by some V under uniform attention",
        number="the accuracy of the best is {it:2} at the size where that is largest",
    ),
    Finding(
        "factors",
        "what is proven of W, with W_K and W_Q apart as in the paper's first equation",
        *_claim("section I.A", "analogue", "time_to_bound_ratio_factored"),
        subject="gradient flow on W_K and W_Q from small random entries",
        does="is perfect within the time that Theorem 1 gives to their product W",
        number="the longest of {it.n} runs (seeds) takes {it:3} of it",
    ),
    Finding(
        "fresh_sequences",
        "what is proven of the population loss, with stochastic gradient descent on fresh "
        "sequences",
        *_claim(_THEOREM_1, "analogue", "time_to_bound_ratio_descent"),
        subject="stochastic gradient descent on W with fresh sequences",
        does="is perfect within Theorem 1's time, counted as learning rate times steps",
        number="the longest of {it.n} runs (seeds) takes {it:3} of it",
    ),
    Finding(
        "theorem_2_drawn_sequences",
        "what Theorem 2 says of the population loss, with sequences that are drawn once",
        *_claim(_THEOREM_2, "analogue", "largest_step_to_window_ratio_drawn_sequences"),
        subject="gradient descent on W and V with sequences drawn once",
        does="meets a step that is perfect on these and on fresh ones before Theorem 2's window "
        "begins",
        number="the first comes after at most {it:4} of the steps to there (a mean over a start's "
        "seeds) in {it.n} runs",
    ),
    Finding(
        "theorem_1_worst_case",
        "the time is within the bound for all lists and distributions that a search tries",
        _THEOREM_1,
        "bound",
        "decision_lists/worst_case",
        {"quantity": "largest_time_to_bound_ratio", "list_length": "all"},
        subject="gradient flow on W from 0 (γ and δ = 1 are ours), with the lists and "
        "distributions that a search for the largest share of Theorem 1's time finds,",
        does="is perfect within that time",
        number="the largest of {it.n} tries is {it:3} of the bound",
        also="{gave_up.value:.0f} of these flows gave up before they were perfect",
        beside={"gave_up": {"quantity": "gave_up", "list_length": "all"}},
    ),
    Finding(
        "time_inverse_in_gamma",
        "the time to be perfect grows as 1 / γ, as its bound does",
        BEYOND,
        "analogue",
        "all_papers/exponents",
        {"quantity": "exponent_of_gamma"},
        subject="the time that gradient flow on W takes",
        does="grows about as 1 / γ, as Theorem 1's bound does",
        does_not="does not grow as 1 / γ",
        number="its power of γ is {it:2}, of log L {l.value:.2f} (bound: -1), of M {m.value:.2f} "
        "(bound: 1)",
        beside={"l": {"quantity": "exponent_of_log_L"}, "m": {"quantity": "exponent_of_M"}},
    ),
    Remark(
        "theorem_1_margin",
        "decision_lists/theorem_1",
        {"quantity": "t_star_to_bound_ratio", "delta": 20},
        "Theorem 1's bound does not depend on δ, but the time does: at δ = 20, which is no "
        "probability mass, it is {it:2} times the bound, at δ = 1 {one:4} times.",
        beside={"one": {"quantity": "t_star_to_bound_ratio", "delta": 1}},
    ),
    Remark(
        "theorem_1_scaling",
        "decision_lists/theorem_1",
        {"quantity": "t_star_gamma_log_l", "delta": 1},
        "The time to be perfect times γ log L, which Theorem 1 bounds by 4 M, is {it:3} over "
        "{it.rows} sizes at δ = 1, where γ is {gamma:5}.",
        beside={"gamma": {"quantity": "gamma", "delta": 1}},
    ),
    Remark(
        "theorem_2_hypotheses",
        "decision_lists/joint_training",
        {"quantity": "steps_to_perfect", "hypotheses": "hold"},
        "Theorem 2's hypotheses hold in {it.rows} of {all.rows} runs with its c; in the others it "
        "promises nothing.",
        beside={"all": {"quantity": "steps_to_perfect", "c_of": "theorem_2"}},
    ),
    Remark(
        "value_finds_permutation",
        _CLAIMS,
        {"quantity": "argmax_accuracy"},
        "Under uniform attention the largest entry of a token's column of V is that of its label "
        "for a share of {it:2} of the tokens (means over seeds at {it.rows} sizes).",
    ),
    Remark(
        "small_starts",
        "decision_lists/joint_training",
        {"quantity": "accuracy", "start_kind": "small"},
        "From small random starts of W and V, which the paper leaves open, {it.rows} runs end "
        "with an accuracy of {it:2}; those that come to be perfect need {steps:0} steps.",
        beside={"steps": {"quantity": "steps_to_perfect", "start_kind": "small"}},
    ),
    Remark(
        "factors_time",
        _CLAIMS,
        {"quantity": "time_of_factors"},
        "W_K and W_Q apart take {it:1} times as long as W (means of {it.rows} starts and sizes).",
    ),
]
