"""Train V alone on decision lists, under uniform attention (W = 0)."""

import pandas as pd

from onelayer.papers.decision_lists import starts
from onelayer.settings.decision_lists import ValueSettings, size_of
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings = step.settings
    problems = [
        starts.Problem(*size_of(s), seed) for s in settings.sizes for seed in settings.seeds
    ]
    histories, ceilings, values = [], [], []
    for problem in step.progress(problems, unit="run"):
        trained = starts.value_run(problem, settings.eta, settings.steps, settings.record_every)
        histories.append(starts.value_history(problem, trained))
        ceiling = starts.uniform_attention_ceiling(problem)
        ceilings.append(problem.key | {"task_accuracy_ceiling": ceiling})
        values.append(starts.value_in_label_order(problem, trained))
    pd.concat(histories, ignore_index=True).to_parquet(step.outputs.history)
    pd.DataFrame(ceilings).to_parquet(step.outputs.ceilings)
    pd.concat(values, ignore_index=True).to_parquet(step.outputs.values)


if __name__ == "__main__":
    run(main, settings=ValueSettings, outputs=["history", "ceilings", "values"])
