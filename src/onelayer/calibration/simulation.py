"""Simulated seeds and documents, put through the intervals and the rule that judge real ones.

Every data set has a true value, seeds that differ from it and documents that do, too, all seeds
reading the same ones: what is measured of seed s in document d is truth + a_s + b_d. Normal ones,
and skewed ones (exponential, of skewness 2), both with mean 0.
"""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
from scipy.special import comb

from onelayer.compute.seeds import generator
from onelayer.evidence import intervals
from onelayer.evidence.verdicts import Measured, Number
from onelayer.papers.topic_structure.wikipedia.probe.uncertainty import document_weights
from onelayer.settings.calibration import EffectCalibration, IntervalCalibration

NORMAL, SKEWED = "normal", "skewed"
SHAPES = (NORMAL, SKEWED)
MEAN, SHARE = "mean of runs", "share of runs"
PLAIN, DOCUMENTS = "documents, plain percentiles", "documents"
OVER_SEEDS = "seeds and documents"
AT_ONCE = 500  # data sets that share their resamples
NORMAL_95 = 1.959963984540054  # half of the 95% interval of a standard normal number


def noise(shape: str, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Independent numbers with mean 0 and standard deviation 1."""
    return rng.normal(size=size) if shape == NORMAL else rng.exponential(size=size) - 1


def resampled_means(
    shape: str, documents: int, trials: int, resamples: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Means over documents of many data sets, and those over resampled documents.

    A document's standard deviation is sqrt(documents): that of a mean is 1.

    Returns:
        Two arrays: [trials], and [resamples, trials].
    """
    means, replicates = [], []
    for first in range(0, trials, AT_ONCE):
        size = documents, min(AT_ONCE, trials - first)
        measured = np.sqrt(documents) * noise(shape, size, rng)
        means.append(measured.mean(axis=0))
        replicates.append(document_weights(documents, resamples, rng) @ measured / documents)
    return np.concatenate(means), np.concatenate(replicates, axis=1)


def simulated_intervals(
    shape: str,
    seeds: int,
    documents: int,
    deviations: tuple[float, float],
    trials: int,
    resamples: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Value, low and high of `over_seeds` of many data sets whose truth is 0, [trials, 3].

    Deviations are standard deviations of a seed's effect, and of the mean over documents.
    """
    by_seed, by_document = deviations
    means, replicates = resampled_means(shape, documents, trials, resamples, rng)
    ends = intervals.bootstrap_interval(by_document * replicates, documents)
    of_seeds = by_seed * noise(shape, (trials, seeds), rng) + by_document * means[:, None]
    # The seeds' mean moves the replicates of each data set as a whole.
    moved = of_seeds.mean(axis=1) - by_document * means
    parts = zip(of_seeds, ends[0] + moved, ends[1] + moved, strict=True)
    return np.array([intervals.over_seeds(*part) for part in parts])


def coverage(settings: IntervalCalibration, seed: int) -> pd.DataFrame:
    """How often 95% intervals hold the truth.

    Returns:
        Rows `case`, `shape`, `seeds`, `documents`, `spread`, `share` (NaN or empty where it has no
        meaning), `covered`, the number of data sets whose interval holds the truth, and `trials`.
        Of shares there are no data sets: `covered` is their exact share, of one trial.
    """
    rows: list[dict] = []

    def add(case: str, low: np.ndarray, high: np.ndarray, **of: object) -> None:
        held = int(((low <= 0) & (high >= 0)).sum())
        rows.append({"case": case, "covered": held, "trials": len(low)} | of)

    drawn = settings.trials, settings.resamples
    for shape in SHAPES:
        for seeds in settings.seeds:
            runs = noise(shape, (settings.trials, seeds), generator(MEAN, shape, seeds, seed))
            estimates = pd.DataFrame([intervals.mean(run) for run in runs])
            add(MEAN, estimates["low"], estimates["high"], shape=shape, seeds=seeds)
        for documents in settings.documents:
            rng = generator(DOCUMENTS, shape, documents, seed)
            replicates = resampled_means(shape, documents, *drawn, rng)[1]
            of = {"shape": shape, "documents": documents}
            add(PLAIN, *intervals.percentile_interval(replicates), **of)
            add(DOCUMENTS, *intervals.bootstrap_interval(replicates, documents), **of)
        grid = itertools.product(settings.seeds, settings.documents, settings.spreads)
        for seeds, documents, spread in grid:
            rng = generator(OVER_SEEDS, shape, seeds, documents, spread, seed)
            estimates = simulated_intervals(shape, seeds, documents, (spread, 1.0), *drawn, rng)
            of = {"seeds": seeds, "documents": documents, "spread": spread}
            add(OVER_SEEDS, *estimates.T[1:], shape=shape, **of)
    for seeds, share in itertools.product(settings.seeds, settings.shares):
        exact = {"trials": 1, "covered": share_coverage(seeds, share)}
        rows.append({"case": SHARE, "seeds": seeds, "share": share} | exact)
    return pd.DataFrame(rows).fillna({"shape": ""})


def share_coverage(n: int, share: float) -> float:
    """How often the interval of a share of n trials holds the true share; exact.

    The sum of the binomial probabilities of the numbers of successes whose interval holds it.
    """
    covered = 0.0
    for successes in range(n + 1):
        interval = intervals.share(successes, n)
        if interval["low"] <= share <= interval["high"]:
            chance = share**successes * (1 - share) ** (n - successes)
            covered += float(comb(n, successes)) * chance
    return covered


def effects(
    settings: EffectCalibration, seeds: list[int], resamples: int, seed: int
) -> pd.DataFrame:
    """Which verdicts simulated effects get.

    The same data sets are judged at every true effect: noise does not depend on it.

    Returns:
        Rows `shape`, `seeds`, `documents`, `half_width`, `true_effect`, `verdict`, `count`, those
        of verdicts that come out at least once.
    """
    rows = []
    for shape, number, half in itertools.product(SHAPES, seeds, settings.half_widths):
        estimates = effect_intervals(settings, shape, number, half, resamples, seed)
        of = {"shape": shape, "seeds": number, "half_width": half, "documents": settings.documents}
        for effect in settings.effects:
            keys, counted = of | {"true_effect": effect}, verdicts_of(estimates + effect)
            rows += [keys | {"verdict": name, "count": count} for name, count in counted.items()]
    return pd.DataFrame(rows)


def effect_intervals(
    settings: EffectCalibration, shape: str, seeds: int, half: float, resamples: int, seed: int
) -> np.ndarray:
    """Value, low and high of estimates of an effect of 0, [trials, 3].

    Half of the variance of an estimate is that of its seeds, half that of its documents; `half` is
    1.96 standard deviations of it.
    """
    part = half / NORMAL_95 / np.sqrt(2)
    deviations = part * np.sqrt(seeds), part
    rng, drawn = generator("effects", shape, seeds, half, seed), (settings.trials, resamples)
    return simulated_intervals(shape, seeds, settings.documents, deviations, *drawn, rng)


def verdicts_of(estimates: np.ndarray) -> Counter[str]:
    """How often each verdict comes out of effects [trials, (value, low, high)] of published ones.

    The published effect is 1 and known exactly, no effect is 0.
    """
    rule, measured = Number(0.0), (Measured(*row, published=1.0) for row in estimates.tolist())
    return Counter(map(rule.verdict, measured))
