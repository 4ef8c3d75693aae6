"""Keep a run's tables and findings as the reference run, `docs/reference`, with its machine.

README and docs quote the reference run, and `make compare` sets other runs beside it. What is said
of its tables follows from them alone: `onelayer reference` says it again, without a run.
"""

import json
import os
import platform
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.evidence.sentences import NOT_AS_CLAIMED, page, quoted, quotes, requoted, say, scores
from onelayer.evidence.tables import markdown_table, read_tables, write_csv
from onelayer.papers.findings import BY_TITLE, CLAIMS
from onelayer.report.comparison import REFERENCE, SUMS
from onelayer.report.scoreboard import NAME as SCOREBOARD
from onelayer.report.scoreboard import TOGETHER, claims, readable, scoreboard
from onelayer.run.portable import describe_processor
from onelayer.run.provenance import REPOSITORY, file_sha256, library_versions

# What quotes it.
README = REPOSITORY / "README.md"
TEXTS = [README, *sorted((REPOSITORY / "docs").glob("*.md"))]
# The scoreboard's columns in the README.
COLUMNS = ["paper", "what was tested", "compared with", "published", "ours [95%]", "verdict"]
COLUMNS += [TOGETHER, "table"]
PICTURE = "figures/topic_structure/wikipedia_ratios.png"


def keep_run(results: Path, reference: Path) -> None:
    """Replace the reference run by the run in a folder.

    Args:
        results: a finished run, with its manifest.
        reference: where its tables (CSV), its findings, the first picture and `machine.json` go.

    Raises:
        OnelayerError: the run is not finished.
    """
    needed = [results / name for name in ("manifest.json", "findings.md", PICTURE)]
    if missing := [path for path in needed if not path.is_file()]:
        raise OnelayerError(f"{missing[0]} does not exist: run `make results` first")
    described = json.loads((results / "manifest.json").read_text("utf-8"))
    kept = reference / SUMS
    sums = json.loads(kept.read_text("utf-8")) if kept.is_file() else {}
    shutil.rmtree(reference, ignore_errors=True)
    for table in sorted(results.glob("tables/*/*.csv")):
        copy = reference / table.relative_to(results)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(table, copy)
    _, findings, picture = needed
    shutil.copyfile(picture, reference / picture.name)
    (reference / findings.name).write_text(
        as_kept(findings.read_text(encoding="utf-8")), encoding="utf-8"
    )
    known = machine() | {"commit": described["commit"]}
    (reference / "machine.json").write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    sums.pop("reference run", None)
    if described.get("portable"):
        sums["reference run"] = judged_sums(results)
    if sums:
        kept.write_text(json.dumps(sums, indent=1) + "\n", encoding="utf-8")


def judged_sums(results: Path) -> dict[str, str]:
    """SHA-256 of every table (CSV) and of the weights of every model made here, by path.

    Tables of stability are left out: they measure by how much other kernels differ.
    """
    tables = [t for t in results.glob("tables/*/*.csv") if t.parent.name != "stability"]
    weights = results.glob("models/*/model.safetensors")
    return {
        str(Path("results") / path.relative_to(results)): file_sha256(path)
        for path in sorted([*tables, *weights])
    }


def as_kept(text: str) -> str:
    """Markdown whose links lead to the tables that are kept."""
    return re.sub(r"(\((?:docs/reference/)?tables/[a-z0-9_/]+)\.md\)", r"\1.csv)", text)


def machine() -> dict[str, str]:
    """What decides rounding, and with it a training near a transition: processor and libraries."""
    cpu = platform.processor() or platform.machine()
    if described := describe_processor():
        cpu = f"{described.get('model name', cpu)} (family {described.get('cpu family')}, model "
        cpu += f"{described.get('model')})"
    known = described.get("flags", "").split()
    flags = " ".join(flag for flag in ("avx2", "avx512f", "amx_tile") if flag in known)
    return {
        "cpu": cpu,
        "instructions": flags,
        "cores": str(os.cpu_count()),
        "libraries": library_versions("pretrain_model"),
    }


def requote(reference: Path = REFERENCE, texts: Iterable[Path] = TEXTS) -> None:
    """Say again what follows from the tables of the reference run, in README and docs as well.

    Args:
        reference: its folder; gets a scoreboard and findings.
        texts: Markdown files that quote findings, or hold a block of `blocks`.

    Raises:
        OnelayerError: a text quotes a finding that there is not.
    """
    tables = read_tables(sorted(reference.glob("tables/*/*.csv")))
    tables.pop(SCOREBOARD, None)
    tables[SCOREBOARD] = scoreboard(CLAIMS, tables)
    (reference / "tables" / SCOREBOARD).parent.mkdir(exist_ok=True)
    write_csv(tables[SCOREBOARD], reference / "tables" / f"{SCOREBOARD}.csv")
    findings = page(BY_TITLE, tables)
    (reference / "findings.md").write_text(as_kept(findings), encoding="utf-8")
    found, renewed = dict(quotes(findings)), blocks(tables)
    for path in texts:
        text = requoted(with_blocks(path.read_text(encoding="utf-8"), renewed), found)
        path.write_text(text, encoding="utf-8")


def blocks(tables: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Parts of the README that follow from the tables of the reference run.

    Args:
        tables: its tables by their names, the scoreboard among them.

    Returns:
        Markdown by the name of its block: `scoreboard`, the score and every claim;
        `discrepancies`, the sentences of what is not as the papers say.
    """
    board = tables[SCOREBOARD]
    every_claim = readable(board, tables, "docs/reference/tables")
    every_claim = every_claim[[column for column in COLUMNS if column in every_claim]]
    score = [
        markdown_table(scores(claims(board))),
        "",
        '<details markdown="1">',
        f"<summary>All {len(every_claim)} claims, each with the row that decides it</summary>",
        "",
        as_kept(markdown_table(every_claim)),
        "",
        "</details>",
    ]
    said = [say(finding, tables) for findings in CLAIMS.values() for finding in findings]
    against = [f"- {quoted(one)}" for one in said if one.section == NOT_AS_CLAIMED]
    return {"scoreboard": "\n".join(score), "discrepancies": "\n".join(against)}


_BLOCK = re.compile(r"<!-- block: ([a-z]+) -->.*?<!-- end of block -->", re.DOTALL)


def with_blocks(text: str, renewed: Mapping[str, str]) -> str:
    """A text with its blocks, `<!-- block: x -->` to `<!-- end of block -->`, as they are now.

    Args:
        text: Markdown.
        renewed: what stands in a block by its name.

    Raises:
        OnelayerError: it has a block of another name.
    """

    def block(found: re.Match) -> str:
        if found[1] not in renewed:
            raise OnelayerError(f"no block '{found[1]}', only {', '.join(renewed)}")
        return f"<!-- block: {found[1]} -->\n\n{renewed[found[1]]}\n\n<!-- end of block -->"

    return _BLOCK.sub(block, text)


def main(results: Path, keep: bool = False) -> None:
    """Say again what follows from the tables of the reference run.

    Args:
        results: the folder `results` of a run.
        keep: make this run the reference run first.
    """
    if keep:
        keep_run(results, REFERENCE)
    requote()
