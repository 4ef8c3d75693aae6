"""The small models as a picture: attention over tokens, by family and by what an input holds."""

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from onelayer.evidence.figures import WIDTH, despine
from onelayer.report.scoreboard_figure import GREY, MARKS
from onelayer.report.trained import ON_ARTICLES, SIDES, has_learned, in_order

NOT_LEARNED, NOT_MEASURED = "not shown to have learned", "learning not measured"
# As a mark, and in the legend: first what came of those that have learned.
SHOWN = {of: MARKS[verdict] for verdict, of in SIDES.items()} | {
    NOT_LEARNED: MARKS["not reached"],
    NOT_MEASURED: ("D", GREY, False),
}
HELD = {
    "as it is": "as it is,\n{} article",
    "pieces": "in pieces,\n{} articles",
    "shuffled": "a bag,\n{} article{s}",
    "drawn": "drawn,\n{} topic{s}",
}
MILLION = 1e6
APART, ACROSS = 1.3, 2.6  # kinds of as many tokens stand beside each other: factors, at most
CLOSE = 0.15  # every line shows at least so much to both sides of 1


def marked(rows: pd.DataFrame) -> pd.DataFrame:
    """What is shown of each kind of model that was trained more than once.

    Args:
        rows: as `trained.trained` gives them.

    Returns:
        `family`, `order` and `articles` of an input, `tokens`, `value`, `low`, `high` of attention
        within topics on articles over its null, and `shown`, one of `SHOWN`; in order.
    """
    several = in_order(rows[rows["runs"] > 1], ["family", "order", "articles", "tokens"])
    came = []
    for _, row in several.iterrows():
        side = SIDES.get(row[ON_ARTICLES]["verdict"])
        shown = {True: side, False: NOT_LEARNED, None: NOT_MEASURED}[has_learned(row)]
        interval = {of: float(row[ON_ARTICLES][of]) for of in ("value", "low", "high")}
        came.append({**row[["family", "order", "articles", "tokens"]], **interval, "shown": shown})
    return pd.DataFrame(came)


def small_models(rows: pd.DataFrame) -> Figure:
    """Attention within topics on articles, over its null, against tokens read.

    Args:
        rows: as `trained.trained` gives them.
    """
    marks = marked(rows)
    families = [*marks["family"].unique()]
    inputs = [*marks[["order", "articles"]].drop_duplicates().itertuples(index=False, name=None)]
    inputs.sort(key=lambda of: ([*HELD].index(of[0]), of[1]))
    figure, panels = plt.subplots(
        len(families),
        len(inputs),
        figsize=(WIDTH, 1.2 + 1.1 * len(families)),
        height_ratios=[1 + (marks["family"] == family).sum() / len(marks) for family in families],
        sharex=True,
        sharey="row",
        squeeze=False,
    )
    for family, line in zip(families, panels, strict=True):
        own = marks[marks["family"] == family]
        for (order, articles), axes in zip(inputs, line, strict=True):
            alike = own[(own["order"] == order) & (own["articles"] == articles)]
            if alike.empty:
                axes.set_axis_off()
            else:
                _draw(axes, alike)
        line[0].set_ylabel(family)
        line[0].set_ylim(min(own["low"].min(), 1 - CLOSE), max(own["high"].max(), 1 + CLOSE))
    for (order, articles), column in zip(inputs, panels.T, strict=True):
        column[0].set_title(HELD[order].format(articles, s="s" * (articles > 1)), fontsize=8)
        [*_, last] = (axes for axes in column if axes.axison)
        last.tick_params(labelbottom=True)
    figure.supylabel("attention within topics on articles, over its null", fontsize=9)
    panels[-1, len(inputs) // 2].set_xlabel("million tokens read (logarithmic)")
    drawn = {of: mark for of, mark in SHOWN.items() if (marks["shown"] == of).any()}
    handles = [
        plt.Line2D([], [], color=colour, marker=shape, ls="", mfc=colour if full else "white")
        for shape, colour, full in drawn.values()
    ]
    figure.legend(handles, [*drawn], loc="outside lower center", ncols=3)
    return figure


def _draw(axes: Axes, marks: pd.DataFrame) -> None:
    axes.axhline(1, color=GREY, linewidth=0.8)
    for tokens, alike in marks.groupby("tokens"):
        apart = min(APART, ACROSS ** (1 / max(len(alike) - 1, 1)))
        for place, (_, mark) in enumerate(alike.iterrows()):
            shape, colour, full = SHOWN[mark["shown"]]
            across = tokens / MILLION * apart ** (place - (len(alike) - 1) / 2)
            axes.plot([across] * 2, [mark["low"], mark["high"]], color=colour, linewidth=0.8)
            filled = colour if full else "white"
            axes.plot(across, mark["value"], marker=shape, color=colour, mfc=filled, ms=4)
    axes.set(xscale="log", xlim=(0.7, 60), xticks=[1, 5, 30], xticklabels=["1", "5", "30"])
    axes.minorticks_off()
    despine(axes)
