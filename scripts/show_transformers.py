"""What four starts learn, their weights (Figs. 3, 4 and 6), and one change of the training each."""

import numpy as np
import pandas as pd
from safetensors.numpy import load_file

from onelayer.evidence.figures import DIVERGING, MARKERS, MIDDLE, PALETTE, WIDTH, despine, plt
from onelayer.evidence.intervals import worst
from onelayer.evidence.tables import side_by_side, tidy
from onelayer.job import job
from onelayer.local_to_global import outcomes
from onelayer.settings.local_to_global import MATRICES, STARTS, TransformerSettings

START_KEYS = ["initialisation", "inputs", "iterations", "seed", "matrix", "iteration"]
VARIANT_KEYS = ["variant", "initialisation", "claimed", "iterations"]
# Curves of starts that lie on each other are told apart by their width.
LOOKS = [{"color": PALETTE[5], "lw": 4.0}, {"color": PALETTE[1], "lw": 1.3, "ls": "--"}]
LOOKS += [{"color": PALETTE[2], "lw": 1.6}, {"color": PALETTE[0], "lw": 1.6, "ls": "-."}]
# A colour for the MLP, one for what attention writes, one for where it looks.
STYLES = {
    matrix: {"color": PALETTE[place // 2], "ls": ("-", "--")[place % 2], "marker": MARKERS[place]}
    for place, matrix in enumerate(("W_1", "W_2", "W_V", "W_O", "W_Q", "W_K"))
}
NOTES = [
    "In round brackets: where the paper, with 1,024 inputs, weight decay .001 and W = 1, says a "
    "start ends. It says nothing of changes. W = .25 is the canonical point (e, w) = (1.41, -2).",
    f"trapped_share: of runs at the unigram model, at most {outcomes.MARGIN:g} of the way from its "
    "entropy to the bigram entropy; first_escape_iteration: from then on the first seed is beyond. "
    "share_leaving_alone: of seeds with which this start is beyond and the standard one at it.",
    "smallest_top_share: of sigma_1^2 / sum of sigma_i^2, 1 for rank one, of the matrix where it "
    "is least in the end, or at any time from the rank-one start; its interval goes as low as any "
    "matrix's. All of them, and those that the authors saved (one run, up to iteration 200), are "
    "in the CSV.",
]


def ablation(curves: pd.DataFrame, settings: TransformerSettings) -> pd.DataFrame:
    """A variant at a time."""
    rows, chain = [], settings.chain
    for variant in settings.trained:
        start, of = variant.initialisation, variant.applied(settings.training)
        model = outcomes.claimed_model(start, chain)
        key = dict(zip(VARIANT_KEYS, (variant.name, start, model, of.iterations), strict=True))
        by = outcomes.end_rows(curves[curves["variant"] == variant.name], start, chain, of)
        rows += [key | {"quantity": quantity} | row for quantity, row in by.items()]
    return tidy(rows, VARIANT_KEYS)


def starts_table(curves: pd.DataFrame, settings: TransformerSettings, published) -> pd.DataFrame:
    """Every start: losses of each seed and of all, top shares; then who leaves alone."""
    chain, of, rows, losses, state = settings.chain, settings.training, [], {}, {}
    for start, runs in curves.groupby("variant", sort=False):
        key = {"initialisation": start, "seed": "all"}
        by = outcomes.end_rows(runs, start, chain, of)
        losses[start] = outcomes.by_seed(runs).iloc[-1]
        state[start] = outcomes.not_trained(runs, chain)
        for seed, run in runs.groupby("seed"):
            one = {"seed": str(seed), "quantity": "final_loss", "value": losses[start][seed]}
            one |= outcomes.claimed_loss(start, chain) | outcomes.not_trained(run, chain)
            rows.append(key | one)
        rows += [key | {"quantity": name} | by[name] for name in ("final_loss", "trapped_share")]
        ranks = outcomes.rank_rows(runs, published.get(start, {}))
        ranks = [key | {"quantity": "top_share"} | row for row in ranks]
        rows += [r for r in ranks if r["iteration"] in (*settings.snapshots, of.iterations)]
        # A rank-one start must stay so at every look, the others become so in the end.
        looks, one = (ranks, 1.0) if start == "rank_one" else (ranks[-len(MATRICES) :], np.nan)
        least = worst(looks, 1)[1] | {"quantity": "smallest_top_share", "published": one}
        rows.append(least | state[start])
    for start in ("paper", "paper_canonical"):
        key = {"initialisation": start, "seed": "all", "quantity": "share_leaving_alone"}
        alone = outcomes.leaves_alone(losses[start], losses["standard"], chain)
        rows.append(key | alone | state["standard"] | state[start])
    table = pd.DataFrame(rows).assign(inputs=of.sequence_length, iterations=of.iterations)
    return tidy(table, START_KEYS)


def band(axis: plt.Axes, curves: pd.DataFrame, quantity: str, **style) -> None:
    """Mean over seeds, and their range."""
    by = curves.groupby("iteration")[quantity]
    axis.fill_between(by.mean().index, by.min(), by.max(), color=style["color"], alpha=0.2, lw=0)
    axis.plot(by.mean(), **style)


def loss_curves(curves: pd.DataFrame, settings: TransformerSettings) -> plt.Figure:
    """Fig. 4, above the bigram entropy and logarithmic: the paper's start begins far up."""
    figure, axis = plt.subplots(figsize=(MIDDLE, 3.8))
    chain, last = settings.chain, settings.training.iterations
    curves = curves.assign(above=curves["loss"] - chain.bigram_entropy)
    for (start, title), look in zip(STARTS.items(), LOOKS, strict=True):
        label = f"{title}: {outcomes.claimed_model(start, chain)}"
        band(axis, curves[curves["variant"] == start], "above", label=label, **look)
    axis.axhline(chain.gap, color="0.3", lw=0.9, ls=":", label=r"unigram entropy $H(\pi)$")
    final = curves[(curves["iteration"] == last) & (curves["variant"] == "standard")]
    at = outcomes.standing(final["loss"], chain) == outcomes.AT
    found = f"{at.sum()} of {len(at)} standard starts are at the unigram model"
    axis.set_title(f"{found}\nafter {last:,} iterations ({chain})", fontsize=10)
    axis.set(xlabel="iteration", yscale="log", xlim=(0, last))
    axis.set_ylabel("loss above the bigram entropy (nats)")
    axis.legend(title="mean and range of seeds; published end", loc=(0.3, 0.62))
    despine(axis)
    return figure


def weights_figure(curves, weights, published, settings: TransformerSettings) -> plt.Figure:
    """Figs. 3 and 6: W_1 (on its side) and W_V of the last run, and top shares of all matrices."""
    figure, last = plt.figure(figsize=(WIDTH, 6.2)), settings.training.iterations
    upper, lower = figure.subfigures(2, 1, height_ratios=[1, 1.05])
    for half, start in zip(upper.subfigures(1, 2), ("standard", "rank_one"), strict=True):
        half.suptitle(f"{STARTS[start]} (red: max, blue: -max)", fontsize=9)
        axes = half.subplots(2, len(settings.snapshots), squeeze=False)
        for row, name in zip(axes, ("W_1", "W_V"), strict=True):
            looks = weights[f"{start}/{name}"][:, -1], settings.snapshots
            for axis, W, iteration in zip(row, *looks, strict=True):
                largest, shown = abs(W).max(), W.T if name == "W_1" else W
                axis.imshow(shown / largest, DIVERGING, vmin=-1, vmax=1, aspect="auto")
                axis.set(xticks=[], yticks=[])
                axis.set_title(f"${name}$, it. {iteration}\nmax {largest:.2g}", fontsize=8)
    panels = lower.subplots(1, 4, sharey=True)
    for axis, (start, title) in zip(panels, STARTS.items(), strict=True):
        runs = curves[curves["variant"] == start]
        for name, style in STYLES.items():
            band(axis, runs, f"{name}_share", **style | {"marker": "", "lw": 1.5})
        for (matrix, iteration), share in published.get(start, {}).items():
            if iteration <= last:
                axis.plot(iteration, share, **STYLES[matrix], ms=6, zorder=4, clip_on=False)
        axis.set(xlabel="iteration", ylim=(0, 1.05), xlim=(0, last))
        axis.set_title(title, fontsize=8.5)
        despine(axis)
    panels[0].set_ylabel("share of the largest\nsingular value, $\\sigma_1^2 / \\sum\\sigma_i^2$")
    handles = [plt.Line2D([], [], label=f"${name}$", **style) for name, style in STYLES.items()]
    title = "lines: mean and range of seeds; markers: the authors' weights (one run)"
    lower.legend(handles=handles, loc="outside lower center", ncols=6, title=title)
    return figure


with job(snakemake) as step:
    settings = TransformerSettings(**snakemake.params.settings)
    curves, weights = pd.read_parquet(snakemake.input.curves), load_file(snakemake.input.weights)
    published = pd.read_csv(step.given("published"), index_col=[0, 1, 2])["published"]
    notes = [f"{settings.chain}, {settings.seeds} seeds.", *NOTES]
    table, title = ablation(curves, settings), "Where each start ends, one change at a time"
    shown = side_by_side(table, VARIANT_KEYS, "quantity").replace(STARTS)
    step.save_table(table, "ablation", title=title, shown=shown, notes=notes)
    curves = curves[curves["variant"].isin(STARTS)]
    table, title = starts_table(curves, settings, published), "What each start learns"
    shown = table[(table["seed"] == "all") & (table["quantity"] != "top_share")]
    shown = side_by_side(shown, START_KEYS[:3], "quantity").replace(STARTS)
    step.save_table(table, "starts", title=title, shown=shown, notes=notes)
    step.save_figure(loss_curves(curves, settings), "loss_curves")
    step.save_figure(weights_figure(curves, weights, published, settings), "weights")
