"""What came out of a run, in a few lines for its end: `python -m onelayer.outcome results`."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.tables import read_csv
from onelayer.verdicts import KINDS, VERDICTS


def outcome(results: Path) -> list[str]:
    """The headline, how many verdicts there are of each kind, and where to read on.

    Args:
        results: the folder `results` of a run.

    Returns:
        Lines; those of the headline only where its tables were made.

    Raises:
        OnelayerError: there is no table.
    """
    tables = sorted(results.glob("tables/*/*.csv"))
    if not tables:
        raise OnelayerError(f"{results}: no tables here; `make results` makes them")
    return [*_headline(tables), *_verdicts(tables), "", *_places(results, tables)]


def _headline(tables: Sequence[Path]) -> Iterator[str]:
    """The attention ratio of each model under the first threshold, one line each."""
    for path in tables:
        if path.stem not in ("wikipedia_disjoint", "wikipedia_overlapping"):
            continue
        rows = read_csv(path)
        rows = rows[(rows["quantity"] == "attention_ratio") & rows["value"].notna()]
        rows = rows[rows["seed"] == "all"]
        threshold = rows["threshold"].iloc[0]
        overlap = path.stem.removeprefix("wikipedia_")
        yield f"Same-topic / different-topic attention, {overlap} topics, {threshold}"
        for row in rows[rows["threshold"] == threshold].itertuples():
            said = [f"{row.value:.3f}, 95% interval {row.low:.3f} to {row.high:.3f}"]
            said += [] if pd.isna(row.published) else [f"{row.published:g} published"]
            yield f"  {row.model:<15}" + "; ".join([*said, *filter(None, [row.verdict])])
        yield ""


def _verdicts(tables: Sequence[Path]) -> Iterator[str]:
    """How many numbers of each kind were compared, by what came of it."""
    rows = pd.concat([read_csv(table)[["kind", "verdict"]] for table in tables])
    yield "Verdicts, by what was compared with"
    for kind in KINDS:
        found = rows.loc[rows["kind"] == kind, "verdict"].value_counts()
        counts = [f"{found[verdict]} {verdict}" for verdict in VERDICTS if verdict in found]
        if counts:
            yield f"  {kind:<15}{', '.join(counts)}"


def _places(results: Path, tables: Sequence[Path]) -> Iterator[str]:
    """Where all of it can be read."""
    index, report = results / "index.md", results / "report.html"
    if not index.is_file():
        yield from (str(table.with_suffix(".md")) for table in tables)
        yield from map(str, sorted(results.glob("figures/*/*.png")))
        return
    yield f"{results / 'findings.md'}: what was found, in sentences"
    yield f"{index}: every table and figure"
    yield f"{report}: all on one page" + (
        "" if report.is_file() else ", once `make report` has run"
    )


def main() -> None:
    """Write the outcome of the run whose folder `results` the command line names."""
    try:
        text = "\n".join(outcome(Path(*sys.argv[1:])))
    except OnelayerError as error:
        sys.exit(str(error))
    sys.stdout.write(f"\n{text}\n")


if __name__ == "__main__":
    main()
