"""Table: what keeps a start at the unigram model, one change of the training at a time."""

import numpy as np
import pandas as pd

from onelayer.evidence.intervals import mean, share
from onelayer.evidence.tables import interval, number, tidy
from onelayer.job import job
from onelayer.local_to_global import outcomes
from onelayer.local_to_global.chain import Chain
from onelayer.settings.local_to_global import AblatedSettings, Variant

KEYS = ["variant", "initialisation", "claimed", "iterations"]


def variant_rows(runs: pd.DataFrame, variant: Variant, chain: Chain) -> dict[str, dict]:
    """Rows of one variant by quantity."""
    model = outcomes.claimed_model(variant.initialisation, chain)
    state = outcomes.not_trained(runs, chain)
    final = runs[runs["iteration"] == runs["iteration"].max()]
    # A start that moves away from the unigram model, up or down, is not trapped by it.
    trapped = abs(final["loss"] - chain.unigram_entropy) <= chain.close
    first = min(outcomes.escape(run, chain) for run in outcomes.runs_of(runs))
    escaped = {"value": first} if np.isfinite(first) else {"state": outcomes.NOT_REACHED}
    claimed = {"published": float(model == "unigram"), "null": 0.5}
    loss = outcomes.over_runs(mean(final["loss"])) | outcomes.claimed_loss(model, chain)
    return {
        "trapped_share": share(int(trapped.sum()), len(final)) | claimed | state,
        "first_escape_iteration": escaped,
        "final_loss": loss | state,
        "final_W_1_share": mean(final["W_1_share"], least=0.0, most=1.0),
        "final_loss_above_bigram": mean(final["loss"] - chain.bigram_entropy),
    }


def ablation(curves: pd.DataFrame, settings: AblatedSettings, chain: Chain) -> pd.DataFrame:
    """The table: a variant at a time."""
    rows = []
    for variant in settings.variants:
        key = {"variant": variant.name, "initialisation": variant.initialisation}
        key["claimed"] = outcomes.claimed_model(variant.initialisation, chain)
        key["iterations"] = variant.applied(settings.training).iterations
        runs = curves[curves["variant"] == variant.name]
        of_variant = variant_rows(runs, variant, chain)
        rows += [key | {"quantity": quantity} | row for quantity, row in of_variant.items()]
    return tidy(rows, KEYS)


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """A row per variant."""
    rows = []
    for (name, start, _, iterations), part in table.groupby(KEYS, sort=False):
        by = part.set_index("quantity")
        trapped, final = by.loc["trapped_share"], by.loc["final_loss"]
        rows.append(
            {
                "variant": name,
                "start": start.replace("_", " "),
                "iterations": f"{iterations}",
                "at the unigram model in the end": f"{trapped['value'] * trapped['n']:.0f} of "
                f"{trapped['n']:.0f}",
                "first escape, iteration": number(by.loc["first_escape_iteration", "value"], 0),
                "final loss [95%]": interval(*final[["value", "low", "high"]], 4),
                "published": number(final["published"], 4),
                "W_1 top share": number(by.loc["final_W_1_share", "value"], 3),
            }
        )
    return pd.DataFrame(rows)


with job(snakemake) as step:
    settings = AblatedSettings(**snakemake.params.settings)
    chain = Chain(settings.chain.p, settings.chain.q)
    table = ablation(pd.read_parquet(snakemake.input.curves), settings, chain)
    title = "What keeps a start at the unigram model, one change at a time"
    notes = [
        f"{chain}. At the unigram model: the loss ends within {chain.close:.4f} of the unigram "
        f"entropy {chain.unigram_entropy:.4f}, a tenth of its distance from the bigram entropy "
        f"{chain.bigram_entropy:.4f}. Escape: first iteration from which on the loss stays further "
        "below it, the earliest of the seeds.",
        "A longer training has a longer schedule, and is not the shorter one gone on with.",
        "Published: the entropy at which the paper says that this start ends. It says nothing "
        "about the changes. W = .25 is the canonical point (e, w) = (1.41, -2), W = 1 the authors' "
        "default.",
    ]
    step.save_table(table, title=title, shown=for_readers(table), notes=notes)
