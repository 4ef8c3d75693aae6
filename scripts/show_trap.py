"""Table and figure: is the unigram model a minimum of the whole transformer, and who leaves it?"""

import numpy as np
import pandas as pd

from onelayer.evidence.figures import MIDDLE, PALETTE, despine, plt
from onelayer.evidence.tables import interval, tidy
from onelayer.job import job
from onelayer.local_to_global import drawing
from onelayer.local_to_global.chain import Chain
from onelayer.local_to_global.outcomes import crossing, earlier_rows, escape, runs_of, trap_rows
from onelayer.settings.local_to_global import PAPERS_START, TrapSettings

KEYS = ["p", "q", "variant"]
TITLE = "Which runs leave the unigram model and when, and its least curvature"
STYLES = list(zip(PALETTE, ("-", "-", "--", "-.", ":", "--", "-."), strict=True))


def trap(curves: pd.DataFrame, settings: TrapSettings) -> pd.DataFrame:
    """The table: a chain and variant at a time."""
    trainings = {v.name: v.applied(settings.training) for v in settings.variants}
    rows = []
    for (p, q), on_chain in curves.groupby(["p", "q"], sort=False):
        chain, crossings = Chain(p, q), {}
        for variant, runs in on_chain.groupby("variant", sort=False):
            named = trap_rows(runs, chain)
            if variant == PAPERS_START:  # comes from far above the unigram entropy
                named = {of: row for of, row in named.items() if not of.startswith("curvature")}
            else:
                each = runs_of(runs)
                crossings[variant] = np.array([crossing(run, chain) for run in each])
            key = {"p": p, "q": q, "variant": variant}
            rows += [key | {"quantity": quantity} | row for quantity, row in named.items()]
        rows += [{"p": p, "q": q} | row for row in earlier_rows(crossings, trainings)]
    return tidy(rows, KEYS)


SHOWN = {
    "escape, median iteration [95%]": ("escape_iteration", 0),
    "least curvature where trapped [95%]": ("curvature_where_trapped", 2),
    "before escaping [95%]": ("curvature_before_escape", 2),
    "earlier than at the lower rate [95%]": ("earlier_by_rate", 2),
    "earlier than with fewer sequences [95%]": ("earlier_by_batch", 2),
    "way to the bigram entropy [95%]": ("way_closed", 2),
}


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per chain and variant."""
    rows = []
    for (p, q, variant), part in table.groupby(KEYS, sort=False):
        by = part.set_index("quantity")
        trapped = by.loc["trapped_share"]
        row = {"chain": str(Chain(p, q)), "training": variant}
        stay = f"{trapped['value'] * trapped['n']:.0f} of {trapped['n']:.0f}"
        row["at the unigram model in the end"] = stay
        for label, (quantity, digits) in SHOWN.items():
            numbers = by.reindex([quantity]).iloc[0][["value", "low", "high"]]
            row[label] = interval(*numbers, digits)
        rows.append(row)
    return pd.DataFrame(rows)


def notes(settings: TrapSettings) -> list[str]:
    """What stands below the table."""
    of = settings.training
    return [
        f"{of.sequence_length} inputs, {of.batch} sequences, {of.iterations} iterations from the "
        "standard start and the paper's. The theorem is of the canonical model (theorem 2); of the "
        "whole transformer the paper shows only that small starts stay.",
        "Least curvature: where e = 0 and b is at its best the loss is the unigram entropy, "
        "whatever the other weights are; the smallest eigenvalue of the Hessian there in e, b "
        "moving with it as is best, with the run's own other weights, in units of 2 h(0), what "
        "theorem 2 gives for small weights. Above 0: a local minimum; below: a way out. Before "
        "escaping: at the last look at which the run was still at the unigram model.",
        "At the unigram model: within a tenth of its distance from the bigram entropy. Escape: "
        "from then on below that. Median: a seed that stays comes after all others. Earlier: of "
        "the seeds that leave at either, those that leave at fewer iterations; a half is chance.",
    ]


def draw_chain(
    column: np.ndarray, runs: pd.DataFrame, chain: Chain, style: dict, far: bool
) -> None:
    """One variant on one chain; runs that come from far above were never at the unigram model."""
    each = runs_of(runs)
    for run in each:
        way = (chain.unigram_entropy - run["loss"]) / (chain.unigram_entropy - chain.bigram_entropy)
        column[0].plot(run["iteration"], way, **style, lw=0.7, alpha=0.6)
    if not far:
        bent = runs.groupby("iteration")["curvature"].median()
        left = np.array([escape(run, chain) for run in each])
        share = (left[:, None] <= bent.index.to_numpy()).mean(axis=0)
        column[1].plot(bent.index, share, **style, lw=1.5)
        column[2].plot(bent.index, bent, **style, lw=1.5)


def trap_figure(curves: pd.DataFrame) -> plt.Figure:
    """A column a chain: the way to the bigram entropy, who has left, least curvature."""
    chains, names = curves[["p", "q"]].drop_duplicates(), list(curves["variant"].unique())
    styles = {name: {"color": c, "ls": ls} for name, (c, ls) in zip(names, STYLES, strict=False)}
    size = (max(MIDDLE, 1.75 * len(chains)), 5.4)
    figure, axes = plt.subplots(
        3, len(chains), figsize=size, sharex=True, sharey="row", squeeze=False
    )
    for column, (p, q) in zip(axes.T, chains.to_numpy(), strict=True):
        mine = curves[(curves["p"] == p) & (curves["q"] == q)]
        for variant, runs in mine.groupby("variant", sort=False):
            draw_chain(column, runs, Chain(p, q), styles[variant], variant == PAPERS_START)
        column[0].set_title(f"p = {p:.15g}, q = {q:.15g}")
        column[2].set(xlabel="iteration", xlim=(0, curves["iteration"].max()))
        for axis, levels in zip(column, [(0, 1), (0, 1), (0,)], strict=True):
            for level in levels:
                axis.axhline(level, color="0.5", lw=0.8, ls=":", zorder=0)
            despine(axis)
    axes[0, 0].set_ylim(-0.5, 1.08)
    axes[0, 0].set_ylabel("loss: 0 unigram,\n1 bigram entropy")
    axes[1, 0].set_ylabel("share of seeds\nthat have left")
    axes[2, 0].set_ylabel("least curvature\n(theorem 2 at first: 1)")
    figure.suptitle(TITLE, fontsize=10)
    handles = [drawing.line(name, **style) for name, style in styles.items()]
    drawing.legend_below(figure, handles, 2)
    return figure


with job(snakemake) as step:
    settings = TrapSettings(**snakemake.params.settings)
    curves = pd.read_parquet(snakemake.input.curves)
    table = trap(curves, settings)
    title = "Is the unigram model a trap of the whole transformer?"
    step.save_table(table, title=title, shown=for_readers(table), notes=notes(settings))
    step.save_figure(trap_figure(curves))
