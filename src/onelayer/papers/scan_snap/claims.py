"""The paper's claims as checks: each with its number, its interval over seeds, and a verdict.

What would matter of a claim that has a direction and no number is a tenth of what could change,
unless said otherwise: of the attention that the common tokens have at the start, of a rank
correlation of 1, of all of a key's attention, of the entropy of uniform attention.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from onelayer.evidence.claims import NOTES as ON_CLAIMS
from onelayer.evidence.claims import Claim, alone, of_seeds, readable, tabulated
from onelayer.evidence.tables import ALL, table
from onelayer.evidence.verdicts import TENTH, Direction, Number
from onelayer.papers.scan_snap import entropy_sweep, measures, transition
from onelayer.papers.scan_snap.data import COMMON, DISTINCT, TOKEN_CHANCES
from onelayer.papers.scan_snap.entropy_sweep import CLOSE, PUBLISHED_RUNS, pooled
from onelayer.papers.scan_snap.measures import SETTINGS, UNMOVED, WINDOW, spearman
from onelayer.papers.scan_snap.text import uniform_entropy
from onelayer.settings.scan_snap import TextTrainingSettings

SYNTHETIC, TEXT = "synthetic", "text"
# What rows are picked by, behind `onelayer.evidence.claims.KEYS`: the task; which training on text;
# which assumption is changed, and to what; query tokens; the last iteration that is looked at.
KEYS = {
    "task": SYNTHETIC,
    "training": "",
    "assumption": "",
    "changed": "",
    "num_last": "",
    "iterations": "",
}
EARLY = 10  # speed is taken around iteration 10 and at the end
RAREST = 4  # tokens whose drop times are compared
PLACES = {
    "positions": "abstract, assumption (a)",
    "length": "abstract, assumption (b)",
    "decoder": "abstract, assumption (c)",
}
# To what an assumption is changed, in words.
CHANGED = {"positions": "{} positions", "length": "{} tokens", "decoder": "lr_Y / lr_Z = {}"}
# What is said of a changed assumption: of the claims on the scan, these.
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
# Along which rate, at fixed values of which other, and on which side the paper says entropy goes.
RATES = (
    ("larger lr_Y/lr_Z, higher entropy", "lr_Y_multiplier", "lr_Z", 1),
    ("larger lr_Z, sparser attention", "lr_Z", "lr_Y_multiplier", -1),
)
SPARSE, COMMON_LOSE = "attention becomes sparse", "common tokens lose attention"
RARE_GAIN, NO_WINNER = "rare tokens gain attention", "not winner-take-all"


@table(
    "scan_snap/claims",
    "Claims",
    "table: claims",
    target="table_scan_snap_claims",
    title="Scan and Snap: the paper's claims",
    notes=[
        "Intervals: mean over seeds, Student's t. Entropy is of attention on a class's 10 distinct "
        "tokens (synthetic) or on all earlier tokens and the own one (real text).",
        *ON_CLAIMS,
        "What matters is a tenth of what could change: of the common tokens' attention at the "
        f"start ({float(measures.common_mass(TOKEN_CHANCES)):.3f}), of a rank correlation of 1, of "
        "the entropy of uniform attention, of a key's attention. '(Almost) fixed' is less than a "
        "tenth of the way still to come.",
        "Drop times and delays are of the four rarest distinct tokens, 1 the rarest. A phase "
        "transition is taken to be where attention stops gathering speed and begins to lose it.",
        "Assumptions (a) to (c) of the abstract are changed one at a time, all else as in Fig. 4: "
        "a learned logit and decoder column for every place; shorter and longer sequences than in "
        "Fig. 4; a decoder that learns slower or faster than at the same rate as attention. Those "
        "are other models or tasks than the paper's, and so is real text that is not WikiText, or "
        "a training by another rule than SGD: analogues.",
        "Over Fig. 6's cells: trends and differences are taken seed by seed, because a seed has "
        "the same data and start under all learning rates; the published mean's own uncertainty "
        "is granted.",
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
    sweep_iterations: int,
    trainings: list[TextTrainingSettings],
    own_text: list[str],
    text_length: int,
) -> pd.DataFrame:
    """The claims of Scan and Snap, each with its number, interval and verdict.

    Args:
        scan, transitions, changes, sweep, scan_iterations, sweep_iterations, own_text, text_length:
            as `assemble` takes them.
        published: as `entropy_sweep.read_published` takes it.
        text: measures of each training of the language model.
        trainings: of the language model.
    """
    return assemble(
        scan,
        sweep,
        entropy_sweep.read_published(published),
        dict(zip(trainings, text, strict=True)),
        scan_iterations,
        sweep_iterations,
        transitions,
        changes,
        own_text,
        text_length,
    )


def assemble(
    scan: pd.DataFrame,
    sweep: pd.DataFrame,
    published: pd.DataFrame,
    text: Mapping[TextTrainingSettings, pd.DataFrame],
    scan_iterations: int,
    sweep_iterations: int,
    transitions: pd.DataFrame | None = None,
    changes: pd.DataFrame | None = None,
    own_text: Collection[str] = (),
    text_length: int = 1,
) -> pd.DataFrame:
    """All claims, tidy; then those on real text again for each seed alone, not judged.

    Args:
        scan: simulation of Fig. 4.
        sweep: simulation of Fig. 6.
        published: `entropy_sweep.read_published`.
        text: measures of each training of the language model, `text_training.tabulate_measures`.
            One without positions stands beside that which differs from it in nothing else.
        scan_iterations, sweep_iterations: iterations of the paper's two figures.
        transitions: simulation over both learning rates; None leaves its claims out.
        changes: simulation of changed assumptions, `assumptions.simulate_changes`; None likewise.
        own_text: names of the trainings on text that are the paper's own,
            `LanguageModelSettings.of_the_paper`; the others are analogues.
        text_length: tokens in a sequence of text.
    """
    claims = _scan_claims(scan, scan_iterations) + _drop_claims(scan, scan_iterations)
    if transitions is not None:
        claims += _transition_claims(transition.times_by_run(transitions))
    if changes is not None:
        claims += _changed_claims(changes, scan_iterations)
    if len(sweep):
        cells = entropy_sweep.assemble(sweep, published, sweep_iterations)
        claims += cell_claims(cells, sweep_iterations)
        claims += _rate_claims(sweep, published, sweep_iterations)
    for training, measured in text.items():
        kind = "claim" if training.name in own_text else "analogue"
        claims += _text_claims(training, measured, text_directions(text_length), kind)
    for pair, tables in _with_and_without_positions(text):
        claims += _position_claims(pair, *tables)
    return tabulated(claims)


def _claim(
    claim: str,
    place: str,
    setting: str,
    quantity: str,
    seeds: np.ndarray | pd.Series,
    note: str,
    holds: Direction | None = None,
    ends: tuple[float, float] = (-np.inf, np.inf),
    **keys: object,
) -> Claim:
    """A claim on the mean over seeds; `ends`: between which the number lies by definition."""
    found = of_seeds(seeds, *ends)
    missing = "" if found["n"] else "no run went through"
    return Claim(
        claim, place, setting, quantity, found, note, holds, missing=missing, keys=KEYS | keys
    )


def _scan_claims(scan: pd.DataFrame, iterations: int) -> list[Claim]:
    times, c = measures.trajectories(scan[scan["diverged_at"] < 0])
    place = {int(iteration): index for index, iteration in enumerate(times)}
    start, end, last = c[0], c[place[iterations]], c[-1]
    gain = end / start
    chances = np.broadcast_to(TOKEN_CHANCES[COMMON:], gain[:, COMMON:].shape)
    lost = measures.common_mass(end) - measures.common_mass(start)

    def claim(words, quantity, seeds, note, where="Fig. 4", until=iterations, ends=(0.0, np.inf)):
        setting = f"synthetic, {until} iterations"
        holds = HOLDS[quantity]
        return _claim(words, where, setting, quantity, seeds, note, holds, ends, iterations=until)

    order = "distinct tokens gain in the order of co-occurrence"
    claims = [
        claim(COMMON_LOSE, "common_mass_change", lost,
              f"from {measures.common_mass(start).mean():.3f}", ends=(-1.0, 1.0)),
        claim(order, "gain_spearman", spearman(gain[:, COMMON:], chances),
              "rank correlation of c(end) / c(0) with P(l) over the distinct tokens",
              ends=(-1.0, 1.0)),
        claim(order, "gain_of_most_frequent", gain[:, -1],
              "c(end) / c(0) of the most frequent distinct token"),
        claim(order, "gain_of_rarest", gain[:, COMMON],
              "c(end) / c(0) of the rarest distinct token"),
        claim(NO_WINNER, "largest_attention", end.max(axis=1),
              "the largest c of all tokens: none has most of the attention", ends=(0.0, 1.0)),
        claim("snapping: attention comes to rest", "slowing_down",
              _slowing_down(c[:, :, -1], place, iterations),
              f"log10 of the top token's speed around iteration {EARLY} / at the end",
              ends=(-np.inf, np.inf)),
    ]  # fmt: skip
    if (longest := int(times[-1])) > iterations:
        before, after = np.abs(end - start).sum(axis=1), np.abs(last - end).sum(axis=1)
        way = np.divide(after, before, out=np.full_like(before, np.nan), where=before > 0)
        note = f"way of c from {iterations} to {longest} iterations / way before (l1)"
        words = "stays snapped over more iterations"
        claims.append(claim(words, "way_after", way, note, "abstract", longest))
    return list(map(_still, claims)) if _stood_still(start, end) else claims


def _stood_still(start: np.ndarray, end: np.ndarray) -> bool:
    """Whether attention of any run has not left its start; c [runs, 20]."""
    return bool((np.abs(end / start - 1) < UNMOVED).all(axis=1).any())


def _slowing_down(top: np.ndarray, place: Mapping[int, int], iterations: int) -> np.ndarray:
    """Log10 of the speed of the top token's c early over its speed at the end, [seeds].

    The speed at the end differs by orders of magnitude between seeds: a mean of logarithms is of
    all of them, a mean of ratios of the one that is most at rest. NaN where it has not moved.
    """
    speed = np.abs(np.diff(top, axis=0))
    early = slice(place[EARLY] - WINDOW // 2, place[EARLY] + WINDOW // 2 + 1)
    late = slice(place[iterations] - WINDOW, place[iterations])
    early, late = speed[early].mean(axis=0), speed[late].mean(axis=0)
    moving = (early > 0) & (late > 0)
    return np.log10(np.divide(early, late, out=np.full_like(early, np.nan), where=moving))


def _drop_claims(scan: pd.DataFrame, iterations: int) -> list[Claim]:
    """How many distinct tokens drop, when the rarest do, and in which order."""
    times, c = measures.trajectories(scan[scan["diverged_at"] < 0])
    early = times <= iterations
    drops = measures.drop_times(times[early], c[early])[:, COMMON:]
    claims = drop_counts(~np.isnan(drops), iterations)
    if _stood_still(c[0], c[early][-1]):
        claims[0] = _still(claims[0])
    words, place, setting = _of_drops(iterations)
    never = np.where(np.isnan(drops), iterations + 1, drops)
    chances = np.broadcast_to(TOKEN_CHANCES[COMMON:], never.shape)

    def claim(quantity, seeds, note, holds=None, ends=(-np.inf, np.inf)):
        return _claim(
            words, place, setting, quantity, seeds, note, holds, ends, iterations=iterations
        )

    claims.append(
        claim(
            "drop_time_spearman",
            spearman(never, chances),
            "rank correlation of drop time and P(l) over the distinct tokens; those that never "
            "drop come last, side by side",
            HOLDS["drop_time_spearman"],
            (-1.0, 1.0),
        )
    )
    for rank in range(RAREST):
        dropped = drops[~np.isnan(drops[:, rank]), rank]
        median = f", median {np.median(dropped):g}" if len(dropped) else ""
        note = f"first iteration at which c is 1% below its start, where it is so{median}"
        own = claim(f"drop_time[{rank + 1}]", drops[:, rank], note, ends=(0.0, np.inf))
        claims.append(own._replace(missing=""))  # none drops: that is what was found
    for rank in range(RAREST - 1):
        name, note = f"drop_delay[{rank + 1} to {rank + 2}]", "iterations between their drops"
        claims.append(claim(name, drops[:, rank + 1] - drops[:, rank], note, HOLDS["drop_delay"]))
    return claims


def drop_counts(dropped: np.ndarray, iterations: int) -> list[Claim]:
    """How many of the distinct tokens drop: in a run, in every run, in none.

    Args:
        dropped: bool [runs, 10], whether a token's c was ever 1% below its start.
        iterations: how long it was followed.
    """
    words, place, setting = _of_drops(iterations)
    runs, keys = len(dropped), KEYS | {"iterations": iterations}
    always, never = dropped.all(axis=0).sum(), (~dropped).all(axis=0).sum()
    mean = _claim(
        words, place, setting, "tokens_dropping", dropped.sum(axis=1),
        f"of the {DISTINCT} distinct tokens those whose c is ever 1% below its start",
        ends=(0.0, DISTINCT), iterations=iterations,
    )  # fmt: skip
    return [
        mean,
        *(
            Claim(words, place, setting, quantity, alone(count, runs), note, keys=keys)
            for quantity, count, note in (
                ("tokens_always_dropping", always, "distinct tokens that drop in every run"),
                ("tokens_never_dropping", never, "distinct tokens that drop in no run"),
            )
        ),
    ]


def _of_drops(iterations: int) -> tuple[str, str, str]:
    """The claim on drops, its place and setting."""
    words = "attention drops progressively, from low to high co-occurrence"
    return words, "abstract", f"synthetic, {iterations} iterations"


def _transition_claims(times: pd.DataFrame) -> list[Claim]:
    """When attention stops gathering speed, against both rates, and at some pairs of them."""
    words = "a phase transition that is controllable by the learning rates of the two layers"
    place = "abstract"
    slopes, last = transition.exponents(times), times["time"].max()
    pairs = len(times.groupby(transition.RATES))
    claims = [
        _claim(words, place, f"synthetic, {pairs} pairs of rates", f"{rate}_exponent",
               slopes[rate],
               f"slope of log time on log {rate} at a fixed other rate; time: the iteration at "
               f"which attention moves fastest, {last:g} at most", HOLDS[f"{rate}_exponent"])
        for rate in reversed(transition.RATES)
    ]  # fmt: skip
    middle = np.sort(times["lr_Z"].unique())[times["lr_Z"].nunique() // 2]
    through = times[np.isclose(times["lr_Z"], middle) | np.isclose(times["lr_Y"], middle)]
    for (lr_Z, lr_Y), runs in through.groupby(transition.RATES):
        found = of_seeds(runs["time"], 0)
        setting = f"synthetic, lr_Z {lr_Z:.15g}, lr_Y {lr_Y:.15g}"
        note = "the iteration at which attention moves fastest"
        claims.append(Claim(words, place, setting, "transition_time", found, note, keys=KEYS))
    return claims


def _changed_claims(changes: pd.DataFrame, iterations: int) -> list[Claim]:
    """The claims on the scan again where one assumption is changed: another model or task."""
    claims = []
    for (assumption, changed), own in changes.groupby(["assumption", "changed"], sort=False):
        words = CHANGED[assumption].format(changed)
        claims += [
            claim._replace(
                place=PLACES[assumption],
                setting=f"synthetic, {words}, {iterations} iterations",
                kind="analogue",
                keys=claim.keys | {"assumption": assumption, "changed": changed},
            )
            for claim in _scan_claims(own, iterations)
            if claim.quantity in OF_CHANGES
        ]
    return claims


def cell_claims(cells: pd.DataFrame, iterations: int) -> list[Claim]:
    """The published cells of Fig. 6 all together; none where ours and theirs have none in common.

    Args:
        cells: the table of entropies, `entropy_sweep.assemble`.
        iterations: iterations of the figure.
    """
    tested = entropy_sweep.both(cells)
    if tested.empty:
        return []
    setting, keys = f"synthetic, {len(tested)} cells", KEYS | {"iterations": iterations}
    words = "entropy of attention by learning rates and query tokens"
    found = entropy_sweep.slope(tested)
    z = np.abs(entropy_sweep.welch(tested))
    distance = (tested["value"] - tested["published"]).abs().mean()
    together = Claim(
        words, "Fig. 6", setting, "entropy_slope", found,
        "our change of entropy by training over the published one, least squares through the "
        "start; cells of one number of query tokens share seeds and count as varying together",
        compared=Number(0.0, published_runs=PUBLISHED_RUNS), published=1.0,
        published_std=found["std"], keys=keys,
    )  # fmt: skip
    correlation = np.nan
    if len(tested) > 1:
        correlation = np.corrcoef(tested["value"], tested["published"])[0, 1]
    return [
        together,
        *(
            Claim(words, "Fig. 6", setting, quantity, alone(value, len(tested)), note, keys=keys)
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
            paper = _grid(theirs, along, across, "published") if len(theirs) == len(ran) else None
            grids = [_grid(own, along, across, "entropy") for _, own in group.groupby("seed")]
            grids = np.array([grid for grid in grids if grid is not None])
            setting = f"synthetic, {measures.query_tokens(num_last)}"
            keys = {"num_last": f"{num_last}", "iterations": iterations}
            for quantity, of_grid, what, ends in (
                ("spearman", _trend, "rank correlation of entropy with the rate", (-1.0, 1.0)),
                ("difference", _contrast, "entropy at the largest rate minus at the smallest",
                 (-np.inf, np.inf)),
            ):  # fmt: skip
                seeds = of_grid(grids) if len(grids) else np.array([])
                own = _claim(
                    words, "Fig. 6", setting, f"{along}_{quantity}", seeds,
                    f"{what}, mean over {across}", Direction(0, side), ends, **keys,
                )  # fmt: skip
                if paper is not None:
                    own = own._replace(
                        published=float(of_grid(paper)),
                        compared=Number(0.0, published_runs=PUBLISHED_RUNS),
                    )
                if quantity == "difference":
                    spread = np.nan if paper is None else _contrast_std(theirs, along)
                    # Of two rounded numbers; ranks are not rounded.
                    tolerance = 2 * theirs["tolerance"].max()
                    own = own._replace(published_std=spread, tolerance=tolerance)
                    differences.append(own)
                claims.append(own)
        claims += over_sizes(differences, side)
    return claims


def over_sizes(differences: Sequence[Claim], side: int) -> list[Claim]:
    """Differences of entropy over all numbers of query tokens: their mean, and the weakest.

    The mean stands beside that of the published ones; other numbers have other seeds, so that they
    are independent. A claim on every number is one on that at which the effect is weakest.

    Args:
        differences: one claim for each number.
        side: on which side of 0 the paper says that they are.
    """
    if len(differences) < 2 or any(claim.missing for claim in differences):
        return []
    first, count = differences[0], len(differences)
    found = pd.DataFrame([claim.found for claim in differences])
    weights = np.full(count, 1 / count)
    value = float(found["value"].mean())
    half = pooled(weights, (found["high"] - found["low"]) / 2, np.arange(count))
    spreads = [claim.published_std for claim in differences]
    published = float(np.mean([claim.published for claim in differences]))
    mean = first._replace(
        setting=f"synthetic, mean over {count} numbers of query tokens",
        quantity=f"{first.quantity}_mean",
        found={"value": value, "low": value - half, "high": value + half,
               "n": int(found["n"].min())},
        compared=None if np.isnan(published) else first.compared,
        published=published,
        published_std=pooled(weights, spreads, np.arange(count)),
        keys=first.keys | {"num_last": ALL},
    )  # fmt: skip
    weakest = min(differences, key=lambda claim: side * claim.found["value"])
    weakest = weakest._replace(
        quantity=f"{first.quantity}_weakest",
        note=f"{weakest.note}; at the number of query tokens at which it is weakest",
        compared=Direction(0, side),
        published=np.nan,
        published_std=np.nan,
        tolerance=np.nan,
    )
    return [mean, weakest]


def _grid(table: pd.DataFrame, along: str, across: str, values: str) -> np.ndarray | None:
    """[across, along] values; None where some are missing."""
    grid = table.pivot_table(values, across, along)
    return None if grid.empty or grid.isna().any(axis=None) else grid.to_numpy()


def _trend(grids: np.ndarray) -> np.ndarray:
    """Mean over rows of the rank correlation between value and column, [...]."""
    columns = np.broadcast_to(np.arange(grids.shape[-1]), grids.shape)
    return spearman(grids, columns).mean(axis=-1)


def _contrast(grids: np.ndarray) -> np.ndarray:
    """Mean over rows of last column minus first, [...]."""
    return (grids[..., -1] - grids[..., 0]).mean(axis=-1)


def _contrast_std(cells: pd.DataFrame, along: str) -> float:
    """Standard deviation of the published `_contrast` over seeds, its cells as if independent.

    How they vary together is not printed. In our runs together they vary 0.6 to 1.4 times as much.
    """
    ends = cells[cells[along].isin([cells[along].min(), cells[along].max()])]
    return pooled(np.full(len(ends), 2 / len(ends)), ends["published_std"], np.arange(len(ends)))


def text_directions(length: int) -> dict[tuple[str, str], Direction]:
    """Where the claims on real text hold, by claim and measure.

    Args:
        length: tokens in a sequence.
    """
    return {
        (SPARSE, "entropy"): Direction(0, -1, TENTH * uniform_entropy(length)),
        (SPARSE, "top1"): Direction(0, 1, TENTH),
        (SPARSE, "sparse"): Direction(0, 1, TENTH),
        # Whoever gains more than half of all attention has most of it.
        (NO_WINNER, "top1"): Direction(0.5, -1, TENTH * 0.5),
        (COMMON_LOSE, "received"): Direction(0, -1, TENTH),
        (RARE_GAIN, "received"): Direction(0, 1, TENTH),
    }


def _on_text(training: TextTrainingSettings) -> str:
    """Which training on which text, for readers."""
    return f"real text, {training.name}" + (f", {training.corpus}" if training.corpus else "")


def _text_claims(
    training: TextTrainingSettings,
    table: pd.DataFrame,
    holds: Mapping[tuple[str, str], Direction],
    kind: str,
) -> list[Claim]:
    """What attention does on real text between the first and the last iteration."""
    change = _change(table)
    bins = [q for q in change if q.startswith("received[")]
    still = not (change["loss"] < 0).all()
    weight = "change of the largest weight"
    keys = {"task": TEXT, "training": training.name, "iterations": int(table["iteration"].max())}
    claims = [
        _claim(
            claim, place, _on_text(training), f"{quantity}_change", change[quantity], note,
            holds[claim, quantity.partition("[")[0]], **keys,
        )._replace(seeds=change[quantity], kind=kind)
        for claim, place, quantity, note in (
            (SPARSE, "Fig. 7", "entropy", "change of entropy (nats)"),
            (SPARSE, "Fig. 7", "top1", weight),
            (SPARSE, "Fig. 7", "sparse", "change of the share of keys below a tenth of uniform"),
            (COMMON_LOSE, "abstract", bins[0],
             "change of attention on the most frequent tokens, uniform = 1"),
            (RARE_GAIN, "abstract", bins[-1],
             "change of attention on the rarest tokens, uniform = 1"),
        )
    ]  # fmt: skip
    winner = _claim(
        NO_WINNER, "abstract", _on_text(training), "top1_change", change["top1"], weight,
        holds[NO_WINNER, "top1"], **keys,
    )._replace(kind=kind)  # fmt: skip
    claims.append(winner)
    return list(map(_still, claims)) if still else claims


def _with_and_without_positions(
    text: Mapping[TextTrainingSettings, pd.DataFrame],
) -> list[tuple[TextTrainingSettings, tuple[pd.DataFrame, pd.DataFrame]]]:
    """Trainings without positions, with their measures and those of the same one with positions."""
    found = []
    for training, measured in text.items():
        twin = (training.optimizer, training.lr, training.lr_feed_forward, training.corpus)
        for other, beside in text.items():
            its = (other.optimizer, other.lr, other.lr_feed_forward, other.corpus)
            if not training.positions and other.positions and twin == its:
                found.append((training, (measured, beside)))
    return found


def _position_claims(
    training: TextTrainingSettings, without: pd.DataFrame, beside: pd.DataFrame
) -> list[Claim]:
    """Measures without positions minus those with them, after as many iterations, seed by seed."""
    last = max(set(without["iteration"]) & set(beside["iteration"]))
    index = ["quantity", "seed"]
    ends = [
        table[table["iteration"] == last].set_index(index)["value"] for table in (without, beside)
    ]
    difference = (ends[0] - ends[1]).dropna()
    bins = [q for q in beside["quantity"].unique() if q.startswith("received[")]
    keys = KEYS | {"task": TEXT, "training": training.name, "assumption": "positions"}
    keys["iterations"] = int(last)
    claims = []
    for quantity in ("loss", "entropy", "sparse", bins[0], bins[-1]):
        seeds = difference[difference.index.get_level_values("quantity") == quantity]
        with_them = ends[1][ends[1].index.get_level_values("quantity") == quantity].mean()
        note = f"without positions minus with them, which have {with_them:.3f}, at iteration {last}"
        claims.append(
            Claim("no positional encoding", PLACES["positions"], _on_text(training),
                  f"{quantity}_without_positions", of_seeds(seeds), note, keys=keys)
        )  # fmt: skip
    return claims


def _still(claim: Claim) -> Claim:
    """The claim of a run that has not left its start."""
    return claim._replace(missing="a run stood still")


def _change(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Last minus first value of every quantity, one per seed that went through, under its seed."""
    last = table["iteration"].max()
    whole = table.groupby("seed")["iteration"].transform("max") == last
    grid = table[whole].pivot_table("value", ["quantity", "seed"], "iteration", sort=False)
    difference = (grid[last] - grid[0]).groupby("quantity", sort=False)
    return {name: own.droplevel("quantity") for name, own in difference}
