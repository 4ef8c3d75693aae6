"""The optimal attention of stage 2 against tau, and what training W_K and W_Q reaches.

Li, Li & Risteski (2023), 'Stage 2 result: attention encodes topic structure'.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from onelayer.compute.checkpoint import Checkpoint
from onelayer.compute.execution import Execution
from onelayer.papers.topic_structure.synthetic import attention, closed_form, data, model, tied
from onelayer.papers.topic_structure.synthetic.documents import draw, vocabulary_of
from onelayer.papers.topic_structure.synthetic.training import Plan, Run, train_runs
from onelayer.settings.topic_structure_synthetic import (
    RatioOverTSettings,
    StageTwoSettings,
    TopicModelSettings,
)


def ratio_over_tau(
    words: TopicModelSettings,
    block: StageTwoSettings,
    batch: int,
    chunk: int,
    execution: Execution = Execution(),
) -> pd.DataFrame:
    """The optimal same-topic ratio for each tau, and the ratio that training K and Q reaches.

    W_V is frozen at stage 1's optimum for the documents at hand.

    Args:
        words: and their masking.
        block: documents and trainings.
        batch, chunk: as of `training.Plan`.
        execution: how the trainings run.

    Returns:
        Rows `method` (optimum or trained), `documents` (short or long), `tau`, `seed`, `alpha`,
        `beta`, `ratio`, `diverged_at`.
    """
    execution = replace(execution, checkpoint=Checkpoint())  # each training takes seconds
    plan = Plan(batch, chunk, block.steps, "one_hot", "squared", trained=("W_K", "W_Q"))
    lengths = {
        "short": (block.documents, block.N),
        "long": (block.documents_long, block.N_long),
    }
    found = []
    for tau in block.taus:
        for seed in range(block.seeds):
            for name, (documents, N) in lengths.items():
                known = {"documents": name, "tau": tau, "seed": seed}
                rows = draw(words, documents, N, f"stage two {name}", tau=tau, seed=seed)
                W_V = _stage_one_optimum(words, rows)
                found.append(known | _optimum(words, rows, W_V))
                if name == "short":
                    run = Run(seed, "adam", block.learning_rate)
                    own = replace(plan, frozen={"W_V": W_V})
                    found.append(known | _trained_ratio(words, rows, run, own, execution))
    return pd.DataFrame(found)


def ratio_over_topics(words: TopicModelSettings, block: RatioOverTSettings) -> pd.DataFrame:
    """The optimal same-topic ratio over tau and T, and with both kinds of selection.

    Args:
        words: in each topic, and their masking.
        block: documents.

    Returns:
        Rows `T`, `tau`, `selection`, `seed`, `alpha`, `beta`, `ratio`, `at_bound` (beta at the
        least value that the optimiser may take).
    """
    found = []
    for T in block.T:
        for selection in ("proportion", "independent") if block.T[0] == T else ("proportion",):
            model = words.model_copy(update={"T": T, "selection": selection})
            for tau in block.taus:
                for seed in range(block.seeds):
                    rows = draw(model, block.documents, block.N, "over T", tau=tau, seed=seed)
                    best = _optimum(model, rows, _stage_one_optimum(model, rows))
                    known = {"T": T, "tau": tau, "selection": selection, "seed": seed}
                    known["at_bound"] = bool(best["beta"] <= tied.LEAST * (1 + 1e-6))
                    found.append(known | {name: best[name] for name in ("alpha", "beta", "ratio")})
    return pd.DataFrame(found)


def _stage_one_optimum(words: TopicModelSettings, rows: data.Rows) -> np.ndarray:
    optimum = closed_form.ridge_value(closed_form.moments(rows), 0.0)
    return closed_form.blocks(vocabulary_of(words), optimum)


def _optimum(words: TopicModelSettings, rows: data.Rows, W_V: np.ndarray) -> dict:
    vocabulary = vocabulary_of(words)
    best = tied.optimal_attention(vocabulary, rows, W_V)
    return {
        "method": "optimum",
        "alpha": best.alpha,
        "beta": best.beta,
        "ratio": tied.ratio(vocabulary, best.alpha, best.beta),
        "diverged_at": -1,
    }


def _trained_ratio(
    words: TopicModelSettings, rows: data.Rows, run: Run, plan: Plan, execution: Execution
) -> dict:
    vocabulary = vocabulary_of(words)
    trained = train_runs(
        rows,
        [run],
        plan,
        lambda p: {"S": model.attention_logits(p, "one_hot")},
        execution=execution,
    )
    counts = rows.keys[:300].astype(np.float64)
    S = trained.observed["S"][-1].double().numpy()
    topics = attention.correct_topics(vocabulary)
    [(own, same, different)] = attention.pair_averages(S, counts, topics, length=100)
    alpha, beta = float(same / different), float(own / different)
    return {
        "method": "trained",
        "alpha": alpha,
        "beta": beta,
        "ratio": tied.ratio(vocabulary, alpha, beta),
        "diverged_at": int(trained.diverged_at[0]),
    }
