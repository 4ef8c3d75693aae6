"""One package per paper; papers never import each other."""

# What each paper is called where its results are shown.
PAPERS = {
    "topic_structure": "Topic structure",
    "scan_snap": "Scan and Snap",
    "decision_lists": "Decision lists",
    "local_to_global": "Local to Global",
}
