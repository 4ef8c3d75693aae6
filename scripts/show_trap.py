"""Table and figure: is the unigram model a minimum of the whole transformer, and who leaves it?"""

import pandas as pd

from onelayer.evidence.figures import MIDDLE, PALETTE, despine, plt
from onelayer.evidence.intervals import worst
from onelayer.evidence.tables import tidy
from onelayer.job import job
from onelayer.local_to_global import outcomes
from onelayer.settings.local_to_global import TrapSettings

KEYS = ["p", "q", "variant"]
LINES = ("-", "-", "--", "-.", ":", "--", "-.")
STYLES = [{"color": color, "ls": ls} for color, ls in zip(PALETTE, LINES, strict=True)]


def trap(curves: pd.DataFrame, settings: TrapSettings) -> pd.DataFrame:
    """The table: a variant and chain at a time, then the chain on which the variant does worst."""
    rows = []
    for variant in settings.trained:
        # All chains have p + q > 1. Who is said to stay is judged as on the paper's own chain.
        goes = outcomes.claimed_model(variant.initialisation, settings.chains[0]) == "bigram"
        judged, estimates = "way_closed" if goes else "trapped_share", []
        for chain in settings.chains:
            runs = curves[(curves["p"] == chain.p) & (curves["q"] == chain.q)]
            by = outcomes.trap_rows(runs[runs["variant"] == variant.name], chain)
            if variant.initialisation != "standard":  # comes from far above the unigram entropy
                by = {n: row for n, row in by.items() if not n.startswith("curvature")}
            key = {"p": chain.p, "q": chain.q, "variant": variant.name}
            rows += [key | {"quantity": quantity} | row for quantity, row in by.items()]
            estimates.append(key | {"state": ""} | by[judged])
        row = worst(estimates, 1)[1] | {"quantity": f"worst_{judged}", "published": 1.0}
        row |= {"null": 0.0 if goes else 0.5, "state": max(one["state"] for one in estimates)}
        rows.append(row)
    return tidy(rows, KEYS)


def trap_figure(curves: pd.DataFrame, settings: TrapSettings) -> plt.Figure:
    """A column a chain: the way to the bigram entropy, and the least curvature."""
    chains, last, gone = settings.chains, curves["iteration"].max(), []
    shape, size = (2, len(chains)), (max(MIDDLE, 1.6 * len(chains)), 4.4)
    figure, axes = plt.subplots(*shape, figsize=size, sharex=True, sharey="row", squeeze=False)
    for column, chain in zip(axes.T, chains, strict=True):
        mine = curves[(curves["p"] == chain.p) & (curves["q"] == chain.q)]
        for variant, style in zip(settings.trained, STYLES, strict=False):
            runs = mine[mine["variant"] == variant.name]
            losses = outcomes.by_seed(runs)
            column[0].plot(outcomes.way(losses, chain), **style, lw=0.9, alpha=0.6)
            if variant.initialisation == "standard":  # others were never at the unigram model
                column[1].plot(runs.groupby("iteration")["curvature"].median(), **style, lw=2)
            if variant == settings.trained[0]:
                gone += list(outcomes.standing(losses.iloc[-1], chain) == outcomes.LEFT)
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
    notes = [
        f"{of.sequence_length} inputs, {of.batch} sequences, {of.iterations} iterations, "
        f"{settings.seeds} seeds. In round brackets: what theorem 2 (of the canonical model) and "
        "the paper's guideline say; of the whole transformer it shows only that small starts stay.",
        "way_closed: from the unigram entropy (0) to the bigram entropy (1). trapped_share: of "
        f"runs at most {outcomes.MARGIN:g} from the unigram model. worst: of the chain where the "
        "share (standard start) or way (others) is least; its interval goes down as far as any's. "
        "escape_iteration: from which on a run is beyond, the median; a seed that stays comes "
        "after all others.",
        "Curvature: smallest eigenvalue of the Hessian in e, b moving with it as is best, at e = "
        "0, where the loss is the unigram entropy, with the run's other weights; in units of 2 "
        "h(0), what theorem 2 gives for small weights. Above 0: a local minimum; below: a way out. "
        "Of trapped runs in the end; of others at the last look before they escape.",
    ]
    title = "Is the unigram model a trap of the whole transformer?"
    step.save_table(table, title=title, shown=outcomes.by_chain(table, ["variant"]), notes=notes)
    step.save_figure(trap_figure(curves, settings))
