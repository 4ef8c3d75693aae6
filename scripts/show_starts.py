"""Table and Fig. 4: what four starts learn, and how near to rank one their weights come."""

import numpy as np
import pandas as pd

from onelayer.evidence.figures import MIDDLE, PALETTE, despine, plt
from onelayer.evidence.intervals import mean, worst
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.local_to_global import drawing, outcomes
from onelayer.local_to_global.chain import Chain
from onelayer.settings.local_to_global import TransformerSettings

KEYS = ["initialisation", "inputs", "iterations", "seed", "matrix", "iteration"]
ALL = "all"  # seeds together
# Curves that lie on each other are told apart by their width.
LOOKS = {
    "standard": {"color": PALETTE[5], "lw": 4.0},
    "rank_one": {"color": PALETTE[1], "lw": 1.3, "ls": "--"},
    "paper": {"color": PALETTE[2], "lw": 1.6},
    "paper_canonical": {"color": PALETTE[0], "lw": 1.6, "ls": "-."},
}
MATRICES = ("W_1", "W_V", "W_Q", "W_K", "W_O", "W_2")


def loss_rows(runs: pd.DataFrame, claimed: dict, chain: Chain) -> list[dict]:
    """Losses of one start: every seed's final one, and all seeds together, halfway and final."""
    rows, final = [], runs.groupby("seed", sort=False)["loss"].last()
    for seed, run in runs.groupby("seed", sort=False):
        row = {"seed": str(seed), "quantity": "final_loss", "value": final[seed]}
        rows.append(row | claimed | outcomes.not_trained(run, chain))
    half = mean(outcomes.halfway(runs)["loss"])
    rows.append({"seed": ALL, "quantity": "loss_halfway"} | half)
    row = {"seed": ALL, "quantity": "final_loss"} | claimed | outcomes.over_runs(mean(final))
    return [*rows, row | outcomes.not_trained(runs, chain)]


def rank_rows(runs: pd.DataFrame, iterations: set[int], authors: pd.Series) -> list[dict]:
    """Share of the largest singular value of every matrix, seeds together."""
    rows = []
    for iteration, matrix in [(i, m) for i in sorted(iterations) for m in MATRICES]:
        shares = runs.loc[runs["iteration"] == iteration, f"{matrix}_share"]
        row = {"seed": ALL, "matrix": matrix, "iteration": iteration, "quantity": "top_share"}
        row |= outcomes.over_runs(mean(shares, least=0.0, most=1.0))
        rows.append(row | {"published": authors.get((matrix, iteration), np.nan)})
    return rows


def starts(
    curves: pd.DataFrame, settings: TransformerSettings, chain: Chain, published: pd.DataFrame
) -> pd.DataFrame:
    """The table: every start, then what is compared between starts."""
    rows, looks = [], set(curves["iteration"])
    of = settings.training
    untrained = {s: outcomes.not_trained(r, chain) for s, r in curves.groupby("variant")}
    for start, runs in curves.groupby("variant", sort=False):
        authors = published[published["initialisation"] == start]
        authors = authors.set_index(["matrix", "iteration"])["published"]
        claimed = outcomes.claimed_loss(start, chain, of)
        of_start = loss_rows(runs, claimed, chain)
        of_start += rank_rows(runs, {*settings.snapshots, max(looks)}, authors)
        # A rank-one start must stay so at every look, the standard one become so in the end.
        at = looks if start == "rank_one" else {max(looks)}
        if start in ("standard", "rank_one"):
            row = worst(rank_rows(runs, at, authors), 1)[1] | {"quantity": "smallest_top_share"}
            row["published"] = 1.0 if start == "rank_one" else np.nan
            of_start.append(row | untrained[start])
        rows += [{"initialisation": start} | row for row in of_start]
    losses = {s: r.groupby("seed")["loss"].last() for s, r in curves.groupby("variant")}
    for start in ("paper", "paper_canonical"):
        tolerance = 3 / (2 * of.batch * of.sequence_length)  # of two logits and one
        gain = outcomes.over_runs(mean(losses["standard"] - losses[start]))
        gain |= {"initialisation": start, "seed": ALL, "quantity": "gain_over_the_standard_start"}
        gain |= {"published": chain.unigram_entropy - chain.bigram_entropy, "null": 0.0}
        gain |= {"tolerance": tolerance} | untrained["standard"] | untrained[start]
        rows.append(gain)
    table = pd.DataFrame(rows).assign(inputs=of.sequence_length, iterations=of.iterations)
    return tidy(table, KEYS)


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per start: its loss, and the top share of every matrix in the end."""
    rows, together = [], table[table["seed"] == ALL]
    for start, part in together.groupby("initialisation", sort=False):
        by = part.drop_duplicates("quantity").set_index("quantity")
        half, final = by.loc["loss_halfway"], by.loc["final_loss"]
        shares = part[part["quantity"] == "top_share"].groupby("matrix", sort=False)["value"].last()
        row = {"start": drawing.STARTS[start]}
        row["loss halfway [95%]"] = interval(*half[["value", "low", "high"]], 4)
        row["final loss [95%]"] = interval(*final[["value", "low", "high"]], 4)
        row["published"] = number(final["published"], 4)
        shown = {f"{matrix} top share": number(share, 3) for matrix, share in shares.items()}
        rows.append(row | shown)
    return pd.DataFrame(rows)


def loss_curves(curves: pd.DataFrame, chain: Chain) -> plt.Figure:
    """Fig. 4, above the bigram entropy and logarithmic: the paper's start begins far up."""
    figure, axis = plt.subplots(figsize=(MIDDLE, 3.8))
    curves = curves.assign(above=curves["loss"] - chain.bigram_entropy)
    for start, look in LOOKS.items():
        runs, ends = curves[curves["variant"] == start], outcomes.claimed_model(start, chain)
        drawing.band(axis, runs, "above", look | {"label": f"{drawing.STARTS[start]}: {ends}"})
    unigram, last = chain.unigram_entropy - chain.bigram_entropy, curves["iteration"].max()
    axis.axhline(unigram, color="0.3", lw=0.9, ls=":", zorder=3)
    words = r"unigram entropy $H(\pi)$"
    axis.text(last, 1.15 * unigram, words, ha="right", va="bottom", fontsize=8)
    final = curves[(curves["iteration"] == last) & (curves["variant"] == "standard")]
    stay = f"{abs(final['loss'] - chain.unigram_entropy).le(chain.close).sum()} of {len(final)}"
    axis.set_title(f"{stay} standard starts end at the unigram model\n({chain})", fontsize=10)
    axis.set(xlabel="iteration", yscale="log", xlim=(0, last))
    axis.set_ylabel("loss above the bigram entropy (nats)")
    axis.legend(
        title="mean and range of seeds; published end", loc="upper right", bbox_to_anchor=(1, 0.95)
    )
    despine(axis)
    return figure


with job(snakemake) as step:
    settings = TransformerSettings(**snakemake.params.settings)
    chain, of = Chain(settings.chain.p, settings.chain.q), settings.training
    curves = pd.read_parquet(snakemake.input.curves)
    curves = curves[curves["variant"].isin([start.name for start in settings.starts])]
    table = starts(curves, settings, chain, pd.read_csv(step.given("published")))
    notes = [
        f"{chain}; {of.sequence_length} inputs, {of.batch} sequences, {of.iterations} iterations "
        f"of {of.optimizer}, largest learning rate {of.lr:g}, weight decay {of.weight_decay:g}. "
        "The paper has 1,024 inputs and weight decay .001.",
        "Loss: on held-out sequences (nats), mean over seeds. Published: the entropy at which the "
        f"paper says that a start ends, unigram {chain.unigram_entropy:.4f} or bigram "
        f"{chain.bigram_entropy:.4f}.",
        "Top share: sigma_1^2 / sum of sigma_i^2 at the end; 1 means rank one. The CSV has earlier "
        "iterations as well, beside the authors' saved weights (one run, up to iteration 200).",
    ]
    shown, title = for_readers(table), "What each start learns"
    step.save_table(table, title=title, shown=shown, notes=notes)
    step.save_figure(loss_curves(curves, chain))
