"""The rule of verdicts once more, by where whole intervals lie, in the quantity's own unit.

Nothing of `onelayer.evidence.verdicts` is used, and nothing is divided.
"""


def inside(low, high, first, last):
    return first <= low and high <= last


def meet(low, high, first, last):
    return low <= last and first <= high


def bound(low, high, published):
    if high <= published:
        return "reproduced"
    return "undecided" if low <= published else "opposite"


def number(low, high, published, tolerance, matters):
    if not meet(low, high, published - tolerance, published + tolerance):
        further = low > published if published >= 0 else high < published
        return "larger" if further else "smaller"
    return "reproduced" if high - low <= 2 * (matters + tolerance) else "undecided"


def direction(low, high, null, side, matters):
    if inside(low, high, null - matters, null + matters):
        return "negligible"
    if all(side * (end - null) > matters for end in (low, high)):
        return "reproduced"
    return (
        "opposite" if max(side * (end - null) for end in (low, high)) <= -matters else "undecided"
    )


def within_the_nulls_range(verdict, value, first, last):
    """What is said of a number that labels drawn at random give as well."""
    return "undecided" if verdict != "negligible" and first <= value <= last else verdict


def effect(low, high, null, published, tolerance):
    """`published`: or null plus the effect that a control is a control of."""
    near, far = sorted((null, published))
    if inside(null, null, published - tolerance, published + tolerance):
        return "undecided"
    if inside(10 * low, 10 * high, 10 * null - (far - near), 10 * null + (far - near)):
        return "negligible"
    if inside(null, null, low, high):
        return "undecided"
    if (low > null) != (published > null):
        return "opposite"
    if meet(low, high, published - tolerance, published + tolerance):
        return "reproduced"
    return "smaller" if inside(low, high, near, far) else "larger"
