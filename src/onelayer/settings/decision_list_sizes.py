"""What the sizes of a decision-list problem may be (section I.A-B); a refusal is one line."""

import math

MOST_TOKENS = 50_000_000  # of all sequences together: what enumeration keeps in memory


def check_sizes(L: int, n: int, m: int | None = None) -> None:
    """Refuse sizes that describe no decision-list problem.

    Args:
        L: number of tokens in the vocabulary.
        n: number of distinct tokens in a sequence.
        m: length of the longest list, or None where there are no lists yet.

    Raises:
        ValueError: n < 1, n > L, m < 1, m > L or m > n.
    """
    if n < 1:
        raise ValueError(f"n = {n}: a sequence has at least 1 token")
    if n > L:
        raise ValueError(f"n = {n}: a sequence of distinct tokens has at most L = {L}")
    if m is None:
        return
    if m < 1:
        raise ValueError(f"m = {m}: a list ends with its own token, so it has at least 1")
    if m > L:
        raise ValueError(f"m = {m}: a list of distinct tokens has at most L = {L}")
    if m > n:
        raise ValueError(f"m = {m}: a list that never fits a sequence; allowed up to n = {n}")


def check_shortest(shortest: int | None, m: int) -> None:
    """Refuse a shortest list that is not shorter than the longest, of m tokens.

    Raises:
        ValueError: shortest >= m.
    """
    if shortest is not None and shortest >= m:
        raise ValueError(
            f"shortest = {shortest}: must be below m = {m}; leave it out where all lists have {m}"
        )


def check_enumerable(L: int, n: int) -> None:
    """Refuse sizes of which the sequences are too many to list.

    Raises:
        ValueError: all n-subsets of L together have more than 50 million tokens.
    """
    if (count := math.comb(L, n)) * n > MOST_TOKENS:
        raise ValueError(f"n = {n} of L = {L}: {count:,} sequences are too many to enumerate")


def check_every_place_determines(L: int, n: int, m: int) -> None:
    """Refuse sizes for which gamma is 0 and Theorem 1's bound infinite.

    Raises:
        ValueError: every sequence holds one of a_1, ..., a_{m-1}, so that the own token never
            determines the label.
    """
    if m > 1 and n + m - 1 > L:
        raise ValueError(
            f"L = {L}: with n = {n} and m = {m} the own token never determines a label; "
            f"allowed from L = {n + m - 1}"
        )
