"""The published table: average attention by pair class after training, by optimiser and rate."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from onelayer.compute.ensemble import Trained
from onelayer.compute.execution import Execution
from onelayer.compute.seeds import generator
from onelayer.papers.topic_structure.synthetic import attention, closed_form, data, model
from onelayer.papers.topic_structure.synthetic.documents import draw, vocabulary_of
from onelayer.papers.topic_structure.synthetic.training import (
    Batches,
    Plan,
    Run,
    train_runs,
    without_bias,
)
from onelayer.settings.topic_structure_synthetic import (
    AttentionTableSettings,
    AttentionVariant,
    OptimizerKind,
    OptimizerSettings,
    OverStepsSettings,
    TopicModelSettings,
)


def topic_attention(
    words: TopicModelSettings,
    block: AttentionTableSettings,
    name: str,
    batch: int,
    chunk: int,
    execution: Execution = Execution(),
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Average attention by pair class after training, and one run's matrices for the heat maps.

    Args:
        words: and their masking.
        block: the trainings.
        name: the variant's.
        batch, chunk: as of `training.Plan`.
        execution: how the training runs.

    Returns:
        Rows `variant`, `accounting` (correct or shifted topics), `optimizer`, `learning_rate`,
        `seed`, `step`, one column per pair class, `diverged_at`; and of the first row's first seed
        the logits `S` and `W_K^T W_Q` (as `weights`), [D, D], with the heat map's `document`.
    """
    variant, vocabulary = block.variant(name), vocabulary_of(words)
    rows = _masked_documents(words, block, variant, block.documents, "attention")
    optimizers = sorted(variant.optimizers, key=lambda row: row.optimizer)
    runs = _runs(optimizers, block.seeds)
    plan = _plan(vocabulary, variant, rows, block.steps, batch, chunk)
    trained = train_runs(
        rows,
        runs,
        plan,
        lambda p: {
            "S": model.attention_logits(p, variant.embedding),
            "weights": p["W_K"].mT @ p["W_Q"],
        },
        execution=execution,
    )
    documents = _evaluation_documents(vocabulary, block)
    S = trained.observed["S"][-1].double().numpy()
    known = _known(runs, variant, trained).assign(step=block.steps)
    arrays = {
        "S": S[0],
        "weights": trained.observed["weights"][-1][0].numpy(),
        "document": documents[0, : block.evaluated_tokens],
    }
    return _averages(known, S, vocabulary, documents, block.evaluated_tokens), arrays


def attention_over_steps(
    words: TopicModelSettings,
    block: AttentionTableSettings,
    longer: OverStepsSettings,
    optimizer: OptimizerKind,
    released_steps: int,
    batch: int,
    chunk: int,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """Average attention by pair class, and the loss on documents not trained on, against steps.

    The first steps are those of `topic_attention`: the same documents in the same order.

    Args:
        words: and their masking.
        block: the trainings of the table.
        longer: which of its variants, and for how long.
        optimizer: of the runs.
        released_steps: updates of the released configuration, after which it looks, too (steps).
        batch, chunk: as of `training.Plan`.
        execution: how the training runs.

    Returns:
        Rows as `topic_attention`, with `step` and `held_out_loss`; what a diverged run was frozen
        at stands in its later rows.
    """
    variant, vocabulary = block.variant(longer.variant), vocabulary_of(words)
    rows = _masked_documents(words, block, variant, block.documents, "attention")
    count = longer.held_out_documents
    held_out = _masked_documents(words, block, variant, count, "attention, held out")
    unseen = Batches(held_out, [0], count, execution.device)(0)
    optimizers = [row for row in variant.optimizers if row.optimizer == optimizer]
    runs = _runs(optimizers, longer.seeds[optimizer])
    plan = _plan(vocabulary, variant, rows, longer.steps[optimizer], batch, chunk)
    trained = train_runs(
        rows,
        runs,
        plan,
        lambda p: {
            "S": model.attention_logits(p, variant.embedding),
            "held_out_loss": model.gradients(p, unseen, variant.embedding, variant.loss)[0],
        },
        _looks(longer.looks, plan.steps, block.steps, released_steps),
        execution,
    )
    documents, known = _evaluation_documents(vocabulary, block), _known(runs, variant, trained)
    counts = (vocabulary, documents, block.evaluated_tokens)
    parts = []
    for place, step in enumerate(trained.observed_at):
        loss = trained.observed["held_out_loss"][place].double().numpy()
        S = trained.observed["S"][place].double().numpy()
        parts.append(_averages(known.assign(step=step, held_out_loss=loss), S, *counts))
    return pd.concat(parts, ignore_index=True)


def _looks(per_decade: int, steps: int, *also: int) -> list[int]:
    """Steps at which to look: the start, evenly spaced logarithms from 10 on, the end, and more."""
    decades = math.log10(max(steps, 10))
    grid = np.logspace(1, decades, max(2, round(per_decade * (decades - 1)) + 1))
    looks = {0, *grid.round().astype(int).tolist(), steps, *also}
    return sorted(step for step in looks if step <= steps)


def _masked_documents(
    words: TopicModelSettings,
    block: AttentionTableSettings,
    variant: AttentionVariant,
    documents: int,
    use: str,
) -> data.Rows:
    return draw(
        words,
        documents,
        block.N,
        use,
        concentration=block.concentration,
        masked_attended=variant.frozen_value,
    )


def _runs(optimizers: Sequence[OptimizerSettings], seeds: int) -> list[Run]:
    return [
        Run(seed, row.optimizer, row.learning_rate) for row in optimizers for seed in range(seeds)
    ]


def _plan(
    vocabulary: data.Vocabulary,
    variant: AttentionVariant,
    rows: data.Rows,
    steps: int,
    batch: int,
    chunk: int,
) -> Plan:
    frozen = None
    if variant.frozen_value:
        optimum = closed_form.ridge_value(closed_form.moments(rows), 0.0)
        frozen = {"W_V": closed_form.blocks(vocabulary, optimum)}
    return Plan(
        batch=batch,
        chunk=chunk,
        steps=steps,
        embedding=variant.embedding,
        loss=variant.loss,
        trained=without_bias(variant.embedding, frozen or ()),
        frozen=frozen,
    )


def _known(runs: Sequence[Run], variant: AttentionVariant, trained: Trained) -> pd.DataFrame:
    """What is known of every run beside its averages."""
    known = pd.DataFrame(runs)[["optimizer", "learning_rate", "seed"]]
    return known.assign(variant=variant.name, diverged_at=trained.diverged_at.numpy())


def _averages(
    known: pd.DataFrame,
    S: np.ndarray,
    vocabulary: data.Vocabulary,
    documents: np.ndarray,
    tokens: int,
) -> pd.DataFrame:
    """Averages by pair class beside what is `known` of every run, by correct and shifted topics."""
    counts = attention.evaluation_counts(vocabulary, documents, tokens)
    found = []
    for accounting, topics in (
        ("correct", attention.correct_topics(vocabulary)),
        ("shifted", attention.shifted_topics(vocabulary)),
    ):
        averages = attention.pair_averages(S, counts, topics, tokens)
        by_class = pd.DataFrame(averages, columns=list(attention.PAIR_CLASSES))
        found.append(pd.concat([known.assign(accounting=accounting), by_class], axis=1))
    return pd.concat(found, ignore_index=True)


def _evaluation_documents(vocabulary: data.Vocabulary, block: AttentionTableSettings) -> np.ndarray:
    """Fresh unmasked documents, [documents, positions]."""
    rng = generator("topic documents", "evaluation")
    weights = data.dirichlet_weights(
        rng, vocabulary.T, block.concentration, block.evaluated_documents
    )
    return data.draw_documents(rng, vocabulary, weights, block.N, framed=True)
