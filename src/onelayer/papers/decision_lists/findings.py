"""What came out of the paper on decision lists, as sentences on the rows of its tables."""

from onelayer.findings import Finding

_THEOREM_1 = "decision_lists/theorem_1"
_JOINT = "decision_lists/joint_training"
_VALUE = "decision_lists/value_from_uniform_attention"
_CLAIMS = "decision_lists/claims"

FINDINGS = [
    Finding(
        "theorem_1",
        _THEOREM_1,
        {"quantity": "t_star"},
        holds="Theorem 1 holds at all {it.rows} sizes and margins: gradient flow is perfect before "
        "the bound, which is loose (at δ = 1 t* is {loose.least:.4f} to {loose.most:.4f} of it).",
        fails="Theorem 1's bound is passed at all {it.rows} sizes and margins.",
        mixed="Theorem 1's bound holds at {it.agree} of {it.rows} sizes and margins.",
        open="Theorem 1's bound holds at {it.agree} of {it.rows} sizes and margins; the others "
        "were not perfect within the run.",
        beside={"loose": {"quantity": "t_star_to_bound_ratio", "delta": 1}},
    ),
    Finding(
        "theorem_1_scaling",
        _THEOREM_1,
        {"quantity": "t_star_gamma_log_l", "delta": 1},
        holds="The time to be perfect falls with γ as the bound says: t* γ log L is {it:3} over "
        "{it.rows} sizes at δ = 1.",
    ),
    Finding(
        "factors",
        _CLAIMS,
        {"quantity": "time_of_factors"},
        holds="W_K and W_Q apart, the paper's first equation, learn the same lists and take {it:1} "
        "times as long as their product W ({it.rows} starts and sizes).",
    ),
    Finding(
        "theorem_2",
        _CLAIMS,
        {"quantity": "first_perfect_step"},
        holds="Theorem 2 holds at all {it.rows} starts that meet its hypotheses: W and V are "
        "perfect at step {it:0}, before the window begins.",
        fails="Theorem 2's window is passed at all {it.rows} starts that meet its hypotheses.",
        mixed="Theorem 2 holds at {it.agree} of {it.rows} starts that meet its hypotheses.",
        open="Theorem 2 holds at {it.agree} of {it.rows} starts that meet its hypotheses; the "
        "others were not perfect within the run.",
    ),
    Finding(
        "value_alone",
        _VALUE,
        {"quantity": "argmax_accuracy"},
        holds="Under uniform attention the argmax of V is the permutation for {it:2} of the "
        "tokens; the task stays unsolved (accuracy {task:2}).",
        beside={"task": {"quantity": "task_accuracy"}},
    ),
    Finding(
        "small_starts",
        _JOINT,
        {"quantity": "accuracy"},
        holds="Where W and V are trained together, runs end with an accuracy of {it:2} "
        "({it.rows} runs).",
    ),
]
