"""The paper's claims as checks: each with its number, its interval over seeds, and a verdict."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.compute.seeds import generator
from onelayer.evidence.claims import NOTES as ON_CLAIMS
from onelayer.evidence.claims import Claim, alone, of_seeds, readable, tabulated
from onelayer.evidence.intervals import bootstrap_interval, worst
from onelayer.evidence.tables import ALL, table
from onelayer.evidence.verdicts import TENTH, Direction, Number
from onelayer.papers.scan_snap import entropy_sweep, measures
from onelayer.papers.scan_snap.data import COMMON, DISTINCT, TOKEN_CHANCES
from onelayer.papers.scan_snap.entropy_sweep import CLOSE, PUBLISHED_RUNS, pooled
from onelayer.papers.scan_snap.measures import EARLY, SETTINGS, UNMOVED, slowing_down, spearman
from onelayer.papers.scan_snap.text import FREQUENCY_BINS, uniform_entropy
from onelayer.settings.scan_snap import TextTrainingSettings

SYNTHETIC, TEXT = "synthetic", "text"
# What rows are picked by, behind `onelayer.evidence.claims.KEYS`: the task; which training on text;
# which assumption a setting is about, what it has there, and whether that is `BROKEN` or `KEPT`;
# query tokens; the last iteration that is looked at; which tokens, by their ranks in the text.
KEYS = {"task": SYNTHETIC, "training": "", "assumption": "", "changed": "", "assumption_is": ""}
KEYS |= {"num_last": "", "iterations": "", "ranks": ""}
BROKEN, KEPT = "broken", "kept"
RAREST = 4  # tokens whose drop times are compared
PLACES = {
    "positions": "abstract, assumption (a)",
    "length": "abstract, assumption (b)",
    "decoder": "abstract, assumption (c)",
}
# What a setting has in place of Fig. 4's, in words.
CHANGED = {"positions": "{} positions", "length": "{} tokens", "decoder": "lr_Y / lr_Z = {}"}
# What is said of such a setting: of the claims on the scan, these.
OF_CHANGES = ("common_mass_change", "gain_spearman", "slowing_down", "way_after")

# Where the claims on synthetic sequences hold that have a direction and no number.
HOLDS = {
    "common_mass_change": Direction(0, -1, TENTH * float(measures.common_mass(TOKEN_CHANCES))),
    "gain_spearman": Direction(0, 1, TENTH),
    "gain_of_most_frequent": Direction(1, 1, TENTH),
    "gain_of_rarest": Direction(1, -1, TENTH),
    "largest_attention": Direction(0.5, -1, TENTH * 0.5),
    # Half of the speed: less is no rest.
    "slowing_down": Direction(0, 1, float(np.log10(2))),
    # '(Almost) fixed': less than a tenth of its way is still to come.
    "way_after": Direction(TENTH, -1),
    "drop_time_spearman": Direction(0, 1, TENTH),
    # Iterations are whole.
    "drop_delay": Direction(0, 1, 0.5),
    # Of a time that is inversely proportional to the rate.
    "lr_Y_exponent": Direction(0, -1, TENTH),
    "lr_Z_exponent": Direction(0, -1, TENTH),
}
# Between which a number lies by definition; a rank correlation between -1 and 1.
ENDS = {
    "largest_attention": (0, 1),
    "top1": (0, 1),
    "tokens_dropping": (0, DISTINCT),
    "common_mass_change": (-1, 1),
}
ENDS |= dict.fromkeys(("gain_of_most_frequent", "gain_of_rarest", "way_after", "drop_time"), (0,))
# Along which rate, at fixed values of which other, and on which side the paper says entropy goes.
RATES = (
    ("larger lr_Y/lr_Z, higher entropy", "lr_Y_multiplier", "lr_Z", 1),
    ("larger lr_Z, sparser attention", "lr_Z", "lr_Y_multiplier", -1),
)
RESAMPLES = 10_000  # of seeds, for the interval of a rank correlation of means
# With what the paper's numbers are compared; no difference is no effect.
BESIDE_PUBLISHED = Number(0.0, published_runs=PUBLISHED_RUNS)
STILL = "a run stood still"
# What a training without positions has in common with that which it stands beside.
OF_A_TWIN = ("optimizer", "lr", "lr_feed_forward", "corpus")
SPARSE, COMMON_LOSE = "attention becomes sparse", "common tokens lose attention"
RARE_GAIN, NO_WINNER = "rare tokens gain attention", "not winner-take-all"


@table(
    "scan_snap/claims",
    "Claims",
    "table: claims",
    target="table_scan_snap_claims",
    title="Scan and Snap: the paper's claims",
    notes=[
        "Intervals: mean over seeds, Student's t, but for rank correlations with a rate. Entropy "
        "is of attention on a class's 10 distinct tokens (synthetic) or on all earlier tokens and "
        "the own one (real text).",
        *ON_CLAIMS,
        "What matters is a tenth of what could change: of the common tokens' attention at the "
        f"start ({float(measures.common_mass(TOKEN_CHANCES)):.3f}), of a rank correlation of 1, of "
        "the entropy of uniform attention, of a key's attention. '(Almost) fixed' is less than a "
        "tenth of the way still to come.",
        "Drop times and delays are of the four rarest distinct tokens, 1 the rarest. A phase "
        "transition is taken to be where attention stops gathering speed and begins to lose it.",
        "Assumptions (a) to (c) of the abstract (column `assumption_is`): one setting is changed "
        "at a time, all else as in Fig. 4. A learned logit and decoder column for every place, "
        "shorter sequences than in Fig. 4, and a decoder that learns slower than attention break "
        "one of them. Those are other models or tasks than the paper's, and so is real text that "
        "is not WikiText, or a training by another rule than SGD: analogues. Longer sequences and "
        "a decoder that learns faster keep all three.",
        "Over Fig. 6's cells: differences are taken seed by seed, because a seed has the same data "
        "and start under all learning rates. Rank correlations are those of means over seeds, as "
        "the published ones are of published means (bootstrap over seeds); the interval is a point "
        "where all resamples have the same order. The published means' own uncertainty is granted.",
        "The published cells themselves do not rise all the way with lr_Y/lr_Z: from three query "
        "tokens on, entropy falls from 1 to 2 before it rises to 10; the Spearman rows show it.",
    ],
    readable=readable,
    reads={
        "scan": "scan_simulation",
        "transitions": "transition_simulation",
        "changes": "simulate_scan_snap_assumptions.attention",
        "sweep": "entropy_sweep_simulation",
        "published": "reference/scan_snap_figure6.csv",
        "text": "train_text_model.measures",
    },
    settings={
        "scan_iterations": "scan_snap.scan.iterations",
        "scan_length": "scan_snap.scan.length",
        "sweep_iterations": "scan_snap.entropy_sweep.iterations",
        "trainings": "scan_snap.language_model.trainings",
        "own_text": "own_text",
        "text_length": "scan_snap.language_model.length",
    },
)
def scan_snap_claims(
    scan: pd.DataFrame,
    transitions: pd.DataFrame,
    changes: pd.DataFrame,
    sweep: pd.DataFrame,
    published: Path,
    text: list[pd.DataFrame],
    scan_iterations: int,
    scan_length: int,
    sweep_iterations: int,
    trainings: list[TextTrainingSettings],
    own_text: list[str],
    text_length: int,
) -> pd.DataFrame:
    """The claims of Scan and Snap, each with its number, interval and verdict."""
    return tabulated(
        [
            *scan_claims(scan, scan_iterations),
            *transition_claims(transitions),
            *changed_claims(changes, scan_iterations, scan_length),
            *sweep_claims(sweep, entropy_sweep.read_published(published), sweep_iterations),
            *text_claims(dict(zip(trainings, text, strict=True)), own_text, text_length),
        ]
    )


def _claim(
    claim: str,
    place: str,
    setting: str,
    quantity: str,
    seeds: np.ndarray | pd.Series,
    note: str,
    holds: Direction | None = None,
    **keys: object,
) -> Claim:
    """A claim on the mean over seeds, in the direction of `HOLDS` unless one is given."""
    name = quantity.partition("[")[0]
    estimate = of_seeds(seeds, *ENDS.get(name, (-1, 1) if name.endswith("_spearman") else ()))
    if 0 < estimate["n"] < len(seeds):
        note += f"; {estimate['n']} of {len(seeds)} runs have it"
    missing = "" if estimate["n"] else "no run went through"
    side = holds or HOLDS.get(name)
    return Claim(
        claim, place, setting, quantity, estimate, note, side, missing=missing, keys=KEYS | keys
    )


def scan_claims(scan: pd.DataFrame, iterations: int) -> list[Claim]:
    """Which tokens gain and lose, whether attention comes to rest, and which tokens drop (Fig. 4).

    The scan is of one size and one pair of rates, seen at every one of the figure's iterations.
    """
    times, c = measures.trajectories(scan[scan["diverged_at"] < 0])
    start, end = c[0], c[iterations]
    gain = end / start
    common = measures.common_mass(start)
    order = "distinct tokens gain in the order of co-occurrence"
    setting = f"synthetic, {iterations} iterations"
    claims = [
        _claim(words, "Fig. 4", setting, quantity, seeds, note, iterations=iterations)
        for words, quantity, seeds, note in (
            (COMMON_LOSE, "common_mass_change", measures.common_mass(end) - common,
             f"from {common.mean():.3f}"),
            (order, "gain_spearman", _with_frequency(gain[:, COMMON:]),
             "rank correlation of c(end) / c(0) with P(l) over the distinct tokens"),
            (order, "gain_of_most_frequent", gain[:, -1],
             "c(end) / c(0) of the most frequent distinct token"),
            (order, "gain_of_rarest", gain[:, COMMON],
             "c(end) / c(0) of the rarest distinct token"),
            (NO_WINNER, "largest_attention", end.max(axis=1),
             "the largest c of all tokens: none has most of the attention"),
            ("snapping: attention comes to rest", "slowing_down",
             slowing_down(c[:, :, -1], iterations),
             f"log10 of the top token's speed around iteration {EARLY} / at the end"),
        )
    ]  # fmt: skip
    if (longest := int(times[-1])) > iterations:
        way = measures.way_after(c, iterations)
        note = f"way of c from {iterations} to {longest} iterations / way before (l1)"
        words, setting = "stays snapped over more iterations", f"synthetic, {longest} iterations"
        claims.append(
            _claim(words, "abstract", setting, "way_after", way, note, iterations=longest)
        )
    dropping, *drops = drop_claims(measures.drop_times(c[: iterations + 1]), iterations)
    claims.append(dropping)
    # Attention of a run has not left its start.
    if (np.abs(gain - 1) < UNMOVED).all(axis=1).any():
        claims = [claim._replace(missing=STILL) for claim in claims]
    return claims + drops


def _with_frequency(values: np.ndarray) -> np.ndarray:
    """Rank correlation over the distinct tokens with P(l) of values [runs, 10], [runs]."""
    return spearman(values, np.broadcast_to(TOKEN_CHANCES[COMMON:], values.shape))


def drop_claims(drops: np.ndarray, iterations: int) -> list[Claim]:
    """How many distinct tokens drop, which is the first, in which order, and when the rarest do.

    Drops [runs, 20] are `measures.drop_times`, followed for so many iterations.
    """
    drops = drops[:, COMMON:]
    dropped = ~np.isnan(drops)
    words = "attention drops progressively, from low to high co-occurrence"
    where = words, "abstract", f"synthetic, {iterations} iterations"
    keys = {"iterations": iterations}
    always, never = dropped.all(axis=0).sum(), (~dropped).all(axis=0).sum()
    claims = [
        _claim(*where, "tokens_dropping", dropped.sum(axis=1),
               f"of the {DISTINCT} distinct tokens those whose c is ever 1% below its start",
               **keys),
        Claim(*where, "tokens_always_dropping", alone(always, len(drops)),
              "distinct tokens that drop in every run", keys=KEYS | keys),
        Claim(*where, "tokens_never_dropping", alone(never, len(drops)),
              "distinct tokens that drop in no run", keys=KEYS | keys),
        _claim(*where, "drop_time_spearman",
               _with_frequency(np.where(dropped, drops, iterations + 1)),
               "rank correlation of drop time and P(l) over the distinct tokens; those that never "
               "drop come last, side by side", **keys),
    ]  # fmt: skip
    for rank in range(RAREST):
        times = drops[dropped[:, rank], rank]
        median = f", median {np.median(times):g}" if len(times) else ""
        note = f"first iteration at which c is 1% below its start, where it is so{median}"
        claim = _claim(*where, f"drop_time[{rank + 1}]", times, note, **keys)
        claims.append(claim._replace(missing=""))  # that none drops is a result
    for rank in range(RAREST - 1):
        quantity = f"drop_delay[{rank + 1} to {rank + 2}]"
        delay = drops[:, rank + 1] - drops[:, rank]
        claim = _claim(*where, quantity, delay, "iterations between their drops", **keys)
        # To leave out runs against the order, as those that have no delay, would favour it.
        if against := int((dropped[:, rank + 1] & ~dropped[:, rank]).sum()):
            reason = f"in {against} of {len(drops)} runs the later one alone drops"
            claim = claim._replace(missing=reason)
        elif not claim.estimate["n"]:
            claim = claim._replace(missing="both drop in no run")
        claims.append(claim)
    return claims


def transition_claims(transitions: pd.DataFrame) -> list[Claim]:
    """When attention stops gathering speed, against both rates, and at some pairs of them."""
    times = measures.transition_times_by_run(transitions)
    slopes, last = measures.transition_exponents(times), times["time"].max()
    pairs = f"{len(times.groupby(measures.RATES))} pairs of rates"
    words = "a phase transition that is controllable by the learning rates of the two layers"
    claims = [
        _claim(words, "abstract", f"synthetic, {pairs}", f"{rate}_exponent", slopes[rate],
               f"slope of log time on log {rate} at a fixed other rate; time: the iteration at "
               f"which attention moves fastest, {last:g} at most")
        for rate in reversed(measures.RATES)
    ]  # fmt: skip
    middle = np.sort(times["lr_Z"].unique())[times["lr_Z"].nunique() // 2]
    through = times[np.isclose(times["lr_Z"], middle) | np.isclose(times["lr_Y"], middle)]
    for (lr_Z, lr_Y), runs in through.groupby(measures.RATES):
        setting = f"synthetic, lr_Z {lr_Z:.15g}, lr_Y {lr_Y:.15g}"
        note = "the iteration at which attention moves fastest"
        time = of_seeds(runs["time"], 0)
        claims.append(Claim(words, "abstract", setting, "transition_time", time, note, keys=KEYS))
    return claims


def changed_claims(changes: pd.DataFrame, iterations: int, length: int) -> list[Claim]:
    """The claims on the scan again where positions, length or the decoder's speed are others.

    Where that breaks an assumption it is another model or task than the paper's. `length` is that
    of the scan's sequences.
    """
    claims = []
    for (assumption, changed), runs in changes.groupby(["assumption", "changed"], sort=False):
        words, broken = CHANGED[assumption].format(changed), _breaks(assumption, changed, length)
        keys = {"assumption": assumption, "changed": changed}
        keys["assumption_is"] = BROKEN if broken else KEPT
        claims += [
            claim._replace(
                place=PLACES[assumption] if broken else "abstract",
                setting=f"synthetic, {words}, {iterations} iterations",
                kind="analogue" if broken else "",
                keys=claim.keys | keys,
            )
            for claim in scan_claims(runs, iterations)
            if claim.quantity in OF_CHANGES
        ]
    return claims


def _breaks(assumption: str, changed: str, length: int) -> bool:
    """Any positions do, sequences shorter than the scan's, and a decoder slower than attention."""
    least = {"length": length, "decoder": 1}
    return assumption not in least or float(changed) < least[assumption]


def sweep_claims(sweep: pd.DataFrame, published: pd.DataFrame, iterations: int) -> list[Claim]:
    """The cells of Fig. 6 all together, and what each of the two rates does."""
    cells = entropy_sweep.both(entropy_sweep.assemble(sweep, published, iterations))
    together = _cell_claims(cells, iterations) if len(cells) else []
    return together + _rate_claims(sweep, published, iterations)


def _cell_claims(cells: pd.DataFrame, iterations: int) -> list[Claim]:
    words = "entropy of attention by learning rates and query tokens"
    where = words, "Fig. 6", f"synthetic, {len(cells)} cells"
    keys = KEYS | {"iterations": iterations}
    slope, z = entropy_sweep.slope(cells), np.abs(entropy_sweep.welch(cells))
    distance = (cells["value"] - cells["published"]).abs().mean()
    pairs = cells["value"], cells["published"]
    correlation = np.corrcoef(*pairs)[0, 1] if len(cells) > 1 else np.nan
    together = Claim(
        *where, "entropy_slope", slope,
        "our change of entropy by training over the published one, least squares through the "
        "start; cells of one number of query tokens share seeds and count as varying together",
        compared=BESIDE_PUBLISHED, published=1.0, published_std=slope["std"], keys=keys,
    )  # fmt: skip
    return [
        together,
        *(
            Claim(*where, quantity, alone(value, len(cells)), note, keys=keys)
            for quantity, value, note in (
                ("entropy_z_close", (z <= CLOSE).mean(),
                 f"share of cells whose two means are within {CLOSE:g} standard errors of each "
                 "other (Welch); chance alone: about 0.95"),
                ("entropy_z_largest", z.max(), "standard errors between the two means, at most"),
                ("entropy_correlation", correlation, "of ours and published over the cells"),
                ("entropy_distance", distance, "mean absolute difference (nats)"),
            )
        ),
    ]  # fmt: skip


def _rate_claims(sweep: pd.DataFrame, published: pd.DataFrame, iterations: int) -> list[Claim]:
    """Larger lr_Y/lr_Z: higher entropy; larger lr_Z: lower entropy; paired by seed."""
    runs = measures.entropy_by_run(sweep)
    runs = runs[(runs["iteration"] == iterations) & (runs["diverged_at"] < 0)]
    claims = []
    for words, along, across, side in RATES:
        differences = []
        for num_last, group in runs.groupby("num_last"):
            if group[along].nunique() < 2:
                continue
            ran = group[SETTINGS].drop_duplicates()
            theirs = published.merge(ran, on=SETTINGS)
            grids = _grids(group, "entropy", "seed", across, along)
            paper = _grids(theirs, "published", "num_last", across, along)
            all_published = len(theirs) == len(ran) and len(paper) == 1
            setting = f"synthetic, {measures.query_tokens(num_last)}"
            for quantity, of_grids, what in (
                ("spearman", _trend, "rank correlation of mean entropy with the rate"),
                ("difference", _contrast, "entropy at the largest rate minus at the smallest"),
            ):
                claim = _claim(
                    *(words, "Fig. 6", setting, f"{along}_{quantity}", of_grids(grids)),
                    f"{what}, mean over {across}",
                    Direction(0, side),
                    num_last=f"{num_last}",
                    iterations=iterations,
                )
                if all_published:
                    value = float(of_grids(paper)[0])
                    claim = claim._replace(published=value, compared=BESIDE_PUBLISHED)
                if quantity == "spearman":
                    spread = _trend_std(theirs, across, along) if all_published else np.nan
                    estimate = trend_of_means(grids, along, num_last)
                    claim = claim._replace(estimate=estimate, published_std=spread)
                if quantity == "difference":
                    spread = _contrast_std(theirs, along) if all_published else np.nan
                    # Of two rounded numbers; ranks are not rounded.
                    tolerance = 2 * theirs["tolerance"].max()
                    claim = claim._replace(published_std=spread, tolerance=tolerance)
                    differences.append(claim)
                claims.append(claim)
        claims += over_sizes(differences, side)
    return claims


def over_sizes(differences: Sequence[Claim], side: int) -> list[Claim]:
    """Differences of entropy over all numbers of query tokens: their mean, and the weakest.

    The mean stands beside that of the published ones; other numbers have other seeds, so that they
    are independent. A claim on every number is one on that at which the effect is weakest: the
    paper says that they are on one side of 0.
    """
    if len(differences) < 2 or any(claim.missing for claim in differences):
        return []
    first, count = differences[0], len(differences)
    estimates = pd.DataFrame([claim.estimate for claim in differences])
    weights, apart = np.full(count, 1 / count), np.arange(count)
    value, n = float(estimates["value"].mean()), int(estimates["n"].min())
    half = pooled(weights, (estimates["high"] - estimates["low"]) / 2, apart)
    published = float(np.mean([claim.published for claim in differences]))
    mean = first._replace(
        setting=f"synthetic, mean over {count} numbers of query tokens",
        quantity=f"{first.quantity}_mean",
        estimate={"value": value, "low": value - half, "high": value + half, "n": n},
        compared=None if np.isnan(published) else first.compared,
        published=published,
        published_std=pooled(weights, [claim.published_std for claim in differences], apart),
        keys=first.keys | {"num_last": ALL},
    )
    place, estimate = worst([claim.estimate for claim in differences], side)
    weakest = differences[place]
    weakest = weakest._replace(
        estimate=estimate,
        quantity=f"{first.quantity}_weakest",
        note=f"{weakest.note}; at the number of query tokens at which it is weakest",
        compared=Direction(0, side),
        published=np.nan,
        published_std=np.nan,
        tolerance=np.nan,
    )
    return [mean, weakest]


def _grids(table: pd.DataFrame, values: str, each: str, across: str, along: str) -> np.ndarray:
    """Values of each seed, or of the paper, [each, across, along]; with a hole it is left out."""
    wide = table.pivot_table(values, each, [across, along], dropna=False).dropna()
    return wide.to_numpy().reshape(len(wide), table[across].nunique(), table[along].nunique())


def _trend(grids: np.ndarray) -> np.ndarray:
    """Mean over rows of the rank correlation between value and column, [...]."""
    columns = np.broadcast_to(np.arange(grids.shape[-1]), grids.shape)
    return spearman(grids, columns).mean(axis=-1)


def trend_of_means(grids: np.ndarray, *named: object) -> dict[str, float]:
    """`_trend` of means over seeds, as the published one is of means, with its 95% interval.

    The mean of the seeds' own trends lies nearer to 0: the noise of one seed mixes its ranks.

    Bootstrap over seeds, expanded percentiles (Hesterberg 2015, 5.3). The jackknife was a point in
    all eight panels of Fig. 6, as no seed alone turns the order of means; many together do. Where
    all resamples have the same order the interval is a point as well, and rightly: ranks are whole,
    and the seeds leave no doubt of them.

    Args:
        grids: entropies [seeds, across, along].
        named: whose they are, for the draws.
    """
    n = len(grids)
    if n < 2 or np.isnan(value := float(_trend(grids.mean(axis=0)))):
        return of_seeds(_trend(grids))
    drawn = generator("scan and snap trend", *named).integers(n, size=(RESAMPLES, n))
    low, high = bootstrap_interval(_trend(grids[drawn].mean(axis=1)), n)
    return {"value": value, "low": min(value, float(low)), "high": max(value, float(high)), "n": n}


def _trend_std(cells: pd.DataFrame, across: str, along: str) -> float:
    """Standard deviation of the published `trend_of_means` over seeds, cells as if independent."""
    means, stds = (
        _grids(cells, name, "num_last", across, along) for name in ("published", "published_std")
    )
    rng = generator("scan and snap published trend", along, *cells["num_last"].unique())
    noise = rng.normal(size=(RESAMPLES, *means.shape[1:])) / np.sqrt(PUBLISHED_RUNS)
    return float(_trend(means + stds * noise).std() * np.sqrt(PUBLISHED_RUNS))


def _contrast(grids: np.ndarray) -> np.ndarray:
    """Mean over rows of last column minus first, [...]."""
    return (grids[..., -1] - grids[..., 0]).mean(axis=-1)


def _contrast_std(cells: pd.DataFrame, along: str) -> float:
    """Standard deviation of the published `_contrast` over seeds, its cells as if independent.

    How they vary together is not printed. In our runs together they vary 0.6 to 1.4 times as much.
    """
    ends = cells[cells[along].isin([cells[along].min(), cells[along].max()])]
    return pooled(np.full(len(ends), 2 / len(ends)), ends["published_std"], np.arange(len(ends)))


def text_claims(
    text: Mapping[TextTrainingSettings, pd.DataFrame], own_text: Collection[str], length: int
) -> list[Claim]:
    """What attention does on real text; then trainings without positions beside their twins.

    Args:
        text: `text_training.tabulate_measures` of each training.
        own_text: names of the trainings that are the paper's own; the others are analogues.
        length: tokens in a sequence.
    """
    claims = []
    for training, measured in text.items():
        kind = "claim" if training.name in own_text else "analogue"
        claims += _text_claims(training, measured, uniform_entropy(length), kind)
    for training, without in text.items():
        for other, with_them in text.items():
            alike = all(getattr(training, name) == getattr(other, name) for name in OF_A_TWIN)
            if alike and other.positions and not training.positions:
                claims += _position_claims(training, without, with_them)
    return claims


def _on_text(training: TextTrainingSettings) -> str:
    """Which training on which text, for readers."""
    return f"real text, {training.name}" + (f", {training.corpus}" if training.corpus else "")


def _most_frequent_and_rarest(measured: pd.DataFrame) -> tuple[str, str]:
    """Ranks of the most frequent tokens and of the rarest ones that the vocabulary has."""
    quantities = set(measured["quantity"])
    bins = [ranks for ranks in FREQUENCY_BINS if f"received[{ranks}]" in quantities]
    return bins[0], bins[-1]


def _by_seed(measured: pd.DataFrame, iteration: int) -> pd.DataFrame:
    """Quantities at one iteration, a row per seed."""
    at = measured[measured["iteration"] == iteration]
    return at.pivot(index="seed", columns="quantity", values="value")


def _text_claims(
    training: TextTrainingSettings, measured: pd.DataFrame, uniform: float, kind: str
) -> list[Claim]:
    """What attention does between the first and the last iteration, of seeds that went through."""
    last = measured["iteration"].max()
    whole = measured[measured.groupby("seed")["iteration"].transform("max") == last]
    end = _by_seed(whole, last)
    seeds = end.join((end - _by_seed(whole, 0)).add_suffix("_change"))
    bins = _most_frequent_and_rarest(whole)
    most_frequent, rarest = received = [f"received[{ranks}]_change" for ranks in bins]
    ranks = dict(zip(received, bins, strict=True))
    keys = {"task": TEXT, "training": training.name, "iterations": int(last)}
    claims = [
        _claim(
            claim, place, _on_text(training), quantity, seeds[quantity], note, holds,
            **keys, ranks=ranks.get(quantity, ""),
        )._replace(seeds=seeds[quantity], kind=kind)
        for claim, place, quantity, holds, note in (
            (SPARSE, "Fig. 7", "entropy_change", Direction(0, -1, TENTH * uniform),
             "change of entropy (nats)"),
            (SPARSE, "Fig. 7", "top1_change", Direction(0, 1, TENTH),
             "change of the largest weight"),
            (SPARSE, "Fig. 7", "sparse_change", Direction(0, 1, TENTH),
             "change of the share of keys below a tenth of uniform"),
            (COMMON_LOSE, "abstract", most_frequent, Direction(0, -1, TENTH),
             "change of attention on the most frequent tokens, uniform = 1"),
            (RARE_GAIN, "abstract", rarest, Direction(0, 1, TENTH),
             "change of attention on the rarest tokens, uniform = 1"),
            # As of the synthetic task: a token with more than half of all attention has most of it.
            (NO_WINNER, "abstract", "top1", HOLDS["largest_attention"],
             "the largest weight at the end, mean over queries"),
        )
    ]  # fmt: skip
    if not (seeds["loss_change"] < 0).all():
        claims = [claim._replace(missing=STILL) for claim in claims]
    return claims


def _position_claims(
    training: TextTrainingSettings, without: pd.DataFrame, with_them: pd.DataFrame
) -> list[Claim]:
    """Measures without positions minus those with them, after as many iterations, seed by seed."""
    last = int(max(set(without["iteration"]) & set(with_them["iteration"])))
    with_positions = _by_seed(with_them, last)
    difference = _by_seed(without, last) - with_positions
    keys = {"task": TEXT, "training": training.name, "assumption": "positions", "iterations": last}
    note = "without positions minus with them, which have {:.3f}, at iteration {}"
    bins = {f"received[{ranks}]": ranks for ranks in _most_frequent_and_rarest(with_them)}
    return [
        Claim("no positional encoding", PLACES["positions"], _on_text(training),
              f"{quantity}_without_positions", of_seeds(difference[quantity]),
              note.format(with_positions[quantity].mean(), last),
              keys=KEYS | keys | {"ranks": bins.get(quantity, "")})
        for quantity in ("loss", "entropy", "sparse", *bins)
    ]  # fmt: skip
