"""Scan and Snap one sequence at a time: tokens written out, full M x M matrices, autograd."""

import torch


def sequences_of(task, counts, bounds, order):
    """Token lists, query, next and class of every sequence of a batch, tokens shuffled."""
    sequences = []
    for f in range(task.classes):
        for row in counts[bounds[f] : bounds[f + 1]]:
            tokens = []
            for slot, times in enumerate(row):
                token = slot if slot < 10 else 10 + 10 * f + slot - 10
                tokens += [token] * int(times)
            order.shuffle(tokens)
            query = 10 + 10 * task.classes + f // task.next_per_last
            following = 10 + 10 * task.classes + task.num_last + f
            sequences.append((tokens, query, following))
    return sequences


def mean_loss(Y, Z, sequences):
    """Mean cross-entropy; attention over positions, one softmax per sequence.

    With positions Y and Z have a column more for each place, after those of the M tokens.
    """
    M, losses = len(Y), []
    for tokens, query, following in sequences:
        places = range(M, M + len(tokens)) if Y.shape[1] > M else [None] * len(tokens)
        scores = torch.stack(
            [
                Z[query, token] + (0 if place is None else Z[query, place])
                for token, place in zip(tokens, places, strict=True)
            ]
        )
        attention = torch.softmax(scores, dim=0)
        combined = torch.zeros(Y.shape[1], dtype=Y.dtype)
        for weight, token, place in zip(attention, tokens, places, strict=True):
            one_hot = torch.zeros(Y.shape[1], dtype=Y.dtype)
            one_hot[token] = 1
            if place is not None:
                one_hot[place] = 1
            combined = combined + weight * one_hot
        logits = Y @ (combined / combined.square().sum().sqrt())
        losses.append(torch.logsumexp(logits, dim=0) - logits[following])
    return torch.stack(losses).mean()


def full_matrices(task, Y, Z):
    """The model's compact parameters of one run as M x M matrices."""
    M, contextual = task.vocabulary, task.contextual
    full_Y, full_Z = torch.zeros(M, M, dtype=Y.dtype), torch.zeros(M, M, dtype=Z.dtype)
    full_Y[:, :contextual] = Y.T
    for last in range(task.num_last):
        for column, value in enumerate(Z[last]):
            first = 10 + 10 * last * task.next_per_last
            token = column if column < 10 else first + column - 10
            full_Z[contextual + last, token] = value
    return full_Y, full_Z
