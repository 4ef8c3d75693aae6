"""Train the full matrix W on decision lists, V = cP: population flow, sampled flow, SGD."""

from functools import partial

import pandas as pd

from onelayer.device import resolve_device
from onelayer.papers.decision_lists import attention
from onelayer.settings.decision_lists import MOST_SHOWN, AttentionSettings
from onelayer.step import Step, run


def main(step: Step) -> None:
    settings = step.settings
    step.device = resolve_device(settings.device)
    progress = partial(step.progress, unit="step")
    checkpoint = step.checkpoint(step.outputs.runs)
    summaries, histories, scores = [], [], []
    for block in settings.runs:
        for seed in block.seeds:
            one = attention.AttentionRun(seed=seed, **block.model_dump(exclude={"seeds"}))
            flow = attention.train(one, step.device, progress, checkpoint, step.identity())
            summaries.append(attention.summary(one, flow))
            histories.append(attention.history(one, flow))
            if one.L <= MOST_SHOWN:
                scores.append(attention.scores_in_list_order(one, flow))
    pd.DataFrame(summaries).to_parquet(step.outputs.runs)
    pd.concat(histories, ignore_index=True).to_parquet(step.outputs.history)
    pd.concat(scores, ignore_index=True).to_parquet(step.outputs.scores)


if __name__ == "__main__":
    run(main, settings=AttentionSettings, outputs=["runs", "history", "scores"])
