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


def effect(low, high, null, published, tolerance, drawn=False):
    """`published`: or null plus the effect that a control is a control of.

    `drawn`: labels drawn at random give our number as well.
    """
    near, far = sorted((null, published))
    if inside(null, null, published - tolerance, published + tolerance):
        return "undecided"
    if inside(10 * low, 10 * high, 10 * null - (far - near), 10 * null + (far - near)):
        return "negligible"
    if drawn or inside(null, null, low, high):
        short = high < published - tolerance if published > null else low > published + tolerance
        return "smaller or none" if short else "undecided"
    if (low > null) != (published > null):
        return "opposite"
    if meet(low, high, published - tolerance, published + tolerance):
        return "reproduced"
    return "smaller" if inside(low, high, near, far) else "larger"
