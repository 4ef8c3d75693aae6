"""V alone under uniform attention, W = 0 (section II)."""

import numpy as np
import pandas as pd
import torch

from onelayer.decision_lists import data
from onelayer.decision_lists.model import evaluate, queries_of
from onelayer.settings.decision_lists import ValueTraining


def value_runs(settings: ValueTraining, progress: data.Progress = iter) -> pd.DataFrame:
    """V by gradient descent from 0, for every size and seed.

    A row per step with `L`, `n`, `m`, `shortest`, `seed`, `step`, `loss`, strict `accuracy` of the
    label, what `likeness` says, and `task_accuracy_ceiling`, the most that any V reaches at W = 0.
    """
    rows = []
    for size, seed, key in data.each_seed(settings.sizes, progress, settings.seeds):
        lists = data.lists_of_seed(size.L, size.m, seed, size.shortest)
        sequences = data.enumerate_sequences(size.L, size.n)
        queries = queries_of(lists, sequences)
        # Uniform attention gives all queries of a sequence the same output: at best it is the label
        # that most of them have.
        places = lists.determining_places(sequences.tokens)  # [S, n]
        votes = (places[:, :, None] == np.arange(size.n)).sum(axis=1)
        ceiling = float((sequences.probability * votes.max(axis=1)).sum() / size.n)
        W, V = torch.zeros(2, size.L, size.L, dtype=torch.float64)
        for step in range(settings.steps + 1):
            here = evaluate(W, V, queries)
            state = {"step": step, "loss": here.loss, "accuracy": here.accuracy}
            state |= {"task_accuracy_ceiling": ceiling} | likeness(V.numpy(), lists)
            rows.append(key | state)
            # Tokens that all lists treat alike tie but for rounding, which optim.SGD changes.
            V -= settings.eta * here.grad_V
    return pd.DataFrame(rows)


def likeness(V: np.ndarray, lists: data.DecisionLists) -> dict[str, float]:
    """How far V has the direction of P.

    `argmax_accuracy` is the share of tokens b whose largest V[., b] is at pi(b), `centred_cosine`
    that of V and P, each minus its mean; 0 for a constant V.
    """
    places = lists.permutation, np.arange(len(V))
    others = V.copy()
    others[places] = -np.inf
    right = V[places] > others.max(axis=0)
    V, P = V - V.mean(), lists.matrix - lists.matrix.mean()
    norm = np.linalg.norm(V)
    cosine = float((V * P).sum() / (norm * np.linalg.norm(P))) if norm > 0 else 0.0
    return {"argmax_accuracy": float(right.mean()), "centred_cosine": cosine}
