"""Brackets in place of topics: a context-free language through the same stages.

Li, Li & Risteski (2023), 'Interesting future directions', name the Dyck grammar as ongoing work.
Well-nested words over several types of brackets; a type stands where a topic stood, with v = 2
words, the opening and the closing bracket. All types are equally likely in every document, so that
a type is no topic: words share nothing but that each opening bracket has its closing one.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from onelayer.compute.execution import Execution
from onelayer.compute.seeds import generator
from onelayer.papers.topic_structure.synthetic import attention, closed_form, data
from onelayer.papers.topic_structure.synthetic.gap_grid import as_defined
from onelayer.papers.topic_structure.synthetic.norms import frobenius, norms_of
from onelayer.papers.topic_structure.synthetic.stage_two import attention_with_frozen_value
from onelayer.papers.topic_structure.synthetic.training import Plan, Run, train_runs
from onelayer.settings.topic_structure_synthetic import (
    DyckSettings,
    MaskingSettings,
    SyntheticTraining,
)


def bracket_words(rng: np.random.Generator, block: DyckSettings) -> np.ndarray:
    """Well-nested bracket words: at each place an opening bracket of any type, or the closing one.

    Either is as likely where both are possible. Lengths are even, uniform between the two of N.

    Returns:
        Token ids, int64 [documents, longest], padded with PAD; 4 + 2 type opens, the next closes.
    """
    documents = block.documents
    length = 2 * rng.integers((block.N[0] + 1) // 2, block.N[1] // 2 + 1, documents)
    tokens = np.full((documents, length.max()), data.PAD)
    stack = np.zeros((documents, block.depth), dtype=np.int64)
    height, each = np.zeros(documents, dtype=np.int64), np.arange(documents)
    for place in range(tokens.shape[1]):
        places_left = length - place
        opens = rng.random(documents) < 0.5
        opens = ((height == 0) | (opens & (height < block.depth))) & (places_left > height)
        kind = rng.integers(block.types, size=documents)
        top = stack[each, height - 1]
        stack[each[opens], height[opens]] = kind[opens]
        token = data.SPECIAL + 2 * np.where(opens, kind, top) + ~opens
        tokens[:, place] = np.where(places_left > 0, token, data.PAD)
        height += np.where(places_left > 0, 2 * opens - 1, 0)
    return tokens


def dyck(
    base: SyntheticTraining, block: DyckSettings, execution: Execution = Execution()
) -> tuple[pd.DataFrame, ...]:
    """Stage 1's optima, the two stages, and stage 2's attention on bracket words.

    Words are masked as the settings say, but for the kind of selection.

    Returns:
        Rows `quantity`, `seed`, `value`, `expected` (exact, for documents of this length; NaN
        where nothing is known): the gap between and within types of W_V and of E, and the weights
        that trained W_K and W_Q give the same bracket (`same_word`), its partner (`same_topic`)
        and other types; and norms as of `norms.two_stages`.
    """
    masking, vocabulary = as_defined(base.model), data.Vocabulary(block.types, 2)
    drawn = []
    for seed in range(block.seeds):
        rng = generator("brackets", seed)
        tokens = bracket_words(rng, block)
        shown, selected = data.mask_documents(rng, vocabulary, tokens, masking)
        drawn.append(data.count_rows(vocabulary, tokens, shown, selected))
    table = [row for seed, rows in enumerate(drawn) for row in _optima(block, masking, rows, seed)]
    rows, runs = drawn[0], [Run(seed, "adam", block.learning_rate) for seed in range(block.seeds)]
    plan = Plan(base.batch, base.chunk, block.steps, embedding="one_hot", loss="squared")
    W_V = closed_form.ridge_value(closed_form.moments(rows), 0.0)
    part = execution.part("stage-two", "brackets, stage 2")
    averages, diverged_at = attention_with_frozen_value(
        vocabulary, rows, W_V, runs, plan, block.N[0], part
    )
    averages[diverged_at >= 0] = np.nan
    for seed, of_run in enumerate(averages.tolist()):
        of_classes = zip(attention.PAIR_CLASSES, of_run, strict=True)
        table += [(quantity, seed, value, np.nan) for quantity, value in of_classes]
    plan = replace(plan, loss="mean_squared")
    part = execution.part("two-stages", "brackets, two stages")
    runs = [replace(run, noise=block.noise) for run in runs]
    trained = train_runs(rows, runs, plan, frobenius, range(block.steps + 1), part)
    norms = [norms_of("setting", "brackets", run, trained, run.seed) for run in runs]
    columns = ["quantity", "seed", "value", "expected"]
    return pd.DataFrame(table, columns=columns), pd.concat(norms, ignore_index=True)


def partner_minus_self(matrix: np.ndarray) -> float:
    """Mean entry between the two brackets of a type minus that of a bracket and itself."""
    words = matrix[data.SPECIAL :, data.SPECIAL :]
    partner = np.arange(len(words)) ^ 1
    return float((words[np.arange(len(words)), partner] - np.diag(words)).mean())


def _optima(
    block: DyckSettings, masking: MaskingSettings, rows: data.CountRows, seed: int
) -> Iterator[tuple[str, int, float, float]]:
    vocabulary, moments = data.Vocabulary(block.types, 2), closed_form.moments(rows)
    words = 2 * np.arange((block.N[0] + 1) // 2, block.N[1] // 2 + 1)
    # A bracket shares its type with its partner, one of the N - 1 other words, and with the rest on
    # average nothing; of opening against closing it shares the opposite.
    types, sides = (closed_form.contrast_scale(masking, words, s / (words - 1)) for s in (1, -1))
    for name, matrix, of_sides in (
        ("W_V", closed_form.ridge_value(moments, 0.0), -sides),
        # E has no negative eigenvalue: none for what an opening bracket lacks.
        ("E", closed_form.ridge_embedding(moments, 0.0), 0.0),
    ):
        yield f"{name}_gap", seed, float(closed_form.gap(vocabulary, matrix)), types / 2
        yield f"{name}_partner_minus_self", seed, partner_minus_self(matrix), of_sides
