"""Table: where every start ends, and where one change of the training at a time takes it."""

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.local_to_global import outcomes
from onelayer.local_to_global.chain import Chain
from onelayer.settings.local_to_global import TransformerSettings, Variant

KEYS = ["variant", "initialisation", "claimed", "iterations"]


def variant_rows(
    runs: pd.DataFrame, variant: Variant, settings: TransformerSettings, chain: Chain
) -> dict[str, dict]:
    """Rows of one variant by quantity."""
    state = outcomes.not_trained(runs, chain)
    final = runs[runs["iteration"] == runs["iteration"].max()]
    first = min(outcomes.escape(run, chain) for run in outcomes.runs_of(runs))
    of = variant.applied(settings.training)
    claimed = outcomes.claimed_loss(variant.initialisation, chain, of)
    unigram = float(outcomes.claimed_model(variant.initialisation, chain) == "unigram")
    share = {"published": unigram, "null": 0.5}
    return {
        "trapped_share": outcomes.trapped(final, chain) | share | state,
        "trapped_share_halfway": outcomes.trapped(outcomes.halfway(runs), chain) | share,
        "first_escape_iteration": {"value": first} if np.isfinite(first) else outcomes.MISSING,
        "final_loss": outcomes.over_runs(mean(final["loss"])) | claimed | state,
        "final_W_1_share": mean(final["W_1_share"], least=0.0, most=1.0),
    }


def ablation(
    curves: pd.DataFrame, settings: TransformerSettings, chain: Chain
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table, a variant at a time, and a row per variant for readers."""
    rows, shown = [], []
    for variant in settings.trained:
        start, of = variant.initialisation, variant.applied(settings.training)
        values = variant.name, start, outcomes.claimed_model(start, chain), of.iterations
        key = dict(zip(KEYS, values, strict=True))
        runs = curves[curves["variant"] == variant.name]
        by = variant_rows(runs, variant, settings, chain)
        rows += [key | {"quantity": quantity} | row for quantity, row in by.items()]
        half, final, loss = by["trapped_share_halfway"], by["trapped_share"], by["final_loss"]
        at = [f"{share['value'] * share['n']:.0f} of {share['n']}" for share in (half, final)]
        shown.append(
            {"variant": variant.name.replace("_", " "), "start": start.replace("_", " ")}
            | {"iterations": str(of.iterations)}
            | {"at the unigram model halfway": at[0], "in the end": at[1]}
            | {"first escape": number(by["first_escape_iteration"].get("value"), 0)}
            | {"final loss [95%]": interval(loss["value"], loss["low"], loss["high"], 4)}
            | {"published": number(loss["published"], 4)}
            | {"W_1 top share": number(by["final_W_1_share"]["value"], 3)}
        )
    return tidy(rows, KEYS), pd.DataFrame(shown)


with job(snakemake) as step:
    settings = TransformerSettings(**snakemake.params.settings)
    chain = Chain(settings.chain.p, settings.chain.q)
    table, shown = ablation(pd.read_parquet(snakemake.input.curves), settings, chain)
    title = "Where each start ends, one change of the training at a time"
    notes = [
        f"{chain}. At the unigram model: the loss is within {chain.close:.4f} of the unigram "
        f"entropy {chain.unigram_entropy:.4f}, a tenth of its distance from the bigram entropy "
        f"{chain.bigram_entropy:.4f}. Escape: first iteration from which on the loss stays further "
        "below it, the earliest of the seeds.",
        "A longer training has a longer schedule, and is not the shorter one gone on with.",
        "Published: the entropy at which the paper says that this start ends. It says nothing "
        "about the changes. Paper canonical: W = .25, the canonical point (e, w) = (1.41, -2); "
        "paper: W = 1, the authors' default.",
    ]
    step.save_table(table, title=title, shown=shown, notes=notes)
