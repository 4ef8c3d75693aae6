"""Do the ratios of Li, Li & Risteski (2023) depend on the topic model? A table over many of them.

The paper uses one topic model. Here backend, number of topics and seed vary, all else stays.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from onelayer.evidence.intervals import half_width
from onelayer.evidence.tables import ALL, Report, interval_of, number, table, tidy
from onelayer.papers.topic_structure.wikipedia import over_seeds
from onelayer.papers.topic_structure.wikipedia.probe.measures import AT_EQUAL_DISTANCE
from onelayer.papers.topic_structure.wikipedia.probe.uncertainty import ROUNDING
from onelayer.settings.topic_structure import NamedModel, RobustnessSettings

KEYS = ["model", "backend", "topics", "seed"]
PLAIN_RATIOS = ["attention_ratio", AT_EQUAL_DISTANCE]
PLAIN_RATIOS += ["embedding_cosine_ratio", "embedding_raw_cosine_ratio"]
RATIOS = [*PLAIN_RATIOS, *(f"{ratio}_null_corrected" for ratio in PLAIN_RATIOS)]
# With an interval over topics, which a mean over topic models has as well.
OVER_TOPICS = "attention_ratio_over_topics"
BESIDE = [
    OVER_TOPICS,
    *(f"{ratio}_{kind}" for ratio in PLAIN_RATIOS for kind in ("null", "z", "p")),
]
QUALITIES = ["npmi", "nmi", "topics_used", "topics_kept", "words_kept"]
# These grow with the number of topics by themselves: nothing to sum up over several.
COUNTS = ["topics_used", "topics_kept", "words_kept"]
# What readers see, under which name and with how many digits.
SHOWN = {
    "attention_ratio": ("attention ratio", 3),
    "attention_ratio_null_corrected": ("attention / null", 3),
    "attention_ratio_z": ("attention, z", 1),
    f"{AT_EQUAL_DISTANCE}_null_corrected": ("attention at equal distance / null", 3),
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
    measures: Sequence[pd.DataFrame],
    quality: pd.DataFrame,
    models: Sequence[NamedModel],
    settings: RobustnessSettings,
) -> pd.DataFrame:
    """The table, tidy: every topic model, means over seeds, and all of them together.

    Args:
        measures: rows of `measure_topic_models` with `backend`, `topics`, `seed`, model by model.
        quality: rows `backend`, `topics`, `seed`, `quantity`, `value`, `n`.
        models: of a random one no raw ratio, a quotient of two zeros.
        settings: backends, sizes and seeds in order.

    Returns:
        One row per topic model, model and quantity. Where `seed` is `all`: the mean over seeds with
        Student's 95% interval, and its `_sd`. Where `backend` and `topics` are `all` too: mean,
        `_sd`, `_min` and `_max` over all topic models; for each ratio of a model that is not
        random `_sign_changes`, how many topic models put it on the other side of 1 than the mean;
        `_eta2_<factor>`, that factor's share of the sum of squares; and, where every topic model
        has it, `attention_ratio_over_topics` with the interval of `over_topic_models`.
    """
    single = _single(measures, quality, models, settings)
    over_topics = single["quantity"] == OVER_TOPICS
    parts = [single, _over_seeds(single[~over_topics])]
    random = [model.name for model in models if model.settings.source == "random"]
    overall = {"backend": ALL, "topics": ALL, "seed": ALL}
    compared = single[~single["quantity"].isin([*COUNTS, OVER_TOPICS])]
    for (model, quantity), rows in compared.groupby(["model", "quantity"], sort=False):
        values = rows["value"].to_numpy()
        values = values.reshape(*map(len, (settings.backends, settings.topics, settings.seeds)))
        summary = [
            {"quantity": quantity, "value": values.mean()},
            {"quantity": f"{quantity}_min", "value": values.min()},
            {"quantity": f"{quantity}_max", "value": values.max()},
        ]
        if values.size > 1:
            spread = values.std(ddof=1)
            spread = spread if _varies(spread, values.mean()) else 0.0
            summary.append({"quantity": f"{quantity}_sd", "value": spread})
        if quantity in RATIOS and model not in random:
            contrary, text = sides(rows)
            changes = {"value": len(contrary), "note": text}
            summary.append({"quantity": f"{quantity}_sign_changes"} | changes)
        summary += [
            {"quantity": f"{quantity}_eta2_{factor}", "value": share}
            for factor, share in variance_shares(values).items()
            if np.isfinite(share)
        ]
        parts.append(pd.DataFrame(summary).assign(model=model, n=values.size, **overall))
    for model, rows in single[over_topics].groupby("model", sort=False):
        mean = {"model": model, "quantity": OVER_TOPICS} | over_topic_models(rows) | overall
        parts.append(pd.DataFrame([mean]))
    return tidy(pd.concat(parts, ignore_index=True), KEYS)


def over_topic_models(rows: pd.DataFrame) -> dict[str, float]:
    """The mean over topic models with its 95% interval over their seeds, topics and articles.

    Backends and numbers of topics are those chosen; their seeds are drawn. With s^2 the variance
    over seeds within a backend and number of topics, pooled over all of these, the part of the
    seeds is Student's t times s / sqrt(number of topic models). Topics and articles are the same
    corpus's for all: their part is the mean over topic models of the distances from each ratio to
    the ends of its own interval. Distances are added as squares (MOVER). With one seed of each the
    interval leaves the seeds out.

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
    measures: Sequence[pd.DataFrame],
    quality: pd.DataFrame,
    models: Sequence[NamedModel],
    settings: RobustnessSettings,
) -> pd.DataFrame:
    """One row per topic model, model and quantity; what only concerns the topics once.

    In the order of models, and of the settings' backends, sizes and seeds.
    """
    parts = []
    for model, rows in zip(models, measures, strict=True):
        shown = rows[rows["quantity"].isin([*RATIOS, *BESIDE])]
        if model.settings.source == "random":
            shown = shown[~shown["quantity"].str.startswith("embedding_raw")]
        parts.append(shown.assign(model=model.name, runs=over_seeds.runs("", model.settings)))
    parts += [
        rows[rows["quantity"].isin(QUALITIES)].assign(model=ALL) for rows in (quality, measures[0])
    ]
    table = pd.concat(parts, ignore_index=True).drop(columns=["overlap", "threshold"])
    names = [*(model.name for model in models), ALL]
    orders = names, settings.backends, settings.topics, settings.seeds
    order = dict(zip(KEYS, orders, strict=True))
    table = table.sort_values(KEYS, key=lambda column: column.map(order[column.name].index))
    return table.astype(dict.fromkeys(KEYS, str)).reset_index(drop=True)


def _over_seeds(single: pd.DataFrame) -> pd.DataFrame:
    keys = ["model", "backend", "topics", "quantity"]
    groups = single.groupby(keys, sort=False)["value"]
    table = groups.agg(value="mean", sd="std", n="count").reset_index()
    table["sd"] = table["sd"].where(_varies(table["sd"], table["value"]) | table["sd"].isna(), 0.0)
    half = half_width(table["sd"], table["n"])
    means = table.assign(low=table["value"] - half, high=table["value"] + half)
    spread = table.assign(value=table["sd"], quantity=table["quantity"] + "_sd")
    means["runs"] = table["n"].where(table["n"] > 1)
    both = pd.concat([means, spread[spread["n"] > 1]]).drop(columns="sd")
    return both.assign(seed=ALL).sort_index(kind="stable")


def sides(rows: pd.DataFrame) -> tuple[list[str], str]:
    """On which side of 1 one model's ratio is, a row for each topic model.

    Returns:
        Names of the topic models that put it on the other side of 1 than the mean; and in words how
        many do not, how many have an interval that excludes 1, and those names.
    """
    above = bool(rows["value"].mean() > 1)
    contrary = rows[(rows["value"] > 1) != above]
    names = [f"{r.backend}, {r.topics} topics, seed {r.seed}" for r in contrary.itertuples()]
    clear = int(((rows["low"] > 1) | (rows["high"] < 1)).sum())
    side, other = ("above", "below") if above else ("below", "above")
    agree = len(rows) - len(names)
    text = f"{agree} of {len(rows)} {side} 1; {clear} intervals exclude 1"
    return names, f"{text}; {other}: {' | '.join(names)}" if names else text


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
    varies = _varies(np.sqrt(total / values.size), centre)
    return {name: float(part / total) if varies else np.nan for name, part in squares.items()}


def _varies(deviation: float | pd.Series, mean: float | pd.Series) -> bool | pd.Series:
    """Whether values differ by more than their rounding."""
    return deviation > ROUNDING * np.abs(mean)


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """For readers: a row per model, backend and size; then all of them, signs and shares.

    A random model has neither: around 1 both would be those of noise.
    """
    by = table.set_index([*KEYS, "quantity"])[["value", "low", "high", "n"]].sort_index()
    rows = []
    for model in [name for name in table["model"].unique() if name != ALL]:
        cells = table[(table["model"] == model) & (table["seed"] == ALL)]
        for backend, topics in cells[["backend", "topics"]].drop_duplicates().to_numpy():
            rows.append(_row((model, backend, topics), topics, by, "", _mean))
        overall = (model, ALL, ALL)
        if f"{RATIOS[0]}_sign_changes" in set(cells["quantity"]):
            if OVER_TOPICS in set(cells["quantity"]):
                row = _row(overall, "mean, topics like these", by, "", lambda *_: "–")
                mean = by.loc[(*overall, ALL, OVER_TOPICS)]
                rows.append(row | {SHOWN["attention_ratio"][0]: interval_of(mean, 3)})
            rows.append(_row(overall, "sign changes", by, "_sign_changes", _count))
            for factor, name in FACTORS.items():
                rows.append(_row(overall, f"share: {name}", by, f"_eta2_{factor}", _percent))
    return pd.DataFrame(rows)


def _row(
    key: tuple[str, str, str], topics: str, by: pd.DataFrame, kind: str, cell: Callable
) -> dict[str, str]:
    """One row of readers' cells: those of the model, then those of its topics."""
    model, *fit = key
    row = {"model": model, "backend": fit[0], "topics": topics}
    for quantity, (name, digits) in SHOWN.items():
        rows = by.loc[(ALL if quantity in QUALITIES else model, *fit, ALL)]
        row[name] = cell(rows, f"{quantity}{kind}", digits)
    return row


def _mean(rows: pd.DataFrame, quantity: str, digits: int) -> str:
    value, sd = (rows["value"].get(f"{quantity}{kind}", np.nan) for kind in ("", "_sd"))
    return number(value, digits) if np.isnan(sd) else f"{value:.{digits}f} ± {sd:.{digits}f}"


def _count(rows: pd.DataFrame, quantity: str, _: int) -> str:
    counted = quantity in rows.index
    return "{value:.0f} of {n:.0f}".format(**rows.loc[quantity]) if counted else "–"


def _percent(rows: pd.DataFrame, quantity: str, _: int) -> str:
    return f"{rows.loc[quantity, 'value']:.0%}" if quantity in rows.index else "–"


def reader_notes(table: pd.DataFrame, settings: RobustnessSettings) -> list[str]:
    """Notes under the readable table; the first answers the question."""
    single = table[table["seed"] != ALL]
    answers = []
    for (model, ratio), rows in single.groupby(["model", "quantity"], sort=False):
        counted = (table["model"] == model) & (table["quantity"] == f"{ratio}_sign_changes")
        if ratio in SHOWN and counted.any():
            contrary, text = sides(rows)
            changes = "YES" if contrary else "no"
            answers.append(f"{model}, {SHOWN[ratio][0]}: {changes} ({text})")
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
    table = assemble(measures, pd.concat(quality), models, robustness)
    title = "Topic structure on Wikipedia: do the ratios depend on the topic model?"
    return Report(table, readable(table), title, reader_notes(table, robustness))
