"""What four starts learn, their weights (Figs. 3, 4 and 6), and one change of the training each."""

import numpy as np
import pandas as pd
from safetensors.numpy import load_file

from onelayer.evidence.figures import DIVERGING, MARKERS, MIDDLE, PALETTE, WIDTH, despine, plt
from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.local_to_global import outcomes
from onelayer.settings.local_to_global import STARTS, TransformerSettings

START_KEYS = ["initialisation", "inputs", "iterations", "seed", "matrix", "iteration"]
VARIANT_KEYS = ["variant", "initialisation", "claimed", "iterations"]
ALL = "all"  # seeds together
MATRICES = ("W_1", "W_V", "W_Q", "W_K", "W_O", "W_2")
SHARE = {"least": 0.0, "most": 1.0}
# Curves of starts that lie on each other are told apart by their width.
LOOKS = [
    {"color": PALETTE[5], "lw": 4.0},
    {"color": PALETTE[1], "lw": 1.3, "ls": "--"},
    {"color": PALETTE[2], "lw": 1.6},
    {"color": PALETTE[0], "lw": 1.6, "ls": "-."},
]
WEIGHTS = {"standard": "Fig. 3", "rank_one": "Fig. 6"}
# Colours by what matrices do: values and MLP decide what is written, queries and keys where
# attention looks.
PAIRS = (("W_1", "W_2"), ("W_V", "W_O"), ("W_Q", "W_K"))
STYLES = {
    name: {"color": color, "ls": ls, "marker": marker, "mfc": fill or color}
    for color, marker, pair in zip(PALETTE, MARKERS, PAIRS, strict=False)
    for name, ls, fill in zip(pair, ("-", "--"), ("", "white"), strict=True)
}


def rank_rows(runs: pd.DataFrame, iterations: set[int], authors: pd.Series) -> list[dict]:
    """Share of the largest singular value of every matrix, seeds together."""
    rows = []
    for iteration, matrix in [(i, m) for i in sorted(iterations) for m in MATRICES]:
        shares = runs.loc[runs["iteration"] == iteration, f"{matrix}_share"]
        row = {"seed": ALL, "matrix": matrix, "iteration": iteration, "quantity": "top_share"}
        row |= outcomes.over_runs(mean(shares, **SHARE))
        rows.append(row | {"published": authors.get((matrix, iteration), np.nan)})
    return rows


def starts_table(
    curves: pd.DataFrame, settings: TransformerSettings, published: pd.DataFrame
) -> pd.DataFrame:
    """Every start: losses of each seed and of all, top shares; then who leaves alone."""
    rows, losses, looks = [], {}, set(curves["iteration"])
    of, chain, last = settings.training, settings.chain, max(looks)
    by_start = dict(list(curves.groupby("variant", sort=False)))
    untrained = {start: outcomes.not_trained(runs, chain) for start, runs in by_start.items()}
    for start, runs in by_start.items():
        authors = published[published["initialisation"] == start]
        authors = authors.set_index(["matrix", "iteration"])["published"]
        saved, losses[start] = [], runs.groupby("seed", sort=False)["loss"].last()
        claimed = {"quantity": "final_loss"} | outcomes.claimed_loss(start, chain, of)
        for seed, run in runs.groupby("seed", sort=False):
            row = {"seed": str(seed), "value": losses[start][seed]} | claimed
            saved.append(row | outcomes.not_trained(run, chain))
        row = {"seed": ALL} | claimed | outcomes.over_runs(mean(losses[start]))
        saved.append(row | untrained[start])
        final = runs[runs["iteration"] == last]
        at = outcomes.trapped(final, chain) | outcomes.claimed_share(start, chain)
        saved.append({"seed": ALL, "quantity": "trapped_share"} | at | untrained[start])
        saved += rank_rows(runs, {*settings.snapshots, last}, authors)
        # A rank-one start must stay so at every look, the others become so in the end.
        at, one = (looks, 1.0) if start == "rank_one" else ({last}, np.nan)
        least = outcomes.furthest(rank_rows(runs, at, authors), 1) | {"published": one}
        saved.append(least | {"quantity": "smallest_top_share"} | untrained[start])
        rows += [{"initialisation": start} | row for row in saved]
    for start in ("paper", "paper_canonical"):
        alone = outcomes.leaves_alone(losses[start], losses["standard"], chain)
        key = {"initialisation": start, "seed": ALL, "quantity": "share_leaving_alone"}
        rows.append(key | alone | untrained["standard"] | untrained[start])
    table = pd.DataFrame(rows).assign(inputs=of.sequence_length, iterations=of.iterations)
    return tidy(table, START_KEYS)


def starts_for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per start: its loss, and the top share of every matrix in the end."""
    rows, together = [], table[table["seed"] == ALL]
    for start, part in together.groupby("initialisation", sort=False):
        by = part.drop_duplicates("quantity").set_index("quantity")
        final = by.loc["final_loss"]
        shares = part[part["quantity"] == "top_share"].groupby("matrix", sort=False)["value"].last()
        rows.append(
            {"start": STARTS[start]}
            | {"final loss [95%]": interval(*final[["value", "low", "high"]], 4)}
            | {"published": number(final["published"], 4)}
            | {"at the unigram model": outcomes.counted(by.loc["trapped_share"])}
            | {f"{matrix} top share": number(share, 3) for matrix, share in shares.items()}
        )
    return pd.DataFrame(rows)


def ablation(
    curves: pd.DataFrame, settings: TransformerSettings
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table, a variant at a time, and a row per variant for readers."""
    rows, shown, chain = [], [], settings.chain
    for variant in settings.trained:
        start, of = variant.initialisation, variant.applied(settings.training)
        model = outcomes.claimed_model(start, chain)
        runs = curves[curves["variant"] == variant.name]
        state = outcomes.not_trained(runs, chain)
        final = runs[runs["iteration"] == of.iterations]
        first = min(outcomes.escape(run, chain) for run in outcomes.runs_of(runs))
        claimed = outcomes.claimed_share(start, chain)
        by = {
            "trapped_share": outcomes.trapped(final, chain) | claimed | state,
            "trapped_share_halfway": outcomes.trapped(outcomes.halfway(runs), chain) | claimed,
            "first_escape_iteration": {"value": first} if first < np.inf else outcomes.MISSING,
            "final_loss": outcomes.over_runs(mean(final["loss"]))
            | outcomes.claimed_loss(start, chain, of)
            | state,
            "final_W_1_share": mean(final["W_1_share"], **SHARE),
        }
        key = dict(zip(VARIANT_KEYS, (variant.name, start, model, of.iterations), strict=True))
        rows += [key | {"quantity": quantity} | row for quantity, row in by.items()]
        loss, half = by["final_loss"], outcomes.counted(by["trapped_share_halfway"])
        shown.append(
            {"variant": STARTS.get(variant.name, variant.name), "start": STARTS[start]}
            | {"iterations": str(of.iterations)}
            | {"at the unigram model halfway": half}
            | {"in the end": outcomes.counted(by["trapped_share"])}
            | {"first escape": number(by["first_escape_iteration"].get("value"), 0)}
            | {"final loss [95%]": interval(loss["value"], loss["low"], loss["high"], 4)}
            | {"published": number(loss["published"], 4)}
            | {"W_1 top share": number(by["final_W_1_share"]["value"], 3)}
        )
    return tidy(rows, VARIANT_KEYS), pd.DataFrame(shown)


def band(axis: plt.Axes, curves: pd.DataFrame, quantity: str, style: dict, alpha: float) -> None:
    """Mean over seeds, and their range."""
    by = curves.groupby("iteration")[quantity]
    mean = by.mean()
    axis.fill_between(mean.index, by.min(), by.max(), color=style["color"], alpha=alpha, lw=0)
    axis.plot(mean.index, mean, **style)


def loss_curves(curves: pd.DataFrame, settings: TransformerSettings) -> plt.Figure:
    """Fig. 4, above the bigram entropy and logarithmic: the paper's start begins far up."""
    figure, axis = plt.subplots(figsize=(MIDDLE, 3.8))
    chain, last = settings.chain, curves["iteration"].max()
    curves = curves.assign(above=curves["loss"] - chain.bigram_entropy)
    for (start, title), look in zip(STARTS.items(), LOOKS, strict=True):
        label = {"label": f"{title}: {outcomes.claimed_model(start, chain)}"}
        band(axis, curves[curves["variant"] == start], "above", look | label, alpha=0.25)
    axis.axhline(chain.gap, color="0.3", lw=0.9, ls=":", zorder=3)
    words = r"unigram entropy $H(\pi)$"
    axis.text(last, 1.15 * chain.gap, words, ha="right", va="bottom", fontsize=8)
    final = curves[(curves["iteration"] == last) & (curves["variant"] == "standard")]
    stay = outcomes.counted(outcomes.trapped(final, chain))
    title = f"{stay} standard starts are at the unigram model\nafter {last:,} iterations ({chain})"
    axis.set_title(title, fontsize=10)
    axis.set(xlabel="iteration", yscale="log", xlim=(0, last))
    axis.set_ylabel("loss above the bigram entropy (nats)")
    axis.legend(
        title="mean and range of seeds; published end", loc="upper right", bbox_to_anchor=(1, 0.95)
    )
    despine(axis)
    return figure


def weights_figure(
    curves: pd.DataFrame, weights: dict, authors: pd.DataFrame, iterations: list[int]
) -> plt.Figure:
    """Figs. 3 and 6: W_1 (on its side) and W_V along the training, and top shares of all."""
    figure, columns = plt.figure(figsize=(WIDTH, 6.2)), len(iterations)
    upper, lower = figure.subfigures(2, 1, height_ratios=[1, 1.05])
    axes = upper.subplots(2, 2 * columns, squeeze=False)
    look = {"cmap": DIVERGING, "vmin": -1, "vmax": 1, "interpolation": "nearest", "aspect": "auto"}
    for half, start in zip((axes[:, :columns], axes[:, columns:]), WEIGHTS, strict=True):
        for row, name in zip(half, ("W_1", "W_V"), strict=True):
            runs = weights[f"{start}/{name}"][:, -1]  # of the last run
            for axis, W, iteration in zip(row, runs, iterations, strict=True):
                image = axis.imshow((W.T if name == "W_1" else W) / abs(W).max(), **look)
                axis.set(xticks=[], yticks=[])
                largest = f"max {abs(W).max():.2g}"
                axis.set_title(f"${name}$, it. {iteration}\n{largest}", fontsize=8)
        half[1, columns // 2].set_xlabel(f"{WEIGHTS[start]}, {STARTS[start]}", fontsize=9)
    bar = upper.colorbar(image, ax=axes, ticks=[-1, 0, 1], aspect=25)
    bar.set_label("entry / max", fontsize=8)
    upper.suptitle("Weights over training, and how much of them is of rank one", fontsize=10)
    panels, last = lower.subplots(1, 4, sharey=True), curves["iteration"].max()
    for axis, (start, title) in zip(panels, STARTS.items(), strict=True):
        saved = authors[(authors["initialisation"] == start) & (authors["iteration"] <= last)]
        for name, style in STYLES.items():
            line = {"color": style["color"], "ls": style["ls"], "lw": 1.5}
            band(axis, curves[curves["variant"] == start], f"{name}_share", line, alpha=0.15)
            point = style | {"ls": "", "ms": 6, "zorder": 4, "clip_on": False}
            theirs = saved[saved["matrix"] == name]
            [markers] = axis.plot(theirs["iteration"], theirs["published"], **point)
            markers.set_in_layout(False)  # where there are none they would leave the layout no room
        axis.axhline(1, color="0.7", lw=0.8, zorder=0)
        axis.set(xlabel="iteration", ylim=(0, 1.05), xlim=(0, last))
        axis.set_title(title, fontsize=8.5)
        despine(axis)
    panels[0].set_ylabel("share of the largest\nsingular value, $\\sigma_1^2 / \\sum\\sigma_i^2$")
    styles = {f"${name}$": style | {"marker": ""} for name, style in STYLES.items()}
    of_authors = {"color": "0.3", "ls": "", "marker": "o", "ms": 5}
    styles["markers: authors' weights (one run)"] = of_authors
    handles = [plt.Line2D([], [], label=label, **style) for label, style in styles.items()]
    lower.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


with job(snakemake) as step:
    settings = TransformerSettings(**snakemake.params.settings)
    chain, of = settings.chain, settings.training
    curves, weights = pd.read_parquet(snakemake.input.curves), load_file(snakemake.input.weights)
    published = pd.read_csv(step.given("published"))
    table, shown = ablation(curves, settings)
    title = "Where each start ends, one change of the training at a time"
    notes = [
        f"{chain}. At the unigram model: the loss is within {outcomes.NEAR * chain.gap:.4f} of the "
        f"unigram entropy {chain.unigram_entropy:.4f}, a tenth of its distance from the bigram "
        f"entropy {chain.bigram_entropy:.4f}. Escape: first iteration from which on the loss stays "
        "further below it, the earliest of the seeds.",
        "A longer training has a longer schedule, and is not the shorter one gone on with.",
        "Published: where the paper says that this start ends; it says nothing about the changes. "
        "Its start has W = 1 by default; W = .25 is the canonical point (e, w) = (1.41, -2).",
    ]
    step.save_table(table, "ablation", title=title, shown=shown, notes=notes)
    curves = curves[curves["variant"].isin(STARTS)]
    table, title = starts_table(curves, settings, published), "What each start learns"
    notes = [
        f"{chain}; {of.sequence_length} inputs, {of.batch} sequences, {of.iterations} iterations "
        f"of {of.optimizer}, largest learning rate {of.lr:g}, weight decay {of.weight_decay:g}. "
        "The paper has 1,024 inputs, weight decay .001, and by default a start with W = 1.",
        "Loss: on held-out sequences (nats), mean over seeds. Published: the entropy at which the "
        f"paper says that a start ends, unigram {chain.unigram_entropy:.4f} or bigram "
        f"{chain.bigram_entropy:.4f}.",
        f"At the unigram model: as in the table of changes, within {outcomes.NEAR:g} of the way "
        "between the entropies, in the end. Leaves alone: share of seeds from which this start has "
        "left it and the standard one has not.",
        "Top share: sigma_1^2 / sum of sigma_i^2 at the end; 1 means rank one. The CSV has earlier "
        "iterations as well, beside the authors' saved weights (one run, up to iteration 200).",
    ]
    step.save_table(table, "starts", title=title, shown=starts_for_readers(table), notes=notes)
    step.save_figure(loss_curves(curves, settings), "loss_curves")
    figure = weights_figure(curves, weights, published, settings.snapshots)
    step.save_figure(figure, "weights")
