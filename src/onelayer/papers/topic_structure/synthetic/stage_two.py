"""The optimal attention of stage 2 against tau, and what training W_K and W_Q reaches.

Li, Li & Risteski (2023), 'Stage 2 result: attention encodes topic structure'.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.execution import Execution
from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.synthetic import attention, closed_form, data, model, tied
from onelayer.papers.topic_structure.synthetic.training import Plan, Run, train_runs
from onelayer.settings.topic_structure_synthetic import (
    OverMasksSettings,
    RatioOverTSettings,
    StageTwoSettings,
    SyntheticTraining,
    TopicModelSettings,
)


def ratio_over_tau(
    base: SyntheticTraining, block: StageTwoSettings, execution: Execution = Execution()
) -> pd.DataFrame:
    """The optimal same-topic ratio for each tau, and the ratio that training K and Q reaches.

    W_V is frozen at stage 1's optimum for the documents at hand.

    Returns:
        Rows `method` (optimum or trained), `documents` (short or long), `tau`, `seed`, `alpha`,
        `beta`, `ratio`, `diverged_at`.
    """
    execution = replace(execution, checkpoint=Checkpoint())  # each training takes seconds
    vocabulary = data.Vocabulary(base.model.T, base.model.v)
    plan = Plan(base.batch, base.chunk, block.steps, embedding="one_hot", loss="squared")
    lengths = {"short": (block.documents, block.N), "long": (block.documents_long, block.N_long)}
    results = []
    for tau, seed in itertools.product(block.taus, range(block.seeds)):
        for name, (documents, N) in lengths.items():
            keys = {"documents": name, "tau": tau, "seed": seed}
            rows = data.draw(base.model, documents, N, f"stage two {name}", tau=tau, seed=seed)
            W_V = closed_form.stage_one_optimum(vocabulary, rows)
            optimum = tied.optimal_attention(vocabulary, rows, W_V)
            results.append(keys | {"method": "optimum", "diverged_at": -1} | optimum)
            if name == "short":
                runs = [Run(seed, "adam", block.learning_rate)]
                [(word, topic, different)], [diverged] = attention_with_frozen_value(
                    vocabulary, rows, W_V, runs, plan, 100, execution
                )
                reached = tied.ratios(vocabulary, topic / different, word / different)
                results.append(keys | {"method": "trained", "diverged_at": diverged} | reached)
    return pd.DataFrame(results)


def ratio_over_topics(words: TopicModelSettings, block: RatioOverTSettings) -> pd.DataFrame:
    """The optimal same-topic ratio over tau and T, and with both kinds of selection.

    Returns:
        Rows `T`, `tau`, `selection`, `seed`, `words` (of a document, fewest and most), `alpha`,
        `beta`, `ratio`, `at_bound` (beta at the least value that the optimiser may take).
    """
    results, words_of = [], "{:,} to {:,} words".format(*block.N)
    for T in block.T:
        for selection in ("proportion", "independent") if block.T[0] == T else ("proportion",):
            model = words.model_copy(update={"T": T, "selection": selection})
            for tau, seed in itertools.product(block.taus, range(block.seeds)):
                best = _optimum(model, block, "over T", tau, seed)
                keys = {"T": T, "tau": tau, "selection": selection, "seed": seed}
                keys["words"] = words_of
                at_bound = best["beta"] <= tied.LEAST * (1 + 1e-6)
                results.append(keys | {"at_bound": at_bound} | best)
    return pd.DataFrame(results)


def ratio_over_masks(words: TopicModelSettings, block: OverMasksSettings) -> pd.DataFrame:
    """The optimal ratio over tau and over what words to predict show, where they show a word.

    As many of them show one as `words` has it, p_c + p_r; of these a share of `kept` shows its own,
    the others a random one. Without the former what a word shows tells nothing of what is to be
    predicted there, so that in long documents every word's optimal attention is uniform.

    Returns:
        Rows `kept`, `p_c`, `p_r`, `tau`, `seed`, `alpha`, `beta`, `ratio`.

    Raises:
        OnelayerError: there is no share of `kept`.
    """
    if not block.kept:
        raise OnelayerError(
            "topic_structure.synthetic.over_masks.kept: no shares of words to predict that stay as "
            "they are; name some, from 0 to 1, as config/masks_in_theory.yaml does"
        )
    results, shown = [], words.p_c + words.p_r
    for kept, tau, seed in itertools.product(block.kept, block.taus, range(block.seeds)):
        masks = {"p_c": kept * shown, "p_r": (1 - kept) * shown}
        best = _optimum(words.but(**masks), block, "masks", tau, seed)
        results.append({"kept": kept, **masks, "tau": tau, "seed": seed} | best)
    return pd.DataFrame(results)


def _optimum(
    words: TopicModelSettings,
    block: OverMasksSettings | RatioOverTSettings,
    use: str,
    tau: int,
    seed: int,
) -> dict[str, float]:
    """`tied.optimal_attention` on one draw of documents, W_V frozen at stage 1's optimum there."""
    vocabulary = data.Vocabulary(words.T, words.v)
    rows = data.draw(words, block.documents, block.N, use, tau=tau, seed=seed)
    W_V = closed_form.stage_one_optimum(vocabulary, rows)
    return tied.optimal_attention(vocabulary, rows, W_V)


def attention_with_frozen_value(
    vocabulary: data.Vocabulary,
    rows: data.CountRows,
    W_V: np.ndarray,
    runs: Sequence[Run],
    plan: Plan,
    length: int,
    execution: Execution,
) -> tuple[np.ndarray, np.ndarray]:
    """Train W_K and W_Q of one-hot models alone, and average their attention on the documents.

    Returns:
        Averages as `attention.pair_averages`, of documents of that length; and at which step runs
        diverged, [runs].
    """
    trained = train_runs(
        rows,
        runs,
        replace(plan, frozen={"W_V": W_V}),
        lambda p: {"S": model.attention_logits(p, "one_hot")},
        execution=execution,
    )
    S, counts = trained.observed["S"][-1].double().numpy(), rows.keys[:300].astype(np.float64)
    topics = attention.correct_topics(vocabulary)
    return attention.pair_averages(S, counts, topics, length), trained.diverged_at.numpy()
