"""The findings of all papers, and those among them that are claims."""

from onelayer.evidence.findings import Finding, Remark
from onelayer.papers import PAPERS
from onelayer.papers.decision_lists.findings import FINDINGS as DECISION_LISTS
from onelayer.papers.local_to_global.findings import FINDINGS as LOCAL_TO_GLOBAL
from onelayer.papers.scan_snap.findings import FINDINGS as SCAN_SNAP
from onelayer.papers.topic_structure.findings import FINDINGS as TOPIC_STRUCTURE

# One question of all papers, each with the optimiser that its paper trains with.
_TRAINED_WITH = {
    "topic_structure": ("sgd", "the single-layer transformer trained with SGD on topics"),
    "scan_snap": ("sgd", "Scan and Snap's model trained with SGD"),
    "decision_lists": ("sgd", "the decision lists' model trained by gradient descent"),
    "local_to_global": ("adam", "a chain's transformer trained with Adam"),
}


def _values_before_attention(paper: str) -> Finding:
    optimizer, model = _TRAINED_WITH[paper]
    case = {"paper": paper, "optimizer": optimizer, "scale": 1.0, "ratio": 1.0}
    return Finding(
        f"values_before_attention_{paper}",
        "values are learnt before attention",
        "beyond the paper",
        "analogue",
        "all_papers/value_before_attention",
        case | {"quantity": "doublings_from_values_done"},
        f"{model}, from its usual start and at one rate for all,",
        "has learnt values before attention begins",
        "has not learnt values when attention begins",
        "attention comes a tenth of its way {it:2} doublings of time after values are done, "
        "{begun.value:.2f} after they come a tenth of theirs",
        beside={"begun": case | {"quantity": "doublings_from_values_begun"}},
    )


FINDINGS: dict[str, list[Finding | Remark]] = {
    paper: [*findings, _values_before_attention(paper)]
    for paper, findings in {
        "topic_structure": TOPIC_STRUCTURE,
        "scan_snap": SCAN_SNAP,
        "decision_lists": DECISION_LISTS,
        "local_to_global": LOCAL_TO_GLOBAL,
    }.items()
}
BY_TITLE = {title: FINDINGS[paper] for paper, title in PAPERS.items()}
CLAIMS = {
    title: [finding for finding in findings if isinstance(finding, Finding)]
    for title, findings in BY_TITLE.items()
}
