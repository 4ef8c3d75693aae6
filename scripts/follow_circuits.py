"""Follow values and attention of the four papers' models from their start on."""

import pandas as pd

from onelayer.compute.circuits import follow
from onelayer.compute.execution import execution_of
from onelayer.papers.decision_lists import circuits as decision_lists
from onelayer.papers.local_to_global import circuits as local_to_global
from onelayer.papers.scan_snap import circuits as scan_snap
from onelayer.papers.topic_structure.synthetic import circuits as topic_structure
from onelayer.run.step import Step, program
from onelayer.settings.circuits import CircuitSettings


@program(settings=CircuitSettings, outputs="distances")
def main(step: Step) -> None:
    asked, execution = step.settings, execution_of(step, step.outputs.distances)
    models = {
        "topic_structure": topic_structure.model(asked.topic_structure, execution.device),
        "scan_snap": scan_snap.model(asked.scan_snap, execution.device),
        "decision_lists": decision_lists.model(asked.decision_lists),
        "local_to_global": local_to_global.model(asked.local_to_global, execution.device),
    }
    found = {}
    for place, (paper, model) in enumerate(models.items()):
        how = getattr(asked, paper)
        found[paper] = follow(
            model, how.rates, asked.scales, asked.ratios, asked.seeds, how.steps, asked.observed,
            execution.part(place, paper),
        )  # fmt: skip
    step.write(distances=pd.concat(found, names=["paper"]).reset_index("paper"))
