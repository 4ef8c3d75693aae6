"""What came out of a run, in a few lines for its end: `onelayer outcome results`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from onelayer.evidence.sentences import SCOREBOARD, apart_from_own, scores
from onelayer.evidence.tables import ALL, read_tables, tables_in
from onelayer.evidence.verdicts import VERDICTS, worded
from onelayer.report.comparison import CHANGES, MOVED, REFERENCE, compare_runs, counted
from onelayer.report.registry import FOLDERS
from onelayer.report.scoreboard import claims


def outcome(results: Path, reference: Path | None = None) -> list[str]:
    """The score, of a part of a run its headline; what is not as in another run; where to read on.

    Args:
        results: the folder `results` of a run.
        reference: the run that it is set beside, a line a paper; none: beside nothing.

    Returns:
        At most 25 lines of a whole run.

    Raises:
        OnelayerError: there is no table.
    """
    paths = tables_in(results)
    tables = read_tables(paths)
    said = _score(tables[SCOREBOARD]) if SCOREBOARD in tables else _headline(tables)
    lines = [*said, *(_beside(paths, reference) if reference else [])]
    return [*lines, *_places(results, paths)]


def _score(board: pd.DataFrame) -> Iterator[str]:
    """How many claims of each paper have each verdict; of what stands apart, of all papers."""
    yield "Claims, each by the one row that decides it"
    judged = claims(board)
    judged = judged.assign(paper=judged["paper"].where(apart_from_own(judged) == "", "All"))
    for row in scores(judged).to_dict("records"):
        counts = [f"{row[verdict]} {verdict}" for verdict in VERDICTS if row[verdict] != "0"]
        yield f"  {row['paper']:<28}{row['claims']:>3}: {', '.join(counts)}"
    yield ""


def _headline(tables: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """The attention ratio of each model under the first threshold, one line each."""
    for overlap in ("disjoint", "overlapping"):
        rows = tables.get(f"topic_structure/wikipedia_{overlap}")
        if rows is None:
            continue
        rows = rows[(rows["quantity"] == "attention_ratio") & (rows["seed"] == ALL)].dropna(
            subset="value"
        )
        if rows.empty:
            continue
        threshold = rows["threshold"].iloc[0]
        yield f"Same-topic / different-topic attention, {overlap} topics, {threshold}"
        for row in rows[rows["threshold"] == threshold].to_dict("records"):
            said = [f"{row['value']:.3f}, 95% interval {row['low']:.3f} to {row['high']:.3f}"]
            said += [] if pd.isna(row["published"]) else [f"{row['published']:g} published"]
            said += [worded(row)] if row["verdict"] else []
            yield f"  {row['model']:<15}" + "; ".join(said)
        yield ""


def _beside(tables: Sequence[Path], reference: Path) -> Iterator[str]:
    """How many rows and verdicts are not those of another run, one line a paper."""
    yield "Beside the reference run, which `make compare` shows in full"
    compared = compare_runs(tables, reference.glob("tables/*/*.csv"))
    counts = counted(compared, compared["table"].str.split("/").str[0])
    columns = counts[["rows", MOVED, *CHANGES]].itertuples(name=None)
    for folder, rows, moved, changed, undecided in columns:
        verdicts = f"{changed} verdicts changed, {undecided} from or to undecided"
        yield f"  {FOLDERS.get(folder, folder):<28}{moved} of {rows} rows moved; {verdicts}"
    yield ""


def _places(results: Path, tables: Sequence[Path]) -> Iterator[str]:
    """Where all of it can be read."""
    index, report = results / "index.md", results / "report.html"
    if not index.is_file():
        yield from (str(table.with_suffix(".md")) for table in tables)
        yield from map(str, sorted(results.glob("figures/*/*.png")))
        return
    yield f"{results / 'findings.md'}: what was found, in sentences"
    yield f"{index}: every table and figure"
    later = "" if report.is_file() else ", once `make report` has run"
    yield f"{report}: all on one page{later}"


def main(results: Path, compared: bool = False) -> str:
    """The outcome of the run in a folder `results`, as it is printed."""
    return "\n".join(["", *outcome(results, REFERENCE if compared else None)])
