"""Scan and Snap one sequence at a time: tokens written out, full M x M matrices, autograd."""

import torch


def sequences_of(task, counts, classes, order):
    """Token lists, query and next token of every sequence of a batch, tokens shuffled."""
    sequences = []
    for row, f in zip(counts, classes.tolist(), strict=True):
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
    """Mean cross-entropy; attention over positions, one softmax per sequence."""
    losses = []
    for tokens, query, following in sequences:
        one_hot = torch.zeros(len(tokens), len(Y), dtype=Y.dtype)
        for row, token in zip(one_hot, tokens, strict=True):
            row[token] = 1
        attention = torch.softmax(one_hot @ Z[query], dim=0)
        combined = attention @ one_hot
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
