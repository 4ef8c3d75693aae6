"""Values and attention of the four papers' models, followed from their start on alike."""

import pandas as pd

from onelayer.compute.circuits import follow
from onelayer.compute.execution import Execution
from onelayer.papers.decision_lists import circuits as decision_lists
from onelayer.papers.local_to_global import circuits as local_to_global
from onelayer.papers.scan_snap import circuits as scan_snap
from onelayer.papers.topic_structure.synthetic import circuits as topic_structure
from onelayer.settings.circuits import CircuitSettings


def follow_papers(settings: CircuitSettings, execution: Execution) -> pd.DataFrame:
    """Rows of `follow` of every paper's model, `paper` before them."""
    models = {
        "topic_structure": topic_structure.model(settings.topic_structure, execution.device),
        "scan_snap": scan_snap.model(settings.scan_snap, execution.device),
        "decision_lists": decision_lists.model(settings.decision_lists),
        "local_to_global": local_to_global.model(settings.local_to_global, execution.device),
    }
    by_paper = {
        paper: follow(model, getattr(settings, paper), settings, execution.part(place, paper))
        for place, (paper, model) in enumerate(models.items())
    }
    return pd.concat(by_paper, names=["paper"]).reset_index("paper")
