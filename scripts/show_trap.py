"""Table and figure: is the unigram model a minimum of the whole transformer, and who leaves it?"""

import pandas as pd

from onelayer.evidence.figures import MIDDLE, PALETTE, despine, plt
from onelayer.evidence.tables import interval, tidy
from onelayer.job import job
from onelayer.local_to_global import outcomes
from onelayer.settings.local_to_global import Chain, TrapSettings

KEYS = ["p", "q", "variant"]
LINES = ("-", "-", "--", "-.", ":", "--", "-.")
STYLES = [{"color": color, "ls": ls} for color, ls in zip(PALETTE, LINES, strict=True)]


def trap(curves: pd.DataFrame, settings: TrapSettings) -> pd.DataFrame:
    """The table: a variant and chain at a time, then the chain on which the variant does worst."""
    rows = []
    for variant in settings.trained:
        ways, of = [], variant.applied(settings.training)
        runs_on = curves[curves["variant"] == variant.name].groupby(["p", "q"], sort=False)
        for (p, q), runs in runs_on:
            chain = Chain(p, q)
            named, key = outcomes.trap_rows(runs, chain), {"p": p, "q": q, "variant": variant.name}
            if variant.initialisation != "standard":  # comes from far above the unigram entropy
                named = {n: row for n, row in named.items() if not n.startswith("curvature")}
            rows += [key | {"quantity": quantity} | row for quantity, row in named.items()]
            tolerance = outcomes.excess(2, of)["tolerance"] / chain.gap
            ways.append(key | {"state": "", "tolerance": tolerance} | named["way_closed"])
        goes = outcomes.claimed_model(variant.initialisation, chain) == "bigram"
        row = outcomes.furthest(ways, 1 if goes else -1) | {"quantity": "worst_way_closed"}
        row |= {"published": float(goes), "null": float(not goes)}
        rows.append(row | {"state": max(way["state"] for way in ways)})
    return tidy(rows, KEYS)


SHOWN = {
    "escape, median iteration [95%]": ("escape_iteration", 0),
    "least curvature where trapped [95%]": ("curvature_where_trapped", 2),
    "before escaping [95%]": ("curvature_before_escape", 2),
    "way to the bigram entropy [95%]": ("way_closed", 2),
}


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per chain and variant."""
    rows = []
    for (p, q, variant), part in table.groupby(KEYS, sort=False):
        by = part.set_index("quantity")
        row = {"chain": str(Chain(p, q)), "training": variant}
        row["at the unigram model in the end"] = outcomes.counted(by.loc["trapped_share"])
        for label, (quantity, digits) in SHOWN.items():
            numbers = by.reindex([quantity]).iloc[0][["value", "low", "high"]]
            row[label] = interval(*numbers, digits)
        rows.append(row)
    return pd.DataFrame(rows)


def trap_figure(curves: pd.DataFrame, settings: TrapSettings) -> plt.Figure:
    """A column a chain: the way to the bigram entropy, and the least curvature."""
    chains, last, gone = settings.chains, curves["iteration"].max(), []
    shape, size = (2, len(chains)), (max(MIDDLE, 1.6 * len(chains)), 4.4)
    figure, axes = plt.subplots(*shape, figsize=size, sharex=True, sharey="row", squeeze=False)
    for column, chain in zip(axes.T, chains, strict=True):
        mine = curves[(curves["p"] == chain.p) & (curves["q"] == chain.q)]
        for variant, style in zip(settings.trained, STYLES, strict=False):
            runs = mine[mine["variant"] == variant.name]
            for run in outcomes.runs_of(runs):
                way = outcomes.way(run["loss"], chain)
                column[0].plot(run["iteration"], way, **style, lw=0.9, alpha=0.6)
            if variant.initialisation == "standard":  # others were never at the unigram model
                bent = runs.groupby("iteration")["curvature"].median()
                column[1].plot(bent.index, bent, **style, lw=2)
        ends = mine[(mine["iteration"] == last) & (mine["variant"] == settings.trained[0].name)]
        gone += list(outcomes.standing(ends["loss"], chain) == outcomes.LEFT)
        column[0].set_title(f"p = {chain.p:.15g}\nq = {chain.q:.15g}", fontsize=11)
        column[1].set(xlim=(0, last), xticks=[0, last])
        column[1].set_xlabel("iteration", fontsize=11)
        for axis, level in zip(column[[0, 0, 1]], (0, 1, 0), strict=True):
            axis.axhline(level, color="0.5", lw=0.8, ls=":", zorder=0)
            axis.tick_params(labelsize=11)
            despine(axis)
    axes[0, 0].set_ylim(-0.5, 1.08)
    axes[0, 0].set_ylabel("loss: 0 unigram,\n1 bigram", fontsize=11)
    axes[1, 0].set_ylabel("least curvature\n(theorem 2: 1)", fontsize=11)
    found = f"{sum(gone)} of {len(gone)} standard starts have left the unigram model"
    figure.suptitle(f"{found}\nafter {last:,} iterations", fontsize=12)
    named = zip(settings.trained, STYLES, strict=False)
    handles = [plt.Line2D([], [], label=variant.name, **style) for variant, style in named]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=11)
    return figure


with job(snakemake) as step:
    settings = TrapSettings(**snakemake.params.settings)
    curves, of = pd.read_parquet(snakemake.input.curves), settings.training
    table = trap(curves, settings)
    title = "Is the unigram model a trap of the whole transformer?"
    notes = [
        f"{of.sequence_length} inputs, {of.batch} sequences, {of.iterations} iterations. The "
        "theorem is of the canonical model (theorem 2); of the whole transformer the paper shows "
        "only that small starts stay.",
        "Least curvature: smallest eigenvalue of the Hessian in e, b moving with it as is best, at "
        "e = 0, where the loss is the unigram entropy, with the run's other weights; in units of 2 "
        "h(0), what theorem 2 gives for small weights. Above 0: a local minimum; below: a way out. "
        "Before escaping: at the last look at which the run was at the unigram model.",
        "At the unigram model: within a tenth of its distance from the bigram entropy. Escape: "
        "from then on below that. Worst way (CSV): of the chain whose interval reaches furthest to "
        "the wrong side. Median: a seed that stays comes after all others.",
    ]
    step.save_table(table, title=title, shown=for_readers(table), notes=notes)
    step.save_figure(trap_figure(curves, settings))
