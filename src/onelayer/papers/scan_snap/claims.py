"""The paper's claims as checks: each with its number, its interval over seeds, and a verdict."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from onelayer.claims import BEYOND, Claim, of_seeds, tabulated
from onelayer.claims import NOTES as ON_CLAIMS
from onelayer.papers.scan_snap import measures, transition
from onelayer.papers.scan_snap.data import COMMON, TOKEN_CHANCES
from onelayer.papers.scan_snap.measures import UNMOVED, WINDOW, spearman
from onelayer.settings.scan_snap import TextTrainingSettings
from onelayer.verdicts import Direction

CORRELATIONS = (
    *("gain_spearman", "drop_time_spearman", "lr_Y_multiplier_spearman", "lr_Z_spearman"),
)
EARLY = 10  # speed is taken around iteration 10 and at the end
RAREST = 4  # tokens whose drop times are compared
ASSUMPTIONS = {
    "positions": "abstract, assumption (a)",
    "length": "abstract, assumption (b)",
    "decoder": "abstract, assumption (c)",
}
# What is said of a changed assumption: of the claims on the scan, these.
OF_CHANGES = ("common_mass_change", "gain_spearman", "slowing_down", "way_after")


def assemble(
    scan: pd.DataFrame,
    sweep: pd.DataFrame,
    published: pd.DataFrame,
    text: Mapping[TextTrainingSettings, pd.DataFrame],
    scan_iterations: int,
    sweep_iterations: int,
    transitions: pd.DataFrame | None = None,
    changes: pd.DataFrame | None = None,
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
    """
    claims = _scan_claims(scan, scan_iterations) + _drop_claims(scan, scan_iterations)
    if transitions is not None:
        claims += _transition_claims(transition.times_by_run(transitions))
    if changes is not None:
        claims += _changed_claims(changes, scan_iterations)
    claims += _rate_claims(sweep, published, sweep_iterations)
    for training, table in text.items():
        claims += _text_claims(training, table)
    for pair, tables in _with_and_without_positions(text):
        claims += _position_claims(pair, *tables)
    return tabulated(claims)


def _claim(
    claim: str,
    place: str,
    setting: str,
    quantity: str,
    seeds: np.ndarray | pd.Series,
    reference: float,
    side: int,
    note: str,
    **compared: float,
) -> Claim:
    """A claim that holds where the mean over seeds lies above (1) or below (-1) the reference."""
    most = 1.0 if quantity in CORRELATIONS else np.inf
    found = of_seeds(seeds, -most, most)
    missing = "" if found["n"] else "no run went through"
    holds = Direction(reference, side)
    return Claim(claim, place, setting, quantity, found, note, holds, missing=missing, **compared)


def _scan_claims(scan: pd.DataFrame, iterations: int) -> list[Claim]:
    times, c = measures.trajectories(scan[scan["diverged_at"] < 0])
    place = {int(iteration): index for index, iteration in enumerate(times)}
    start, end, last = c[0], c[place[iterations]], c[-1]
    gain = end / start
    chances = np.broadcast_to(TOKEN_CHANCES[COMMON:], gain[:, COMMON:].shape)
    lost = measures.common_mass(end) - measures.common_mass(start)
    setting, last_setting = (f"synthetic, {n} iterations" for n in (iterations, times[-1]))
    order = "distinct tokens gain in the order of co-occurrence"
    claims = [
        _claim("common tokens lose attention", "Fig. 4", setting, "common_mass_change", lost, 0, -1,
              f"from {measures.common_mass(start).mean():.3f}"),
        _claim(order, "Fig. 4", setting, "gain_spearman", spearman(gain[:, COMMON:], chances), 0, 1,
              "rank correlation of c(end) / c(0) with P(l) over the distinct tokens"),
        _claim(order, "Fig. 4", setting, "gain_of_most_frequent", gain[:, -1], 1, 1,
              "c(end) / c(0) of the most frequent distinct token"),
        _claim(order, "Fig. 4", setting, "gain_of_rarest", gain[:, COMMON], 1, -1,
              "c(end) / c(0) of the rarest distinct token"),
        _claim("not winner-take-all", "Fig. 4", setting, "largest_attention",
              end.max(axis=1), 0.5, -1,
              "the largest c of all tokens: none has most of the attention"),
        _claim("snapping: attention comes to rest", "Fig. 4", setting, "slowing_down",
              _slowing_down(c[:, :, -1], place, iterations), 0, 1,
              f"log10 of the top token's speed around iteration {EARLY} / at the end"),
    ]  # fmt: skip
    if times[-1] > iterations:
        before, after = np.abs(end - start).sum(axis=1), np.abs(last - end).sum(axis=1)
        way = np.divide(after, before, out=np.full_like(before, np.nan), where=before > 0)
        note = f"way of c from {iterations} to {times[-1]} iterations / way before (l1)"
        name = "stays snapped over more iterations"
        claims.append(_claim(name, BEYOND, last_setting, "way_after", way, 0.5, -1, note))
    still = bool((np.abs(gain - 1) < UNMOVED).all(axis=1).any())
    return [_still(claim) for claim in claims] if still else claims


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
    """When the rarest distinct tokens drop, and in which order."""
    times, c = measures.trajectories(scan[scan["diverged_at"] < 0])
    early = times <= iterations
    drops = measures.drop_times(times[early], c[early])[:, COMMON:]
    setting = f"synthetic, {iterations} iterations"
    claim, place = "attention drops progressively, from low to high co-occurrence", "abstract"
    never = np.where(np.isnan(drops), iterations + 1, drops)
    chances = np.broadcast_to(TOKEN_CHANCES[COMMON:], never.shape)
    claims = [
        _claim(claim, place, setting, "drop_time_spearman", spearman(never, chances), 0, 1,
              "rank correlation of drop time and P(l) over the distinct tokens; those that never "
              "drop come last, side by side"),
    ]  # fmt: skip
    for rank in range(RAREST):
        own = drops[:, rank]
        dropped = own[~np.isnan(own)]
        median = f", median {np.median(dropped):g}" if len(dropped) else ""
        note = f"first iteration at which c is 1% below its start, where it is so{median}"
        found = of_seeds(own, 0)
        claims.append(Claim(claim, place, setting, f"drop_time[{rank + 1}]", found, note))
    for rank in range(RAREST - 1):
        later = drops[:, rank + 1] - drops[:, rank]
        name, note = f"drop_delay[{rank + 1} to {rank + 2}]", "iterations between their drops"
        claims.append(_claim(claim, place, setting, name, later, 0, 1, note))
    return claims


def _transition_claims(times: pd.DataFrame) -> list[Claim]:
    """When attention stops gathering speed, against both rates, and at some pairs of them."""
    claim = "a phase transition that is controllable by the learning rates of the two layers"
    place = "abstract"
    slopes, last = transition.exponents(times), times["time"].max()
    pairs = len(times.groupby(transition.RATES))
    claims = [
        _claim(claim, place, f"synthetic, {pairs} pairs of rates", f"{rate}_exponent",
              slopes[rate], 0, -1,
              f"slope of log time on log {rate} at a fixed other rate; time: the iteration at "
              f"which attention moves fastest, {last:g} at most")
        for rate in reversed(transition.RATES)
    ]  # fmt: skip
    middle = np.sort(times["lr_Z"].unique())[times["lr_Z"].nunique() // 2]
    through = times[np.isclose(times["lr_Z"], middle) | np.isclose(times["lr_Y"], middle)]
    for (lr_Z, lr_Y), runs in through.groupby(transition.RATES):
        found = of_seeds(runs["time"], 0)
        setting = f"synthetic, lr_Z {lr_Z:g}, lr_Y {lr_Y:g}"
        note = "the iteration at which attention moves fastest"
        claims.append(Claim(claim, place, setting, "transition_time", found, note))
    return claims


def _changed_claims(changes: pd.DataFrame, iterations: int) -> list[Claim]:
    """The claims on the scan again where one assumption is changed."""
    claims = []
    for (assumption, changed), own in changes.groupby(["assumption", "changed"], sort=False):
        setting = f"synthetic, {changed}, {iterations} iterations"
        place = ASSUMPTIONS[assumption]
        claims += [
            claim._replace(place=place, setting=setting)
            for claim in _scan_claims(own, iterations)
            if claim.quantity in OF_CHANGES
        ]
    return claims


def _rate_claims(sweep: pd.DataFrame, published: pd.DataFrame, iterations: int) -> list[Claim]:
    """Larger lr_Y/lr_Z: higher entropy; larger lr_Z: lower entropy; per number of query tokens."""
    runs = measures.entropy_by_run(sweep)
    runs = runs[(runs["iteration"] == iterations) & (runs["diverged_at"] < 0)]
    claims = []
    for num_last, group in runs.groupby("num_last"):
        theirs = published[published["num_last"] == num_last]
        setting = f"synthetic, {measures.query_tokens(num_last)}"
        for claim, along, across, side in (
            ("larger lr_Y/lr_Z, higher entropy", "lr_Y_multiplier", "lr_Z", 1),
            ("larger lr_Z, sparser attention", "lr_Z", "lr_Y_multiplier", -1),
        ):
            if group[along].nunique() < 2:
                continue
            grids = [_grid(own, along, across, "entropy") for _, own in group.groupby("seed")]
            grids = np.stack([grid for grid in grids if grid is not None])
            paper = _grid(theirs, along, across, "published")
            for quantity, of_grid, what in (
                ("spearman", _trend, "rank correlation of entropy with the rate"),
                ("difference", _contrast, "entropy at the largest rate minus at the smallest"),
            ):
                value = np.nan if paper is None else float(of_grid(paper))
                note = f"{what}, mean over {across}"
                name = f"{along}_{quantity}"
                own = _claim(
                    claim, "Fig. 6", setting, name, of_grid(grids), 0, side, note, published=value
                )
                if quantity == "difference":  # of two rounded numbers; ranks are not rounded
                    own = own._replace(tolerance=2 * theirs["tolerance"].max())
                claims.append(own)
    return claims


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


def _on_text(training: TextTrainingSettings) -> str:
    """Which training on which text."""
    return f"real text, {training.name}" + (f", {training.corpus}" if training.corpus else "")


def _text_claims(training: TextTrainingSettings, table: pd.DataFrame) -> list[Claim]:
    """What attention does on real text between the first and the last iteration."""
    change = _change(table)
    bins = [q for q in change if q.startswith("received[")]
    setting = _on_text(training)
    still = not (change["loss"] < 0).all()
    sparse, common = "attention becomes sparse", "common tokens lose attention"
    claims = [
        _claim(
            claim, place, setting, f"{quantity}_change", change[quantity], 0, side, note
        )._replace(seeds=change[quantity])
        for claim, place, quantity, side, note in (
            (sparse, "Fig. 7", "entropy", -1, "change of entropy (nats)"),
            (sparse, "Fig. 7", "top1", 1, "change of the largest weight"),
            (sparse, "Fig. 7", "sparse", 1, "change of the share of keys below a tenth of uniform"),
            (common, BEYOND, bins[0], -1,
             "change of attention on the most frequent tokens, uniform = 1"),
            (common, BEYOND, bins[-1], 1, "change of attention on the rarest tokens, uniform = 1"),
        )
    ]  # fmt: skip
    return list(map(_still, claims)) if still else claims


def _with_and_without_positions(
    text: Mapping[TextTrainingSettings, pd.DataFrame],
) -> list[tuple[TextTrainingSettings, tuple[pd.DataFrame, pd.DataFrame]]]:
    """Trainings without positions, with their measures and those of the same one with positions."""
    found = []
    for training, table in text.items():
        twin = (training.optimizer, training.lr, training.lr_feed_forward, training.corpus)
        for other, beside in text.items():
            its = (other.optimizer, other.lr, other.lr_feed_forward, other.corpus)
            if not training.positions and other.positions and twin == its:
                found.append((training, (table, beside)))
    return found


def _position_claims(
    training: TextTrainingSettings, without: pd.DataFrame, beside: pd.DataFrame
) -> list[Claim]:
    """Measures without positions minus those with them, after as many iterations, seed by seed."""
    last = max(set(without["iteration"]) & set(beside["iteration"]))
    keys = ["quantity", "seed"]
    ends = [
        table[table["iteration"] == last].set_index(keys)["value"] for table in (without, beside)
    ]
    difference = (ends[0] - ends[1]).dropna()
    bins = [q for q in beside["quantity"].unique() if q.startswith("received[")]
    claims = []
    for quantity in ("loss", "entropy", "sparse", bins[0], bins[-1]):
        seeds = difference[difference.index.get_level_values("quantity") == quantity]
        with_them = ends[1][ends[1].index.get_level_values("quantity") == quantity].mean()
        note = f"without positions minus with them, which have {with_them:.3f}, at iteration {last}"
        claims.append(
            Claim("no positional encoding", ASSUMPTIONS["positions"], _on_text(training),
                  f"{quantity}_without_positions", of_seeds(seeds), note)
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


TITLE = "Scan and Snap: the paper's claims"
NOTES = [
    "Intervals: mean over seeds, Student's t. Entropy is of attention on a class's 10 distinct "
    "tokens (synthetic) or on all earlier tokens and the own one (real text).",
    *ON_CLAIMS,
    "Drop times and delays are of the four rarest distinct tokens, 1 the rarest. A phase "
    "transition is taken to be where attention stops gathering speed and begins to lose it.",
    "Assumptions (a) to (c) of the abstract are changed one at a time, all else as in Fig. 4: a "
    "learned logit and decoder column for every place; shorter and longer sequences than 128; a "
    "decoder that learns slower or faster than at the same rate as attention.",
    "The published cells themselves do not rise all the way with lr_Y/lr_Z: from three query "
    "tokens on, entropy falls from 1 to 2 before it rises to 10; the Spearman rows show it.",
]
