"""What came out of Tian et al. (2023), as sentences on the rows of its tables."""

from onelayer.findings import Finding

_CLAIMS = "scan_snap/claims"


def _claim(
    name: str, quantity: str, said: str, place: str | None = None, denied: str = ""
) -> Finding:
    """A claim about one row: `said` when it holds, its denial else; both with the number."""
    rows = {"quantity": quantity} | ({"place": place} if place else {})
    return Finding(
        name,
        _CLAIMS,
        rows,
        holds=said + ": {it:2}.",
        fails=(denied or f"It does not hold that {said[0].lower()}{said[1:]}") + ": {it:2}.",
        open=f"Whether {said[0].lower()}{said[1:]} is open: {{it:2}}.",
        mixed=said + " in {it.agree} of {it.rows} settings: {it:2}.",
    )


def _change(name: str, quantity: str, rate: str) -> Finding:
    """What a larger rate does to entropy, beside the same difference of the published cells."""
    said = f"published change of entropy from the smallest to the largest {rate}"
    return Finding(
        name,
        _CLAIMS,
        {"quantity": quantity},
        holds=f"The {said} comes back at all {{it.rows}} numbers of query tokens: {{it:2}}.",
        fails=f"The {said} does not come back: {{it:2}}.",
        open=f"The {said} comes back at {{it.agree}} of {{it.rows}} numbers of query tokens, the "
        "others are open: {it:2}.",
        mixed=f"The {said} comes back at {{it.agree}} of {{it.rows}} numbers of query tokens: "
        "{it:2}.",
    )


FINDINGS = [
    Finding(
        "entropies",
        "scan_snap/entropy_sweep",
        {"quantity": "entropy"},
        holds="All **{it.within} of {it.rows}** published entropies of attention lie within our "
        "interval or two published standard deviations of it.",
        fails="None of {it.rows} published entropies of attention is reached.",
        mixed="**{it.within} of {it.rows}** published entropies of attention lie within our "
        "interval or two published standard deviations of it.",
        open="{it.within} of the {it.rows} published entropies of attention that were run lie "
        "within our interval or two published standard deviations of it.",
    ),
    _claim(
        "common_tokens_lose",
        "common_mass_change",
        "In the synthetic task the common tokens lose attention (change of their share)",
        "Fig. 4",
    ),
    _claim(
        "distinct_tokens_gain_in_order",
        "gain_spearman",
        "Distinct tokens gain attention in the order of their frequency (rank correlation)",
        "Fig. 4",
    ),
    _claim(
        "drops_in_order",
        "drop_time_spearman",
        "Distinct tokens drop in the order of their frequency, the rarest first (rank correlation)",
    ),
    _claim(
        "transition_by_decoder_rate",
        "lr_Y_exponent",
        "The phase transition comes earlier with a larger lr_Y (exponent of its time)",
    ),
    Finding(
        "assumptions",
        _CLAIMS,
        {
            "quantity": "common_mass_change",
            "place": tuple(f"abstract, assumption ({letter})" for letter in "abc"),
        },
        holds="The common tokens lose attention without the paper's assumptions, too: with learned "
        "positions, with shorter inputs, with a slower decoder (change of their share {it:2} in "
        "{it.rows} settings).",
        fails="Where an assumption is changed the common tokens do not lose attention: {it:2}.",
        mixed="Where an assumption is changed the common tokens lose attention in {it.agree} of "
        "{it.rows} settings: {it:2}.",
        open="Where an assumption is changed it is open whether the common tokens lose attention: "
        "{it:2}.",
    ),
    _claim(
        "not_winner_take_all",
        "largest_attention",
        "No token takes most of the attention (largest share)",
    ),
    _claim(
        "comes_to_rest",
        "slowing_down",
        "Attention comes to rest (log10 of its speed at iteration 10 over that at the end)",
        "Fig. 4",
    ),
    _change("decoder_rate_softens", "lr_Y_multiplier_difference", "lr_Y/lr_Z"),
    _change("attention_rate_sharpens", "lr_Z_difference", "lr_Z"),
]
