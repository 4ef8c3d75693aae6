"""Do the ratios of Li, Li & Risteski (2023) depend on the topic model? A table over many of them.

The paper uses one topic model. Here backend, number of topics and seed vary, all else stays.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from onelayer.evidence.intervals import half_width
from onelayer.evidence.tables import ALL, Report, interval, number, table, tidy
from onelayer.papers.topic_structure.wikipedia import over_seeds
from onelayer.settings.models import ModelSettings
from onelayer.settings.topic_structure import NamedModel, RobustnessSettings, by_name

KEYS = ["model", "backend", "topics", "seed"]
RATIOS = [
    "attention_ratio",
    "attention_ratio_null_corrected",
    "attention_ratio_distance_standardised",
    "embedding_cosine_ratio",
    "embedding_cosine_ratio_null_corrected",
    "embedding_raw_cosine_ratio",
    "embedding_raw_cosine_ratio_null_corrected",
]
# With an interval over topics, which a mean over topic models has as well.
OVER_TOPICS = "attention_ratio_over_topics"
BESIDE = [
    OVER_TOPICS,
    *(
        f"{ratio}_{kind}"
        for ratio in ("attention_ratio", "embedding_cosine_ratio", "embedding_raw_cosine_ratio")
        for kind in ("null", "z", "p")
    ),
]
QUALITIES = ["npmi", "nmi", "topics_used", "topics_kept", "words_kept"]
# These grow with the number of topics by themselves: nothing to sum up over several.
COUNTS = ["topics_used", "topics_kept", "words_kept"]
# What readers see, under which name and with how many digits.
SHOWN = {
    "attention_ratio": ("attention ratio", 3),
    "attention_ratio_null_corrected": ("attention / null", 3),
    "attention_ratio_z": ("attention, z", 1),
    "attention_ratio_distance_standardised": ("attention at equal distance", 3),
    "embedding_cosine_ratio": ("cosine ratio", 3),
    "embedding_cosine_ratio_null_corrected": ("cosine / null", 3),
    "embedding_raw_cosine_ratio": ("raw cosine ratio", 3),
    "npmi": ("NPMI", 3),
    "nmi": ("NMI", 3),
    "topics_used": ("topics used", 1),
    "topics_kept": ("topics with a word", 1),
    "words_kept": ("words kept", 0),
}
FACTORS = {
    "backend": "backend",
    "topics": "number of topics",
    "backend_x_topics": "backend with number of topics",
    "seed": "seed",
}


def assemble(
    measures: Mapping[str, pd.DataFrame],
    quality: pd.DataFrame,
    models: Mapping[str, ModelSettings],
    settings: RobustnessSettings,
) -> pd.DataFrame:
    """The table, tidy: every topic model, means over seeds, and all of them together.

    Args:
        measures: rows of `probe.topic_models` with `backend`, `topics`, `seed`, by model.
        quality: rows `backend`, `topics`, `seed`, `quantity`, `value`, `n`.
        models: settings of the models; of a random one no raw ratio, a quotient of two zeros.
        settings: backends, sizes and seeds in order.

    Returns:
        One row per topic model, model and quantity. Where `seed` is `all`: the mean over seeds with
        Student's 95% interval, and its `_sd`. Where `backend` and `topics` are `all` too: mean,
        `_sd`, `_min` and `_max` over all topic models; for each ratio of a model that is not
        random `_sign_changes`, how many topic models put it on the other side of 1 than the mean;
        `_eta2_<factor>`, that factor's share of the sum of squares; and, where every topic model
        has it, `attention_ratio_over_topics` with the interval of `over_topic_models`.
    """
    single = _ordered(_single(measures, quality, models), [*models, ALL], settings)
    parts = [single, _over_seeds(single[single["quantity"] != OVER_TOPICS])]
    compared = single[~single["quantity"].isin([*COUNTS, OVER_TOPICS])]
    for (model, quantity), rows in compared.groupby(["model", "quantity"], sort=False):
        values = (
            rows["value"]
            .to_numpy()
            .reshape(len(settings.backends), len(settings.topics), len(settings.seeds))
        )
        signed = quantity in RATIOS and models[model].source != "random"
        summary = _summary(quantity, values, Sides.of(rows) if signed else None)
        parts.append(pd.DataFrame(summary).assign(model=model, backend=ALL, topics=ALL, seed=ALL))
    topics = single[single["quantity"] == OVER_TOPICS]
    for model, rows in topics.groupby("model", sort=False):
        mean = {"quantity": OVER_TOPICS, **over_topic_models(rows)}
        parts.append(pd.DataFrame([mean]).assign(model=model, backend=ALL, topics=ALL, seed=ALL))
    return tidy(pd.concat(parts, ignore_index=True), KEYS)


def over_topic_models(rows: pd.DataFrame) -> dict[str, float]:
    """The mean over topic models with its 95% interval over their seeds, topics and articles.

    Backends and numbers of topics are those chosen; their seeds are drawn. With s^2 the variance
    over seeds within a backend and number of topics, pooled over all of these, the part of the
    seeds is Student's t times s / sqrt(number of topic models). Topics and articles are the same
    corpus's for all: their part is the mean over topic models of the distances from each ratio to
    the ends of its own interval. Distances are added as squares (MOVER). With one seed of each the
    interval leaves the seeds out.

    Args:
        rows: of one model, with `backend`, `topics`, and the interval of each over topics and
            articles.

    Returns:
        `value`, `low`, `high`, and `n` and `runs`, the number of topic models.
    """
    values, models = rows["value"], len(rows)
    cells = values.groupby([rows["backend"], rows["topics"]])
    freedom = models - cells.ngroups
    seeds = 0.0
    if freedom > 0:
        pooled = ((values - cells.transform("mean")) ** 2).sum() / freedom
        seeds = float(stdtrit(freedom, 0.975) * np.sqrt(pooled / models))
    value = values.mean()
    low = value - np.hypot(seeds, (values - rows["low"]).mean())
    high = value + np.hypot(seeds, (rows["high"] - values).mean())
    return {"value": value, "low": low, "high": high, "n": models, "runs": models}


def _single(
    measures: Mapping[str, pd.DataFrame],
    quality: pd.DataFrame,
    models: Mapping[str, ModelSettings],
) -> pd.DataFrame:
    """One row per topic model, model and quantity; what only concerns the topics once."""
    parts = []
    for name, rows in measures.items():
        shown = rows[rows["quantity"].isin([*RATIOS, *BESIDE])]
        if models[name].source == "random":
            shown = shown[~shown["quantity"].str.startswith("embedding_raw")]
        runs = over_seeds.runs("", models[name])
        parts.append(shown.assign(model=name, runs=runs))
    first = next(iter(measures.values()))
    parts += [rows[rows["quantity"].isin(QUALITIES)].assign(model=ALL) for rows in (quality, first)]
    return pd.concat(parts, ignore_index=True).drop(columns=["overlap", "threshold"])


def _ordered(table: pd.DataFrame, models: list[str], settings: RobustnessSettings) -> pd.DataFrame:
    levels = [models, settings.backends, settings.topics, settings.seeds]
    places = [
        table[key].map({level: place for place, level in enumerate(values)})
        for key, values in zip(KEYS, levels, strict=True)
    ]
    order = np.lexsort(places[::-1])
    return table.iloc[order].astype(dict.fromkeys(KEYS, str)).reset_index(drop=True)


def _over_seeds(single: pd.DataFrame) -> pd.DataFrame:
    keys = ["model", "backend", "topics", "quantity"]
    groups = single.groupby(keys, sort=False)["value"]
    table = groups.agg(value="mean", sd="std", n="count").reset_index()
    half = half_width(table["sd"], table["n"])
    means = table.assign(low=table["value"] - half, high=table["value"] + half)
    spread = table.assign(value=table["sd"], quantity=table["quantity"] + "_sd")
    means["runs"] = table["n"].where(table["n"] > 1)
    both = pd.concat([means, spread[spread["n"] > 1]]).drop(columns="sd")
    return both.assign(seed=ALL).sort_index(kind="stable")


def _summary(quantity: str, values: np.ndarray, sides: "Sides | None") -> list[dict]:
    """Rows over all topic models, of `values` [backends, topics, seeds]."""
    numbers = {"": values.mean(), "_min": values.min(), "_max": values.max()}
    if values.size > 1:
        numbers["_sd"] = values.std(ddof=1)
    rows = [{"quantity": quantity + kind, "value": value} for kind, value in numbers.items()]
    if sides:
        changes = {"value": len(sides.contrary), "note": str(sides)}
        rows.append({"quantity": f"{quantity}_sign_changes"} | changes)
    rows += [
        {"quantity": f"{quantity}_eta2_{factor}", "value": share}
        for factor, share in variance_shares(values).items()
        if np.isfinite(share)
    ]
    return [row | {"n": values.size} for row in rows]


class Sides(NamedTuple):
    """On which side of 1 a ratio is under each topic model.

    Attributes:
        above: whether their mean is above 1.
        contrary: names of the topic models that put it on the other side.
        clear: how many have an interval that excludes 1.
        n: how many topic models.
    """

    above: bool
    contrary: list[str]
    clear: int
    n: int

    @classmethod
    def of(cls, rows: pd.DataFrame) -> "Sides":
        """Of one model's ratio, a row for each topic model."""
        above = bool(rows["value"].mean() > 1)
        contrary = rows[(rows["value"] > 1) != above]
        names = [f"{r.backend}, {r.topics} topics, seed {r.seed}" for r in contrary.itertuples()]
        clear = int(((rows["low"] > 1) | (rows["high"] < 1)).sum())
        return cls(above, names, clear, len(rows))

    def __str__(self) -> str:
        """In words."""
        side, other = ("above", "below") if self.above else ("below", "above")
        agree = self.n - len(self.contrary)
        text = f"{agree} of {self.n} {side} 1; {self.clear} intervals exclude 1"
        return f"{text}; {other}: {' | '.join(self.contrary)}" if self.contrary else text


def variance_shares(values: np.ndarray) -> dict[str, float]:
    """Eta squared of a balanced design: each factor's share of the total sum of squares.

    Args:
        values: [backends, topics, seeds] float64.

    Returns:
        Shares of `backend`, `topics`, `backend_x_topics` (their interaction) and `seed` (what is
        left within a backend and number of topics); they add up to 1. NaN where nothing varies.
    """
    centre, cells = values.mean(), values.mean(axis=2)
    backend, topics = cells.mean(axis=1) - centre, cells.mean(axis=0) - centre
    both = cells - centre - backend[:, None] - topics
    backends, sizes, seeds = values.shape
    squares = {
        "backend": sizes * seeds * (backend**2).sum(),
        "topics": backends * seeds * (topics**2).sum(),
        "backend_x_topics": seeds * (both**2).sum(),
        "seed": ((values - cells[..., None]) ** 2).sum(),
    }
    total = ((values - centre) ** 2).sum()
    return {name: float(part / total) if total > 0 else np.nan for name, part in squares.items()}


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """For readers: a row per model, backend and size; then all of them, signs and shares.

    A random model has neither: around 1 both would be those of noise.
    """
    by = table.set_index([*KEYS, "quantity"])[["value", "low", "high", "n"]].sort_index()
    rows = []
    for model in [name for name in table["model"].unique() if name != ALL]:
        cells = table[(table["model"] == model) & (table["seed"] == ALL)]
        for backend, topics in cells[["backend", "topics"]].drop_duplicates().to_numpy():
            rows.append(_row((model, backend, topics), by, "", _mean))
        if f"{RATIOS[0]}_sign_changes" in set(cells["quantity"]):
            overall = (model, ALL, ALL)
            if OVER_TOPICS in set(cells["quantity"]):
                mean = _row(overall, by, "", _nothing) | _mean_over_all(by, model)
                rows.append(mean | {"topics": "mean, topics like these"})
            rows.append(_row(overall, by, "_sign_changes", _count) | {"topics": "sign changes"})
            for factor, name in FACTORS.items():
                row = _row(overall, by, f"_eta2_{factor}", _percent)
                rows.append(row | {"topics": f"share: {name}"})
    return pd.DataFrame(rows)


def _row(key: tuple[str, str, str], by: pd.DataFrame, kind: str, cell: Callable) -> dict[str, str]:
    """One row of readers' cells: those of the model, then those of its topics."""
    model, backend, topics = key
    row = {"model": model, "backend": backend, "topics": topics}
    for quantity, (name, digits) in SHOWN.items():
        owner = ALL if quantity in QUALITIES else model
        rows = by.loc[(owner, backend, topics, ALL)]
        row[name] = cell(rows, f"{quantity}{kind}", digits)
    return row


def _mean_over_all(by: pd.DataFrame, model: str) -> dict[str, str]:
    value = by.loc[(model, ALL, ALL, ALL, OVER_TOPICS), ["value", "low", "high"]]
    name, digits = SHOWN["attention_ratio"]
    return {name: interval(*value, digits)}


def _mean(rows: pd.DataFrame, quantity: str, digits: int) -> str:
    values = rows["value"]
    value, sd = values.get(quantity, np.nan), values.get(f"{quantity}_sd", np.nan)
    return number(value, digits) if np.isnan(sd) else f"{value:.{digits}f} ± {sd:.{digits}f}"


def _nothing(*_: object) -> str:
    return "–"


def _count(rows: pd.DataFrame, quantity: str, _: int) -> str:
    if quantity not in rows.index:
        return "–"
    return "{value:.0f} of {n:.0f}".format(**rows.loc[quantity])


def _percent(rows: pd.DataFrame, quantity: str, _: int) -> str:
    return f"{rows.loc[quantity, 'value']:.0%}" if quantity in rows.index else "–"


def reader_notes(table: pd.DataFrame, settings: RobustnessSettings) -> list[str]:
    """Notes under the readable table; the first answers the question."""
    single = table[table["seed"] != ALL]
    answers = []
    for (model, ratio), rows in single.groupby(["model", "quantity"], sort=False):
        counted = (table["model"] == model) & (table["quantity"] == f"{ratio}_sign_changes")
        if ratio in SHOWN and counted.any():
            sides = Sides.of(rows)
            changes = "YES" if sides.contrary else "no"
            answers.append(f"{model}, {SHOWN[ratio][0]}: {changes} ({sides})")
    answer = [f"Does any choice change the sign of the finding? {'; '.join(answers)}."]
    return (answer if answers else []) + [
        f"Mean ± standard deviation over {len(settings.seeds)} seeds; in rows 'all', over all "
        "topic models. 'sign changes': topic models that put the ratio on the other side of 1 than "
        "the mean. 'share': eta squared, the factor's share of the sum of squares.",
        f"Words kept: {settings.threshold.label} of each topic, {settings.overlap}; more topics "
        f"keep more words. {settings.documents} articles, the same for all. A topic none of whose "
        "top words is most probable in it keeps no word and is left out.",
        "gensim: online variational Bayes; tomotopy: collapsed Gibbs sampling; the same priors, "
        "1 / topics unless `topics.lda` says otherwise. NMI and topics used rest on the same "
        "variational inference of each article's topics for both.",
        "Mean, topics like these: with its 95% interval for topics like these, over the "
        "topic models' seeds (pooled within backend and number of topics), topics and articles.",
        "The null permutes topics among equally frequent words; at equal distance: different-topic "
        "pairs weighted to the distances of same-topic pairs. Of a random model no raw ratio: it "
        "is a quotient of two zeros.",
    ]


@table(
    "topic_structure/topic_model_robustness",
    "Wikipedia: results",
    "table: topic models compared",
    reads={"quality": "compared_quality", "measures": "compared_measures"},
    settings={"models": "compared_models", "robustness": "topic_structure.robustness"},
    priority=3,
)
def topic_model_robustness(
    quality: list[pd.DataFrame],
    measures: list[pd.DataFrame],
    models: list[NamedModel],
    robustness: RobustnessSettings,
) -> Report:
    """The ratios under every topic model, means over seeds, and what makes them differ."""
    known = by_name(models)
    measured = dict(zip(known, measures, strict=True))
    found = assemble(measured, pd.concat(quality), known, robustness)
    title = "Topic structure on Wikipedia: do the ratios depend on the topic model?"
    return Report(found, readable(found), title, reader_notes(found, robustness))
