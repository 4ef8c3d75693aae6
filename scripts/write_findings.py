"""Write the findings: sentences whose numbers and wording come from the tables."""

from onelayer.findings import page
from onelayer.papers import PAPERS
from onelayer.papers.decision_lists.findings import FINDINGS as DECISION_LISTS
from onelayer.papers.local_to_global.findings import FINDINGS as LOCAL_TO_GLOBAL
from onelayer.papers.scan_snap.findings import FINDINGS as SCAN_SNAP
from onelayer.papers.topic_structure.findings import FINDINGS as TOPIC_STRUCTURE
from onelayer.step import Step, run
from onelayer.tables import read_tables

FINDINGS = {
    "topic_structure": TOPIC_STRUCTURE,
    "scan_snap": SCAN_SNAP,
    "decision_lists": DECISION_LISTS,
    "local_to_global": LOCAL_TO_GLOBAL,
}


def main(step: Step) -> None:
    papers = {title: FINDINGS[paper] for paper, title in PAPERS.items()}
    step.outputs.findings.write_text(
        page(papers, read_tables(step.inputs.tables)), encoding="utf-8"
    )


if __name__ == "__main__":
    run(main, inputs=["tables*"], outputs=["findings"])
