"""Table and Fig. 4: what three starts learn, and how near to rank one their weights come."""

import numpy as np
import pandas as pd

from onelayer.evidence.figures import MIDDLE, PALETTE, despine, plt
from onelayer.evidence.intervals import mean, worst
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.local_to_global import drawing, outcomes
from onelayer.local_to_global.chain import Chain
from onelayer.settings.local_to_global import TransformerSettings

KEYS = ["initialisation", "seed", "matrix", "iteration"]
ALL = "all"  # seeds together
TITLE = "Loss over training from three starts"
# Curves that lie on each other are told apart by their width.
LOOKS = {
    "standard": {"color": PALETTE[5], "lw": 4.0},
    "rank_one": {"color": PALETTE[1], "lw": 1.3, "ls": "--"},
    "paper": {"color": PALETTE[2], "lw": 1.6},
}
MATRICES = ("W_1", "W_V", "W_Q", "W_K", "W_O", "W_2")


def run_rows(run: pd.DataFrame, chain: Chain) -> list[dict]:
    """When a run first comes near the bigram entropy, and how far it leaves the unigram one."""
    iteration, loss = run["iteration"].to_numpy(), run["loss"].to_numpy()
    reached = iteration[loss <= chain.bigram_entropy + chain.close]
    near = {"value": float(reached[0])} if len(reached) else {"state": outcomes.NOT_REACHED}
    later = (iteration >= 100) & (iteration <= 450)
    away = {"value": max(abs(loss[later] - chain.unigram_entropy), default=np.nan)}
    names = ("iteration_near_bigram", "largest_distance_from_unigram")
    return [{"quantity": name} | row for name, row in zip(names, (near, away), strict=True)]


def loss_rows(runs: pd.DataFrame, start: str, chain: Chain) -> list[dict]:
    """Final losses of one start, seed by seed and together."""
    claimed = outcomes.claimed_loss(outcomes.claimed_model(start, chain), chain)
    rows, losses = [], []
    for seed, run in runs.groupby("seed", sort=False):
        losses.append(float(run["loss"].iloc[-1]))
        final = {"quantity": "final_loss", "value": losses[-1]} | claimed
        of_seed = [final | outcomes.not_trained(run, chain), *run_rows(run, chain)]
        rows += [{"seed": str(seed)} | row for row in of_seed]
    final = {"seed": ALL, "quantity": "final_loss"} | claimed | outcomes.over_runs(mean(losses))
    above = mean(np.array(losses) - claimed["published"])
    above |= {"seed": ALL, "quantity": "final_loss_above_claimed"}
    return [*rows, final | outcomes.not_trained(runs, chain), above]


def rank_rows(runs: pd.DataFrame, start: str, iterations: set[int], authors: dict) -> list[dict]:
    """Share of the largest singular value of every matrix, seeds together."""
    rows = []
    for iteration, matrix in [(i, m) for i in sorted(iterations) for m in MATRICES]:
        row = {"matrix": matrix, "iteration": iteration, "quantity": "top_share"}
        shares = runs.loc[runs["iteration"] == iteration, f"{matrix}_share"]
        row |= outcomes.over_runs(mean(shares, least=0.0, most=1.0))
        published = authors.get((start, matrix, iteration), np.nan)
        rows.append(row | {"seed": ALL, "published": published})
    return rows


def starts(
    curves: pd.DataFrame, settings: TransformerSettings, chain: Chain, published: pd.DataFrame
) -> pd.DataFrame:
    """The table: every start, then the rows that decide the paper's claims."""
    rows, untrained, losses, last = [], {}, {}, curves["iteration"].max()
    authors = published.set_index(["initialisation", "matrix", "iteration"])["published"].to_dict()
    for start, runs in curves.groupby("variant", sort=False):
        of_start = loss_rows(runs, start, chain)
        of_start += rank_rows(runs, start, {*settings.snapshots, last}, authors)
        rows += [{"initialisation": start} | row for row in of_start]
        untrained[start] = outcomes.not_trained(runs, chain)
        losses[start] = runs.groupby("seed")["loss"].last()
    gain = outcomes.over_runs(mean(losses["standard"] - losses["paper"]))
    gain |= {"quantity": "gain_of_the_papers_start", "null": 0.0, "seed": ALL}
    gain["published"] = chain.unigram_entropy - chain.bigram_entropy
    rows.append(gain | untrained["standard"] | untrained["paper"])
    shares = [row for row in rows if row.get("iteration") == last]
    for start, exact in (("standard", np.nan), ("rank_one", 1.0)):
        row = worst([share for share in shares if share["initialisation"] == start], 1)[1]
        row |= {"quantity": "smallest_top_share", "published": exact}
        rows.append(row | untrained[start])
    return tidy(rows, KEYS)


def for_readers(table: pd.DataFrame, seeds: int) -> pd.DataFrame:
    """A row per start: its loss, and the top share of every matrix in the end."""
    rows = []
    for start, part in table.groupby("initialisation", sort=False):
        final = part[(part["seed"] == ALL) & (part["quantity"] == "final_loss")].iloc[0]
        near = part.loc[part["quantity"] == "iteration_near_bigram", "value"].dropna()
        shares = part[part["quantity"] == "top_share"].groupby("matrix", sort=False)["value"].last()
        rows.append(
            {
                "start": start.replace("_", "-"),
                "final loss [95%]": interval(*final[["value", "low", "high"]], 4),
                "published": number(final["published"], 4),
                "near the bigram entropy": f"{len(near)} of {seeds}",
                "first at iteration": number(near.min(), 0),
            }
            | {f"{matrix} top share": number(share, 3) for matrix, share in shares.items()}
        )
    return pd.DataFrame(rows)


def notes(settings: TransformerSettings, chain: Chain) -> list[str]:
    """What stands below the table."""
    of, unigram, bigram = settings.training, chain.unigram_entropy, chain.bigram_entropy
    return [
        f"{chain}; {of.sequence_length} inputs, {of.batch} sequences, {of.iterations} iterations "
        f"of {of.optimizer}, largest learning rate {of.lr:.15g}, weight decay "
        f"{of.weight_decay:.15g}. The paper has 1,024 inputs and weight decay .001.",
        "Loss: on held-out sequences (nats), mean over seeds. Published: the entropy at which the "
        f"paper says that a start ends, unigram {unigram:.4f} or bigram {bigram:.4f}. "
        "Near: within a tenth of their distance.",
        "Top share: sigma_1^2 / sum of sigma_i^2 at the end; 1 means rank one. The CSV has earlier "
        "iterations as well, beside the authors' saved weights (one run, up to iteration 200).",
    ]


def loss_curves(curves: pd.DataFrame, chain: Chain) -> plt.Figure:
    """Fig. 4, above the bigram entropy and logarithmic: the paper's start begins far up."""
    figure, axis = plt.subplots(figsize=(MIDDLE, 3.6))
    curves = curves.assign(above=curves["loss"] - chain.bigram_entropy)
    for start, look in LOOKS.items():
        runs, ends = curves[curves["variant"] == start], outcomes.claimed_model(start, chain)
        drawing.band(axis, runs, "above", look | {"label": f"{drawing.STARTS[start]}: {ends}"})
    unigram, last = chain.unigram_entropy - chain.bigram_entropy, curves["iteration"].max()
    axis.axhline(unigram, color="0.3", lw=0.9, ls=":", zorder=3)
    words = r"unigram entropy $H(\pi)$"
    axis.text(last, 1.15 * unigram, words, ha="right", va="bottom", fontsize=8)
    axis.set(xlabel="iteration", yscale="log", xlim=(0, last), title=f"{TITLE} ({chain})")
    axis.set_ylabel("loss above the bigram entropy (nats)")
    axis.legend(
        title="mean and range of seeds; published end", loc="upper right", bbox_to_anchor=(1, 0.95)
    )
    despine(axis)
    return figure


with job(snakemake) as step:
    settings = TransformerSettings(**snakemake.params.settings)
    chain = Chain(settings.chain.p, settings.chain.q)
    curves = pd.read_parquet(snakemake.input.curves)
    table = starts(curves, settings, chain, pd.read_csv(step.given("published")))
    shown, title = for_readers(table, settings.seeds), "What each start learns"
    step.save_table(table, title=title, shown=shown, notes=notes(settings, chain))
    step.save_figure(loss_curves(curves, chain))
