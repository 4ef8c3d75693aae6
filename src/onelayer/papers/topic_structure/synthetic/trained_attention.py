"""The published table: average attention by pair class after training, by optimiser and rate."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from torch import Tensor

from onelayer.compute.ensemble import Trained
from onelayer.compute.execution import Execution
from onelayer.compute.seeds import generator
from onelayer.papers.topic_structure.synthetic import attention, closed_form, data, model
from onelayer.papers.topic_structure.synthetic.training import (
    DocumentBatches,
    Plan,
    Run,
    train_runs,
)
from onelayer.settings.topic_structure_synthetic import (
    AttentionTableSettings,
    AttentionVariant,
    OptimizerKind,
    OptimizerSettings,
    OverStepsSettings,
    SyntheticTraining,
    TopicModelSettings,
)


def topic_attention(
    base: SyntheticTraining,
    block: AttentionTableSettings,
    name: str,
    execution: Execution = Execution(),
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Average attention by pair class after training, and one run's matrices for the heat maps.

    Returns:
        Rows `variant`, `accounting` (correct or shifted topics), `optimizer`, `learning_rate`,
        `seed`, `step`, one column per pair class, `diverged_at`; and of the first row's first seed
        the logits `S` and `W_K^T W_Q` (as `weights`), [D, D], with the heat map's `document`.
    """
    variant = block.variant(name)
    rates = sorted(variant.optimizers, key=lambda row: row.optimizer)
    runs, looks = _runs(rates, block.seeds), [block.steps]
    averages, trained = _train(
        base, block, variant, runs, looks, lambda p: {"weights": p["W_K"].mT @ p["W_Q"]}, execution
    )
    return averages, {
        "S": trained.observed["S"][-1, 0].double().numpy(),
        "weights": trained.observed["weights"][-1, 0].numpy(),
        "document": _evaluation_documents(base.model, block, variant)[0, : block.evaluated_tokens],
    }


def attention_over_steps(
    base: SyntheticTraining,
    block: AttentionTableSettings,
    longer: OverStepsSettings,
    optimizer: OptimizerKind,
    released_steps: int,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """Average attention by pair class, and the loss on documents not trained on, against steps.

    The first steps are those of `topic_attention`: the same documents in the same order.

    Args:
        base, block: of the trainings of the table, of which it is one.
        longer: which of its variants, and for how long.
        released_steps: updates of the released configuration, after which it looks, too (steps).

    Returns:
        Rows as `topic_attention`, with `held_out_loss`; what a diverged run was frozen at stands in
        its later rows.
    """
    variant, steps = block.variant(longer.variant), longer.steps[optimizer]
    count = longer.held_out_documents
    held_out = _masked_documents(base, block, variant, count, "attention, held out")
    unseen = DocumentBatches(held_out, [0], count, execution.device)(0)
    rates = [row for row in variant.optimizers if row.optimizer == optimizer]
    runs = _runs(rates, longer.seeds[optimizer])
    looks = _looks(longer.looks, steps, block.steps, released_steps)

    def held_out_loss(p: dict[str, Tensor]) -> dict[str, Tensor]:
        loss, _ = model.gradients(p, unseen, variant.embedding, variant.loss)
        return {"held_out_loss": loss}

    averages, trained = _train(base, block, variant, runs, looks, held_out_loss, execution)
    loss = trained.observed["held_out_loss"].double().numpy()  # [looks, runs]
    # Each look has its runs twice: by correct and by shifted topics.
    return averages.assign(held_out_loss=loss.repeat(2, axis=0).ravel())


def _looks(per_decade: int, steps: int, *also: int) -> list[int]:
    """Steps at which to look: the start, evenly spaced logarithms from 10 on, the end, and more."""
    decades = math.log10(max(steps, 10))
    grid = np.logspace(1, decades, max(2, round(per_decade * (decades - 1)) + 1))
    looks = {0, *grid.round().astype(int).tolist(), steps, *also}
    return sorted(step for step in looks if step <= steps)


def _masked_documents(
    base: SyntheticTraining,
    block: AttentionTableSettings,
    variant: AttentionVariant,
    documents: int,
    use: str,
) -> data.CountRows:
    of = {"concentration": block.concentration, "masked_attended": variant.masked_attended}
    words = variant.masked(base.model)
    return data.draw(words, documents, block.N, use, tau=variant.tau, **of)


def _runs(rates: Sequence[OptimizerSettings], seeds: int) -> list[Run]:
    return [Run(seed, one.optimizer, one.learning_rate) for one in rates for seed in range(seeds)]


def _train(
    base: SyntheticTraining,
    block: AttentionTableSettings,
    variant: AttentionVariant,
    runs: Sequence[Run],
    looks: Sequence[int],
    observe: Callable[[dict[str, Tensor]], dict[str, Tensor]],
    execution: Execution,
) -> tuple[pd.DataFrame, Trained]:
    """Train a variant; keep its logits `S` and what `observe` returns at each of the looks.

    Args:
        looks: updates after which it looks, ascending; training ends at the last.
        observe: parameters -> tensors to keep beside `S`.

    Returns:
        Averages by pair class, look by look, in each by correct and by shifted topics, run by run.
    """
    vocabulary, tokens = data.Vocabulary(base.model.T, base.model.v), block.evaluated_tokens
    rows = _masked_documents(base, block, variant, block.documents, "attention")
    frozen = None
    if variant.frozen_value:
        frozen = {"W_V": closed_form.stage_one_optimum(vocabulary, rows)}
    trained = train_runs(
        rows,
        runs,
        Plan(base.batch, base.chunk, looks[-1], variant.embedding, variant.loss, frozen=frozen),
        lambda p: {"S": model.attention_logits(p, variant.embedding)} | observe(p),
        looks,
        execution,
    )
    of_runs = pd.DataFrame(runs)[["optimizer", "learning_rate", "seed"]]
    of_runs = of_runs.assign(variant=variant.name, diverged_at=trained.diverged_at.numpy())
    documents = _evaluation_documents(base.model, block, variant)
    counts, parts = attention.evaluation_counts(vocabulary, documents, tokens), []
    accountings = {
        "correct": attention.correct_topics(vocabulary),
        "shifted": attention.shifted_topics(vocabulary),
    }
    for step, S in zip(trained.observed_at, trained.observed["S"].double().numpy(), strict=True):
        for accounting, topics in accountings.items():
            averages = attention.pair_averages(S, counts, topics, tokens)
            looked = of_runs.assign(step=step, accounting=accounting)
            looked[list(attention.PAIR_CLASSES)] = averages
            parts.append(looked)
    return pd.concat(parts, ignore_index=True), trained


def _evaluation_documents(
    words: TopicModelSettings, block: AttentionTableSettings, variant: AttentionVariant
) -> np.ndarray:
    """Fresh documents like those of the training, unmasked, [documents, positions]."""
    rng = generator("topic documents", "evaluation")
    of = variant.tau, block.concentration
    weights = data.topic_weights(rng, words.T, block.evaluated_documents, *of)
    vocabulary, framed = data.Vocabulary(words.T, words.v), not variant.masked_attended
    return data.draw_documents(rng, vocabulary, weights, block.N, framed)
