"""The findings of all papers, and those among them that are claims."""

from onelayer.evidence.findings import Finding, Remark
from onelayer.papers import PAPERS
from onelayer.papers.decision_lists.findings import FINDINGS as DECISION_LISTS
from onelayer.papers.local_to_global.findings import FINDINGS as LOCAL_TO_GLOBAL
from onelayer.papers.scan_snap.findings import FINDINGS as SCAN_SNAP
from onelayer.papers.topic_structure.findings import FINDINGS as TOPIC_STRUCTURE

FINDINGS: dict[str, list[Finding | Remark]] = {
    "topic_structure": TOPIC_STRUCTURE,
    "scan_snap": SCAN_SNAP,
    "decision_lists": DECISION_LISTS,
    "local_to_global": LOCAL_TO_GLOBAL,
}
BY_TITLE = {title: FINDINGS[paper] for paper, title in PAPERS.items()}
CLAIMS = {
    title: [finding for finding in findings if isinstance(finding, Finding)]
    for title, findings in BY_TITLE.items()
}
