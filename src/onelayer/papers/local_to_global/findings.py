"""What came out of Makkuva et al. (2024), as sentences on the rows of its tables."""

from onelayer.findings import Finding
from onelayer.tables import ALL

_STARTS = "local_to_global/initialisation"
_BASINS = "local_to_global/basins"
STATES_SENTENCES = tuple(
    f"as with two states, the standard start {kept} the unigram model"
    for kept in ("leaves", "stays at")
)
AUTHORS_WEIGHTS = "the authors' saved weights, standard start, iteration 200"
RANK_ONE_SENTENCE = "at convergence, all the parameter matrices are approximately rank-one"


def _start(name: str, called: str, entropy: str) -> Finding:
    return Finding(
        f"start_{name}",
        _STARTS,
        {"initialisation": name, "seed": "mean", "quantity": "final_loss"},
        holds=f"{called} ends nearer to the {entropy} entropy than to the other, as the paper "
        "says: loss {it:4} nats beside {it.published:.4f}.",
        fails=f"{called} does not end near the {entropy} entropy: loss {{it:4}} nats beside "
        "{it.published:.4f}.",
        open=f"Whether {called[0].lower()}{called[1:]} ends near the {entropy} entropy is open: "
        "loss {it:4} nats beside {it.published:.4f}.",
    )


FINDINGS = [
    Finding(
        "basins",
        _BASINS,
        {"quantity": "basin_agreement"},
        holds="All {it.total:,} gradient flows end in the basin that the theorem names, within "
        "{error.most:.0e} of the limit that their energy predicts.",
        fails="Gradient flows do not end in the basin that the theorem names: a share of {it:3}.",
        mixed="A share of {it.least:.4f} to {it.most:.4f} of the gradient flows ends in the basin "
        "that the theorem names.",
        open="A share of {it.least:.4f} to {it.most:.4f} of the gradient flows ends in the basin "
        "that the theorem names.",
        beside={"error": {"quantity": "limit_point_error"}},
    ),
    Finding(
        "gaussian_starts",
        _BASINS,
        {"quantity": "global_share"},
        holds="The share of Gaussian starts that reach a global minimum is the theory's at all "
        "{it.rows} scales and chains.",
        fails="The share of Gaussian starts that reach a global minimum differs from the theory's "
        "at all {it.rows} scales and chains.",
        mixed="The share of Gaussian starts that reach a global minimum is the theory's at "
        "{it.agree} of {it.rows} scales and chains.",
        open="The share of Gaussian starts that reach a global minimum is the theory's at "
        "{it.agree} of {it.rows} scales and chains; the others are open.",
    ),
    Finding(
        "with_attention",
        "local_to_global/flow_with_attention",
        {"quantity": "global_share"},
        holds="With the attention scalar Gaussian starts near the origin end as without it: all at "
        "a global minimum for p + q < 1, none for p + q > 1.",
        fails="With the attention scalar Gaussian starts near the origin do not end where theorem "
        "3 says.",
        mixed="With the attention scalar Gaussian starts near the origin end where theorem 3 says "
        "at {it.agree} of {it.rows} scales and chains.",
        open="Whether Gaussian starts near the origin end where theorem 3 says with the attention "
        "scalar is open.",
    ),
    _start("standard", "The standard start", "unigram"),
    _start("paper", "The paper's start", "bigram"),
    Finding(
        "trap_conditions",
        "local_to_global/ablation",
        {"quantity": "trapped_share", "variant": "twice as long"},
        holds="With twice the iterations {it:2} of the standard starts still stand at the unigram "
        "entropy.",
    ),
    Finding(
        "rank_one_of_all",
        "local_to_global/claims",
        {"claim": RANK_ONE_SENTENCE, "seed": ALL},
        holds="All parameter matrices become approximately rank one, ours and the authors' saved.",
        fails="The parameter matrices do not become approximately rank one.",
        mixed="{it.agree} of {it.rows} parameter matrices, ours and the authors' saved, are "
        "approximately rank one, of which the paper says all: the authors' W_Q has a share of "
        "{Q.value:.2f} and W_K of {K.value:.2f}.",
        open="Whether all parameter matrices become approximately rank one is open: {it.agree} of "
        "{it.rows} are.",
        beside={
            name: {"quantity": f"W_{name}_top_share", "seed": ALL, "setting": AUTHORS_WEIGHTS}
            for name in ("Q", "K")
        },
    ),
    Finding(
        "more_states",
        "local_to_global/claims",
        {"claim": STATES_SENTENCES, "seed": ALL},
        holds="With three states as with two, the sign of the chain's second eigenvalue, 1 - p - q "
        "for two, decides to which entropy the standard start ends nearer: the best one where it "
        "is positive, the unigram one where it is negative ({it.rows} chains).",
        fails="With three states the sign of the second eigenvalue does not decide to which "
        "entropy the standard start ends nearer.",
        mixed="The sign of the second eigenvalue decides to which entropy the standard start ends "
        "nearer for {it.agree} of {it.rows} chains of two and three states.",
        open="Whether the sign of the second eigenvalue decides to which entropy the standard "
        "start ends nearer is open: it does for {it.agree} of {it.rows} chains.",
    ),
]
