"""The two Wikipedia tables of Li, Li & Risteski (2023) and their figure, ours beside theirs."""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from onelayer.evidence.figures import MARKERS, PALETTE, WIDTH, despine, plain, plt
from onelayer.evidence.tables import side_by_side, tidy
from onelayer.job import job
from onelayer.topic_structure.wikipedia import measure, published
from onelayer.topic_structure.wikipedia.measure import ALL, ATTENTION, EQUAL
from onelayer.topic_structure.wikipedia.similarity import COSINE, RAW, RAW_DIFFERENCE

OURS, PAPER = PALETTE[:2]
PANELS = {ATTENTION: "attention", EQUAL: "at equal distance", RAW: "raw embeddings, cosine"}
WAYS = {"authors": "the authors' way", "ours": "our way"}
NAMES = {"minilm": "MiniLM", "mpnet": "MPNet", "random": "random weights"}
OVER = measure.OVER_TOPICS
SHOWN = [ATTENTION, ATTENTION + OVER, EQUAL, EQUAL + OVER, RAW, RAW + OVER, COSINE]
SHOWN += [RAW_DIFFERENCE, RAW_DIFFERENCE + OVER, measure.TIGHTER + OVER, measure.DISJOINT + OVER]


def shown(rows: pd.DataFrame) -> pd.DataFrame:
    """A line per way, model and threshold; columns have the quantities' names."""
    rows = rows[rows["quantity"].isin(SHOWN)]
    nulls = rows[rows["quantity"].isin([ATTENTION, EQUAL])].drop(columns=["value", "low", "high"])
    ends = {"null": "value", "null_low": "low", "null_high": "high"}
    nulls = nulls.rename(columns=ends).assign(published=np.nan)
    nulls["quantity"] += ", null"
    # A raw cosine's ratio says nothing where its means are about 0.
    empty = (
        rows["quantity"].isin([RAW, RAW + OVER])
        & (rows["state"] == "undecided")
        & rows["published"].isna()
    )
    both = pd.concat([rows.assign(value=rows["value"].mask(empty)), nulls])
    keys = ["way", "model", "threshold"]
    table = side_by_side(both, keys, "quantity")
    ordered = [column for name in SHOWN for column in (name, f"{name}, null")]
    return table[[*keys, *(column for column in ordered if column in table)]]


def draw(measures: dict, models: dict, ways: dict, paper: dict):
    """Ratio of disjoint topics by threshold: a panel per way and quantity, a line per model."""
    controls = [name for name in measures if models[name]["source"] == "random"]
    drawn = [name for name in measures if name not in controls[1:]]
    controlled = {models[name]["published_as"] for name in drawn}
    absent = [name for name in dict.fromkeys(key[1] for key in paper) if name not in controlled]
    lines = [*(name for name in drawn if name not in controls), *absent, *controls[:1]]
    size = (WIDTH, (0.36 * len(lines) + 0.5) * len(WAYS) + 1.1)
    figure, axes = plt.subplots(
        len(WAYS), len(PANELS), figsize=size, sharex="col", sharey=True, squeeze=False
    )
    for (i, j), axis in np.ndenumerate(axes):
        way, (quantity, label) = list(WAYS)[i], list(PANELS.items())[j]
        axis.axvline(1, color="0.5", linewidth=0.8, zorder=0)
        for line, name in enumerate(lines):
            like = models[name]["published_as"] if name in models else name
            for k, (threshold, at) in enumerate(ways[way].items()):
                y, shape = line + 0.26 * (k - 1), {"marker": MARKERS[k], "ms": 4.2, "ls": ""}
                compared = COSINE if quantity == RAW else quantity
                theirs = paper.get(("disjoint", like, at, compared), np.nan)
                axis.plot(theirs, y, mfc="none", color=PAPER, zorder=5, **shape)
                if name in drawn and not (quantity == RAW and name in controls):
                    of_way = "overlap == 'disjoint' and way == @way and quantity == @quantity"
                    rows = measures[name].query(f"{of_way} and threshold == '{threshold}'")
                    if len(rows):
                        draw_ours(axis, rows.set_index("seed"), y, shape)
        axis.grid(axis="y", linewidth=0.4)
        axis.tick_params(axis="y", length=0)
        axis.set_title(label if i == 0 else "", fontsize=9)
        despine(axis)
        if quantity == RAW:
            axis.set_xscale("log")
            axis.set_xticks([1, 2, 4, 8])
            axis.set_xlim(left=max(axis.get_xlim()[0], 0.5))
            axis.xaxis.set_major_formatter("{x:g}")
            axis.xaxis.set_minor_formatter(NullFormatter())
        if j == 0:
            axis.set_ylabel(WAYS[way])
    names = [plain(NAMES.get(name, name.replace("-here", ", trained here"))) for name in lines]
    axes[0, 0].set(yticks=range(len(lines)), yticklabels=names, ylim=(len(lines) - 0.45, -0.55))
    handles = [
        Line2D([], [], color=OURS, marker="o", label="ours, 95% interval"),
        Line2D([], [], color="0.35", marker="|", ls="", label="one training"),
        Line2D([], [], color="0.85", linewidth=4, label="permuted topics, 95%"),
        Line2D([], [], color=PAPER, marker="o", mfc="none", ls="", label="published"),
    ]
    thresholds = zip(*map(dict.items, ways.values()), MARKERS, strict=False)
    for (theirs, at), (ours, _), marker in thresholds:
        label = f"{theirs} / {ours.removeprefix('top ')} ({at:g})"
        handles.append(Line2D([], [], color="0.3", marker=marker, ls="", label=label))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=7.5)
    axes[-1, 1].set_xlabel("mean within disjoint topics / mean across")
    claim = "words of one topic attend more to each other, and have more similar embeddings"
    figure.suptitle(f"The paper: {claim}", fontsize=10)
    return figure


def draw_ours(axis, rows: pd.DataFrame, y: float, shape: dict) -> None:
    """Mean and interval, each seed, and behind them what permuted topics show."""
    seeds, mean = rows.drop(index=ALL)["value"], rows.loc[ALL]
    axis.plot(seeds, np.full(len(seeds), y), "|", ms=4.5, mew=0.7, color="0.35", zorder=4)
    null = {"color": "0.85", "linewidth": 4, "solid_capstyle": "butt", "zorder": 1}
    axis.plot([mean["null_low"], mean["null_high"]], [y, y], **null)
    axis.plot([mean["low"], mean["high"]], [y, y], color=OURS, linewidth=1.3, zorder=2)
    axis.plot(mean["value"], y, color=OURS, zorder=3, **shape)


with job(snakemake) as step:
    models, ways = snakemake.params.models, snakemake.params.ways
    paper = published.read_published(step.given("published"))
    measures = dict(zip(models, map(pd.read_parquet, snakemake.input.measures), strict=True))
    parts = []
    for name, model in models.items():
        histories = [pd.read_parquet(path) for path in snakemake.params.histories[name]]
        given = measures[name], name, model["published_as"], histories, ways, paper
        parts.append(published.model_rows(*given))
    notes = [f"{name}: {model['note']}" for name, model in models.items() if model["note"]]
    notes = published.NOTES + notes
    probed = [(name, at) for name in models for at in ways["authors"].values()]
    everything = pd.concat(parts, ignore_index=True)
    for overlap in ("disjoint", "overlapping"):
        chosen = everything["overlap"].str.startswith(overlap)  # also `disjoint - overlapping`
        absent = published.not_run(paper, overlap, probed)
        rows = pd.concat([everything[chosen], absent], ignore_index=True)
        rows = tidy(rows.drop(columns=published.NULL), published.KEYS).join(rows[published.NULL])
        title = f"Topic structure on Wikipedia, {overlap} topics: one topic over two"
        step.save_table(rows, output=overlap, title=title, shown=shown(rows), notes=notes)
    step.save_figure(draw(measures, models, ways, paper))
