"""The findings of all papers, and those among them that are claims."""

from collections.abc import Collection, Iterable
from functools import cache

from onelayer.evidence.declarations import read_declarations
from onelayer.evidence.findings import BEYOND, Finding, Remark
from onelayer.papers import PAPERS
from onelayer.papers.decision_lists.findings import FINDINGS as DECISION_LISTS
from onelayer.papers.local_to_global.findings import FINDINGS as LOCAL_TO_GLOBAL
from onelayer.papers.scan_snap.findings import FINDINGS as SCAN_SNAP
from onelayer.papers.topic_structure.findings import FINDINGS as TOPIC_STRUCTURE

# One question of all papers, each with the optimiser that its paper trains with.
_TRAINED_WITH = {
    "topic_structure": ("sgd", "a small single-layer transformer trained with SGD on topics"),
    "scan_snap": ("sgd", "Scan and Snap's model trained with SGD"),
    "decision_lists": ("sgd", "the decision lists' model trained by gradient descent"),
    "local_to_global": ("adam", "a chain's transformer trained with Adam"),
}


def _values_before_attention(paper: str) -> Finding:
    optimizer, model = _TRAINED_WITH[paper]
    case = {"paper": paper, "optimizer": optimizer, "scale": 1.0, "ratio": 1.0}
    return Finding(
        f"values_before_attention_{paper}",
        "values come to rest before attention begins",
        BEYOND,
        "analogue",
        "all_papers/value_before_attention",
        case | {"quantity": "doublings_from_values_done"},
        f"{model}, from its usual start and at one rate for all,",
        "has values at rest before attention begins",
        "the time at which attention has come a tenth of its way is {it:2} doublings (negative: "
        "earlier) from that at which values have come nine tenths of theirs, and "
        "{begun.value:.2f} from that at which they have come a tenth",
        also="two parts that move alike would have -3.2 to -4.5, and 0; by the end values have "
        "taken back a share of {back.value:.2f} of their way",
        beside={
            "begun": case | {"quantity": "doublings_from_values_begun"},
            "back": case | {"quantity": "share_of_value_taken_back"},
        },
        # Where the theory has topics values were predicted to be learned first, elsewhere not.
        predicted="reproduced" if paper == "topic_structure" else "opposite",
        refuted_if_undecided=True,
        does_not="does not have values at rest when attention begins",
    )


_EVERYWHERE = Remark(
    "values_before_attention_everywhere",
    "all_papers/value_before_attention",
    {"quantity": "doublings_from_values_done"},
    "Over {it.rows} settings of all four papers' models the time at which attention has come a "
    "tenth of its way is {it:2} doublings (negative: earlier) from that at which values have come "
    "nine tenths of theirs, and {begun:2} from that at which they have come a tenth.",
    beside={"begun": {"quantity": "doublings_from_values_begun"}},
)


# Where to look, for findings whose table holds many things of which each has a figure of its own.
_FIGURES = {
    finding: figure
    for figure, findings in {
        "topic_structure/gap_grid": "gap_over_settings",
        "topic_structure/stage_gradients": "gradient_of_keys",
        "topic_structure/stage_two_ratio": "optimal_attention optimal_attention_one_topic "
        "beta_above_one",
        "topic_structure/components_over_steps": "blocks_with_all_trained "
        "blocks_of_small_embeddings",
        "scan_snap/entropy_sweep": "entropies decoder_rate_softens decoder_rate_softens_everywhere "
        "attention_rate_sharpens",
        "scan_snap/scan": "common_tokens_lose distinct_tokens_gain_in_order drops_in_order "
        "tokens_that_drop drop_order",
        "scan_snap/phase_transition": "transition_by_decoder_rate transition_by_attention_rate",
        "scan_snap/attention_over_time": "text_sparse text_not_winner_take_all text_common_tokens "
        "text_common_tokens_adam text_common_tokens_no_positions text_rare_tokens text_adam "
        "text_no_positions",
        "decision_lists/time_to_perfect": "theorem_1 certified_perfect unequal_lists",
        "decision_lists/attention_order": "list_order",
        "decision_lists/accuracy_over_time": "attention_crucial fresh_sequences",
        "decision_lists/joint_training": "theorem_2 theorem_2_drawn_sequences",
        "decision_lists/value_from_uniform_attention": "value_alone value_finds_permutation",
        "local_to_global/gradient_flow": "critical_points energy basins limit",
        "local_to_global/initial_scale": "gaussian_starts small_gaussian_starts",
        "local_to_global/attention_flow": "with_attention",
        "local_to_global/loss_curves": "guideline",
        "local_to_global/rank_one": "rank_one_of_all rank_one_of_ours rank_one_start",
    }.items()
    for finding in findings.split()
}
FINDINGS: dict[str, list[Finding | Remark]] = {
    paper: [*findings, _values_before_attention(paper)]
    for paper, findings in {
        "topic_structure": [*TOPIC_STRUCTURE, _EVERYWHERE],
        "scan_snap": SCAN_SNAP,
        "decision_lists": DECISION_LISTS,
        "local_to_global": LOCAL_TO_GLOBAL,
    }.items()
}
BY_TITLE = {title: FINDINGS[paper] for paper, title in PAPERS.items()}
# Of each paper one claim on its own object that tells what it is about, for who reads counts alone.
IN_WORDS = ("optimal_attention", "common_tokens_lose", "theorem_1", "small_gaussian_starts")
CLAIMS = {
    title: [finding for finding in findings if isinstance(finding, Finding)]
    for title, findings in BY_TITLE.items()
}
# The table that decides a claim, by the claim's name.
TABLES = {claim.name: claim.table for claims in CLAIMS.values() for claim in claims}
# Of this package, which does not change while it runs; pages of many runs ask for it.
_declared = cache(read_declarations)


def figures_beside(tables: Iterable[str], figures: Collection[str]) -> dict[str, str]:
    """The figure to look at, by finding and by table: that of its name, or what shows the same.

    Args:
        tables, figures: names of results, `<folder>/<name>`.

    Returns:
        By table a figure of its folder whose declaration reads at least half of all that the two
        read; by finding one of its own. What has none is left out.
    """
    declared = _declared()
    reads = {
        (one.kind, name): set(one.reads.values())
        for kind, names in (("table", tables), ("figure", figures))
        for name in names
        for one in declared
        if one.kind == kind and one.matches(name)
    }
    figure_of = {finding: figure for finding, figure in _FIGURES.items() if figure in figures}
    for table in tables:
        its = reads.get(("table", table), set())
        alike = {
            figure: len(its & reads["figure", figure]) / len(its | reads["figure", figure])
            for figure in sorted(figures)  # of several as good the first by name
            if ("figure", figure) in reads and figure.split("/")[0] == table.split("/")[0]
        }
        best = table if table in figures else max(alike, key=alike.get, default="")
        if best == table or alike.get(best, 0) >= 0.5:
            figure_of[table] = best
    return figure_of
