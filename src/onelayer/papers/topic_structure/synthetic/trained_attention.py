"""The published table: average attention by pair class after training, by optimiser and rate."""

import numpy as np
import pandas as pd

from onelayer.execution import Execution
from onelayer.papers.topic_structure.synthetic import attention, closed_form, data, model
from onelayer.papers.topic_structure.synthetic.documents import draw, vocabulary_of
from onelayer.papers.topic_structure.synthetic.training import Plan, Run, train_runs, without_bias
from onelayer.seeds import generator
from onelayer.settings.topic_structure_synthetic import TopicAttentionRun


def topic_attention(
    settings: TopicAttentionRun, execution: Execution = Execution()
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Average attention by pair class after training, and one run's matrices for the heat maps.

    Returns:
        Rows `variant`, `accounting` (correct or shifted topics), `optimizer`, `learning_rate`,
        `seed`, one column per pair class, `diverged_at`; and of the first row's first seed the
        logits `S` and `W_K^T W_Q` (as `weights`), [D, D], with the `document` of the heat map.
    """
    block = settings.attention
    variant = next(v for v in block.variants if v.name == settings.variant)
    rows = draw(
        settings.model,
        block.documents,
        block.N,
        "attention",
        concentration=block.concentration,
        masked_attended=variant.frozen_value,
    )
    vocabulary = vocabulary_of(settings.model)
    frozen = None
    if variant.frozen_value:
        optimum = closed_form.ridge_value(closed_form.moments(rows), 0.0)
        frozen = {"W_V": closed_form.blocks(vocabulary, optimum)}
    runs = [
        Run(seed, row.optimizer, row.learning_rate)
        for row in sorted(variant.optimizers, key=lambda row: row.optimizer)
        for seed in range(block.seeds)
    ]
    plan = Plan(
        batch=settings.batch,
        chunk=settings.chunk,
        steps=block.steps,
        embedding=variant.embedding,
        loss=variant.loss,
        trained=without_bias(variant.embedding, frozen or ()),
        frozen=frozen,
    )
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
    documents = _evaluation_documents(settings)
    S = trained.observed["S"][-1].double().numpy()
    known = pd.DataFrame(runs)[["optimizer", "learning_rate", "seed"]].assign(
        variant=variant.name, diverged_at=trained.diverged_at.numpy()
    )
    arrays = {
        "S": S[0],
        "weights": trained.observed["weights"][-1][0].numpy(),
        "document": documents[0, : block.evaluated_tokens],
    }
    return _averages(known, S, vocabulary, documents, block.evaluated_tokens), arrays


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


def _evaluation_documents(settings: TopicAttentionRun) -> np.ndarray:
    """Fresh unmasked documents, [documents, positions]."""
    block, vocabulary = settings.attention, vocabulary_of(settings.model)
    rng = generator("topic documents", "evaluation")
    weights = data.dirichlet_weights(
        rng, vocabulary.T, block.concentration, block.evaluated_documents
    )
    return data.draw_documents(rng, vocabulary, weights, block.N, framed=True)
