"""All components trained together: E and attention over steps, with d = D and with d < D.

Li, Li & Risteski (2023), 'Interesting future directions': the interaction between components that
are trained jointly. Which of embeddings and attention has topic structure first?
"""

import pandas as pd
from torch import Tensor

from onelayer.compute.execution import Execution
from onelayer.compute.seeds import generator
from onelayer.papers.topic_structure.synthetic import attention, closed_form, data, model
from onelayer.papers.topic_structure.synthetic.gap_grid import as_defined
from onelayer.papers.topic_structure.synthetic.gaps import OBSERVED
from onelayer.papers.topic_structure.synthetic.training import Plan, Run, train_runs
from onelayer.settings.topic_structure_synthetic import (
    ComponentSettings,
    ComponentsOverStepsSettings,
    SyntheticTraining,
)

EVALUATED = 200  # unmasked documents on which attention is averaged


def all_components(
    base: SyntheticTraining,
    block: ComponentSettings,
    over: ComponentsOverStepsSettings,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """The gap of E and the attention ratio over steps, from PyTorch's default initial values.

    Returns:
        Rows `loss`, `optimizer`, `d`, `seed`, `step`, `gap` (of E = W_E^T W_E, between different
        words), `attention` (weight on another word of the topic over that on other topics),
        `diverged_at`.
    """
    words = as_defined(base.model)
    vocabulary = data.Vocabulary(words.T, words.v)
    rows = data.draw(words, block.documents, block.N, "components", tau=block.tau)
    rng = generator("components", "evaluation")
    weights = data.uniform_weights(rng, vocabulary.T, block.tau, EVALUATED)
    tokens = data.draw_documents(rng, vocabulary, weights, block.N)
    counts = attention.evaluation_counts(vocabulary, tokens, block.N[1])
    topics, parts = attention.correct_topics(vocabulary), []
    looks = sorted({*range(0, over.steps + 1, over.every), over.steps})

    def observe(parameters: dict[str, Tensor]) -> dict[str, Tensor]:
        return OBSERVED["E"](parameters) | {"S": model.attention_logits(parameters, "trained")}

    for loss, rates in block.rates.items():
        runs = [
            Run(seed, optimizer, rate)
            for optimizer, rate in rates.items()
            for seed in range(over.seeds)
        ]
        for d in (vocabulary.size, *over.d):
            plan = Plan(base.batch, base.chunk, over.steps, embedding="trained", loss=loss, d=d)
            part = execution.part(f"{loss}-{d}", f"{loss}, d = {d}")
            trained = train_runs(rows, runs, plan, observe, looks, part)
            setting = pd.DataFrame(runs)[["optimizer", "seed"]]
            setting = setting.assign(loss=loss, d=d, diverged_at=trained.diverged_at.numpy())
            for place, step in enumerate(trained.observed_at):
                E, S = (trained.observed[name][place].double() for name in ("matrix", "S"))
                averages = attention.pair_averages(S.numpy(), counts, topics, block.N[0])
                gap = closed_form.gap(vocabulary, E, diagonal=False)
                ratio = averages[:, 1] / averages[:, 2]  # same over different topic
                parts.append(setting.assign(step=step, gap=gap, attention=ratio))
    return pd.concat(parts, ignore_index=True)
