"""The table of the paper's open problems: how far each source is learned.

The paper says nothing of these. Its sentence on two states is carried over to chains of the first
order under one layer: 1 - p - q is the second eigenvalue of a chain of two states, and where it is
positive a small start reaches the bigram model, where it is negative the unigram model. All of them
are analogues: with two states, too, the embedding has a row per state, unlike the paper's.
"""

from collections.abc import Sequence

import pandas as pd

from onelayer.evidence.intervals import mean, share, with_runs
from onelayer.evidence.tables import Report, interval_of, number, row_per, table, tidy
from onelayer.evidence.verdicts import NOT_REACHED, TENTH, Direction, judge, worded
from onelayer.papers.local_to_global.chain import MarkovSource
from onelayer.settings.local_to_global import SourceSettings

KEYS = ["source", "depth"]
CLOSE = "within"  # how near to the best entropy counts as reached (nats), in the rows that count


def with_way_closed(curves: pd.DataFrame, sources: Sequence[SourceSettings]) -> pd.DataFrame:
    """`open_problems.train_sources` with what is left of the way from the unigram entropy.

    Columns `closed`, the share of the way to the entropy of the best model, whose memory is the
    source's order, and `above_best` (nats).
    """
    source_of = {one.name: MarkovSource.of(one.transitions) for one in sources}
    unigram = curves["source"].map({name: source.entropy(0) for name, source in source_of.items()})
    best = curves["source"].map({name: one.entropy(one.order) for name, one in source_of.items()})
    closed = (unigram - curves["loss"]) / (unigram - best)
    return curves.assign(closed=closed, above_best=curves["loss"] - best)


def _unreached(fell: pd.Series) -> dict[str, str]:
    """Verdict and note of a row that rests on runs of which one ends no lower than it starts.

    The start has no preference and lies near the unigram entropy: standing still looks trapped.
    """
    if (fell > 0).all():
        return {}
    note = f"{(~(fell > 0)).sum()} of {len(fell)} seeds end no lower than they start"
    return {"verdict": NOT_REACHED, "note": note}


@row_per(*KEYS)
def readable(by: pd.DataFrame, source: str, depth: int) -> dict:
    """A row per source and depth."""
    final, way, reached = (by.loc[name] for name in ("final_loss", "way_closed", "reached_share"))
    # Which side of the half is that of the sentence on two states.
    side = f"{'>' if way['effect'] > 0 else '<'} .5" if way["verdict"] else ""
    return {
        "source": source,
        "layers": str(depth),
        "final loss [95%]": interval_of(final, 4),
        "share of the way from unigram to best [95%]": interval_of(way, 3),
        "seeds at the best entropy": (
            f"{number(reached['value'] * reached['n'], 0)} of {reached['n']:.0f}"
        ),
        "as with two states": side,
        "verdict": worded(way),
        "entropies": final["note"],
    }


@table(
    "local_to_global/open_problems",
    "Transformers",
    "table: open problems",
    reads={"curves": "train_open_problems.curves"},
    settings={
        "sources": "local_to_global.open_problems.sources",
        "sequence_length": "local_to_global.open_problems.sequence_length",
        "batch": "local_to_global.open_problems.batch",
        "iterations": "local_to_global.open_problems.iterations",
    },
)
def open_problems(
    curves: pd.DataFrame,
    sources: list[SourceSettings],
    sequence_length: int,
    batch: int,
    iterations: int,
) -> Report:
    """How far more states, the second order and two layers are learned."""
    runs = with_way_closed(curves, sources).sort_values("iteration")
    runs["fell"] = runs.groupby([*KEYS, "seed"])["loss"].transform("first") - runs["loss"]
    final = runs[runs["iteration"] == runs.groupby(KEYS)["iteration"].transform("max")]
    rows, compared = [], []
    for one in sources:
        source = MarkovSource.of(one.transitions)
        entropies = [source.entropy(memory) for memory in range(source.order + 1)]
        seen = "; ".join(f"{value:.4f} with {memory}" for memory, value in enumerate(entropies))
        within = TENTH * (entropies[0] - entropies[-1])
        for depth in one.depths:
            part = final[(final["source"] == one.name) & (final["depth"] == depth)]
            reached = share(int((part["above_best"] <= within).sum()), len(part))
            quantities = {
                "final_loss": mean(part["loss"]) | {"note": f"entropy by memory: {seen}"},
                "way_closed": mean(part["closed"]) | _unreached(part["fell"]),
                "reached_share": reached | {CLOSE: within},
            }
            key = {"source": one.name, "depth": depth}
            rows += [key | {"quantity": name} | row for name, row in quantities.items()]
            judged = {}
            if source.order == 1 and depth == 1:  # of others the sentence on two states is silent
                side = 1 if source.second_eigenvalue > 0 else -1
                judged["way_closed"] = Direction(0.5, side, kind="analogue")
            compared += [judged.get(name) for name in quantities]
    table = judge(with_runs(tidy(rows, [*KEYS, CLOSE])), compared)
    title = "Open problems: more states, higher order, two layers, from the standard start"
    notes = [
        f"{sequence_length} inputs per sequence, {batch} sequences per "
        f"iteration, {iterations} iterations of AdamW from the standard start; a row of "
        "the embedding per state, no LayerNorm. Population loss on held-out sequences (nats).",
        "Memory: the last symbols that a model sees; with none it is the unigram model. In the "
        "second order only the symbol before the last one counts: a memory of one is none.",
        "Seeds at the best entropy: within a tenth of its distance from the unigram entropy.",
        "The paper leaves these open. Verdict, of chains under one layer: whether they end where "
        "its sentence on two states says, carried over by the sign of the second eigenvalue (1 - p "
        "- q for two states; its real part): on which side of the half of the way.",
    ]
    return Report(table, readable(table), title, notes)
