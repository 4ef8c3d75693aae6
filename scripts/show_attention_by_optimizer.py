"""Table of attention by optimiser beside the published one, and heat maps."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.colors import LogNorm
from scipy.special import softmax

from onelayer.evidence.figures import DIVERGING, MIDDLE, SEQUENTIAL, plt
from onelayer.evidence.tables import by_row, tidy
from onelayer.job import job
from onelayer.settings.topic_structure_synthetic import AttentionTableSettings
from onelayer.topic_structure.synthetic.data import PAIR_CLASSES, SPECIAL
from onelayer.topic_structure.synthetic.summary import over_runs

KEYS = ["variant", "accounting", "optimizer", "learning_rate", "budget", "until"]
RATIO = "topic_to_different_ratio"
UNMOVED = 0.01  # all weights this close to uniform attention, as a share of it: stood still
NOTES = [
    "Mean attention weight from one position to another over all ordered pairs of positions that "
    "hold words, each with itself too, on fresh unmasked documents, all cut to as many tokens, as "
    "in the released code. Over the same pairs the printed averages are 1/125 to 1/128 together, "
    "as in whole documents: their level is another, the ratio has none.",
    "layer norm: what the authors' code trains when asked for one-hot embeddings, with a "
    "token-type vector, a trainable LayerNorm, masked words hidden from attention, and START and "
    "END. one hot: the paper's model. frozen value: W_V stays at stage 1's optimum.",
    "shifted: the authors' code looks topics up by id where it should by word, which shifts them "
    "by four words. It also draws masks once, and never reads the seed of its settings.",
    f"not reached: a run has all averages within {UNMOVED:.0%} of uniform attention. Runs that "
    "diverged are left out. Deviations over runs are in the CSV (`_std`).",
]


def attention_rows(
    averages: pd.DataFrame, block: AttentionTableSettings, published: pd.DataFrame
) -> Iterator[dict]:
    """Average attention by pair class, its deviation over runs, and same / different topic."""
    published = published.rename(columns={f"{name}_mean": name for name in PAIR_CLASSES})
    published["optimizer"] = published["optimizer"].str.lower()
    published[RATIO] = published["same_topic"] / published["different_topic"]
    printed = published.set_index(["optimizer", "learning_rate"]).to_dict("index")
    unpublished = {variant.name for variant in block.variants if variant.frozen_value}
    averages = averages.assign(until=averages["step"].astype(str) + " steps")
    for key, group in averages.groupby(KEYS, sort=False):
        keys, through = dict(zip(KEYS, key, strict=True)), group[group["diverged_at"] < 0]
        weights = through[PAIR_CLASSES]
        at_uniform = (weights * block.evaluated_tokens - 1).abs() <= UNMOVED
        still = {"state": "not reached"} if at_uniform.all(axis=1).any() else {}
        theirs = {} if keys["variant"] in unpublished else printed.get(key[2:4], {})
        ratio = {RATIO: weights["same_topic"] / weights["different_topic"]}
        for name, values in weights.assign(**ratio).items():
            row = keys | {"quantity": name, "published": theirs.get(name)}
            yield row | over_runs(values) | still
            if name != RATIO:
                row = keys | {"quantity": f"{name}_std", "published": theirs.get(f"{name}_std")}
                yield row | {"value": values.std(ddof=1), "n": len(values)}


def for_readers(table: pd.DataFrame) -> pd.DataFrame:
    """The published table's shape: a row per training; of each quantity ours and the paper's."""
    texts = by_row(table).set_index(KEYS)
    shown = pd.DataFrame(index=texts.index.unique())
    for quantity in (*PAIR_CLASSES, RATIO):
        part = texts[texts["quantity"] == quantity]
        shown[f"{quantity} [95%]"] = part["value [95%]"]
        shown[f"{quantity} published"] = part["published"]
    return shown.join(part[["n", "state"]]).reset_index()


def draw_heat_maps(matrices: Mapping[str, Mapping[str, np.ndarray]], v: int) -> plt.Figure:
    """W_K^T W_Q between words, and attention on one document over uniform, a row per variant."""
    shown = [n for n in matrices if n in ("one_hot", "frozen_value")] or list(matrices)[:1]
    size = MIDDLE, 2.1 * len(shown) + 1
    figure, axes = plt.subplots(len(shown), 2, squeeze=False, figsize=size)
    for (left, right), name in zip(axes, shown, strict=True):
        kept = matrices[name]
        words = kept["weights"][SPECIAL:, SPECIAL:]
        bound = float(np.quantile(np.abs(words), 0.995)) or 1.0
        left.imshow(words, cmap=DIVERGING, vmin=-bound, vmax=bound, interpolation="nearest")
        tokens = np.sort(kept["document"])  # START, if there is one, comes before all words
        shares = softmax(kept["S"][np.ix_(tokens, tokens)], axis=1) * len(tokens)
        image = right.imshow(shares, SEQUENTIAL, LogNorm(0.1, 10), interpolation="nearest")
        for edge in np.flatnonzero(np.diff((tokens - SPECIAL) // v)) + 0.5:
            right.axhline(edge, color="white", linewidth=0.6)
            right.axvline(edge, color="white", linewidth=0.6)
        figure.colorbar(image, ax=right, format="{x:g}")
        left.set(xticks=[], yticks=[], xlabel="query word", title=f"$W_K^\\top W_Q$ (±{bound:.2g})")
        left.set_ylabel(f"{name.replace('_', ' ')}\nkey word")
        right.set(xticks=[], yticks=[], xlabel="key word", ylabel="query word")
        right.set_title("attention / uniform")
    figure.suptitle("Attention after training\n(words topic by topic)")
    return figure


with job(snakemake) as step:
    settings = dict(step.settings)
    v, block = settings.pop("v"), AttentionTableSettings(**settings)
    averages = pd.concat([pd.read_parquet(file) for file in snakemake.input.averages])
    table = tidy(list(attention_rows(averages, block, pd.read_csv(step.given("published")))), KEYS)
    title = "Topic structure, synthetic: average attention by optimiser and learning rate"
    step.save_table(table, title=title, shown=for_readers(table), notes=NOTES)
    files = zip(block.variants, snakemake.input.matrices, strict=True)
    step.save_figure(draw_heat_maps({variant.name: np.load(file) for variant, file in files}, v))
