"""What came out of Makkuva et al. (2024), as sentences on the rows of its tables."""

from onelayer.findings import Finding

_STARTS = "local_to_global/initialisation"
_BASINS = "local_to_global/basins"


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
    _start("standard", "The standard start", "unigram"),
    _start("paper", "The paper's start", "bigram"),
    Finding(
        "trap_conditions",
        "local_to_global/ablation",
        {"quantity": "trapped_share", "variant": "twice as long"},
        holds="With twice the iterations {it:2} of the standard starts still stand at the unigram "
        "entropy.",
    ),
]
