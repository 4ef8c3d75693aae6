"""Keep a run's tables and findings as the reference run, `docs/reference`, with its machine.

README and docs quote the reference run, and `make compare` sets other runs beside it. What is said
of its tables follows from them alone: `onelayer reference` says it again, without a run. Runs of
some targets with other settings may be kept beside it, in `docs/reference/beside`, and quoted.
"""

import itertools
import json
import os
import platform
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.evidence import sentences
from onelayer.evidence.declarations import read_declarations, usual_target
from onelayer.evidence.figures import house_style, save_png
from onelayer.evidence.sentences import BESIDE, HOLM, SCOREBOARD, Places, Said, by_paper, those
from onelayer.evidence.tables import markdown, markdown_table, read_tables, write_csv
from onelayer.evidence.verdicts import (
    NO_DECISION,
    NOT_REACHED,
    NOT_RUN,
    REPRODUCED,
    UNDECIDED,
    VERDICTS,
)
from onelayer.papers import PAPERS
from onelayer.papers.findings import BY_TITLE, CLAIMS, IN_WORDS, TABLES, figures_beside
from onelayer.report import registry, scoreboard_figure, trained, trained_figure
from onelayer.report.comparison import REFERENCE, SUMS
from onelayer.report.crate.described import read_metadata
from onelayer.report.crate.metadata import METADATA
from onelayer.report.crate.predictions import SEALED, Sealed, read_predictions
from onelayer.report.crate.verification import main as verify
from onelayer.report.pictures import small_picture
from onelayer.report.records import (
    SHOWN,
    commit,
    enter,
    read_records,
    seconds,
    steps_behind,
    verify_results,
)
from onelayer.report.scoreboard import TITLE, claims, notes, readable, scoreboard
from onelayer.run.portable import describe_processor
from onelayer.run.provenance import REPOSITORY, code_digest, file_sha256, library_versions, sums

MINUTES = "minutes.csv"  # of its targets
PREDICTIONS = "predictions.csv"  # of its claims, and whether they are older than it
BOX, COLOURS = (1000, 2000), 200  # of a picture that is kept

# What each run kept beside it found, by paper, and where.
Runs = Mapping[str, tuple[Mapping[str, Sequence[Said]], Places]]

# What quotes it.
README = REPOSITORY / "README.md"
TEXTS = [README, *sorted((REPOSITORY / "docs").glob("*.md"))]


def keep_run(results: Path, reference: Path) -> None:
    """Replace the reference run, a folder, by a finished run with its crate's metadata.

    Raises:
        OnelayerError: the run is not finished, or not what its steps wrote.
    """
    if not (results / METADATA).is_file():
        raise OnelayerError(f"{results / METADATA} does not exist: run `make results` first")
    results = enter(results)
    verify(results)
    described = read_metadata(results / METADATA)
    place = reference / SUMS
    kept = json.loads(place.read_text("utf-8")) if place.is_file() else {}
    started = min(filter(None, (step["started"] for step in described.steps)), default="")
    _keep(results, reference, described.commit, started)
    write_csv(minutes(results), reference / MINUTES)
    kept.pop("reference run", None)
    if described.portable:
        kept["reference run"] = judged_sums(results)
    if kept:
        place.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def keep_beside(results: Path, reference: Path) -> None:
    """Keep a run of some targets beside the reference run, under the name of the run's folder.

    The commit and the machine that are written down are the checkout's; steps that ran with other
    code, or on a GPU, are named.

    Raises:
        OnelayerError: it has no tables or figures, or they, or what they rest on, are not what its
            steps wrote.
    """
    place, results = reference / BESIDE / results.resolve().parent.name, enter(results)
    verify_results(results, None)
    steps = {id(step): step for step in read_records(results).steps.values()}.values()
    started = min(filter(None, (step["started"] for step in steps)), default="")
    others = sorted({step["step"] for step in steps if not _is_of_this_checkout(step)})
    on_gpu = sorted({step["step"] for step in steps if step["device"] == "cuda"})
    named = {"steps_of_other_code": others, "steps_on_a_gpu": on_gpu}
    _keep(results, place, commit(), started, **named)


def _is_of_this_checkout(step: Mapping) -> bool:
    """Whether a step ran with the code that this checkout has, and not an earlier one."""
    try:
        return code_digest(step["step"]) == step["code"]
    except OSError:  # no such script any more
        return False


def _keep(results: Path, place: Path, of: str | None, started: str, **named: Sequence[str]) -> None:
    """A run's tables and figures, the machine, the commit, when it began, and named steps.

    And what was predicted of claims that its tables decide. All that they rest on is what steps
    wrote, or nothing is kept.
    """
    files = [*results.glob("tables/*/*.csv"), *results.glob("figures/*/*.png")]
    steps_behind(sums(files), read_records(results))
    for kind in SHOWN:
        shutil.rmtree(place / kind, ignore_errors=True)
    for kept in files:
        copy = place / kept.relative_to(results)
        copy.parent.mkdir(parents=True, exist_ok=True)
        picture = kept.suffix == ".png"
        copy.write_bytes(small_picture(kept, BOX, COLOURS) if picture else kept.read_bytes())
    facts = machine() | {"commit": of, "started": started}
    facts |= {what: ", ".join(steps) for what, steps in named.items() if steps}
    (place / "machine.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    tables = {f"{path.parent.name}/{path.stem}" for path in place.glob("tables/*/*.csv")}
    sealed = read_predictions(TABLES, dict.fromkeys(tables, started), of) if of else []
    write_csv(pd.DataFrame(sealed, columns=list(Sealed.__annotations__)), place / PREDICTIONS)


def minutes(results: Path) -> pd.DataFrame:
    """What each target took with all that it needs, on two cores that are never idle.

    Returns:
        `target`, `steps` and `minutes`: half of the seconds of all these steps, from the start to
        the end of each. Targets of a paper, and of a part of it, are among them.
    """
    folder = results.parent
    records = read_records(results)
    declared = read_declarations()
    behind: dict[str, dict[int, dict]] = defaultdict(dict)
    for kind, form in (("table", "csv"), ("figure", "png")):
        for path in sorted(results.glob(f"{kind}s/*/*.{form}")):
            name = str(path.relative_to(results / f"{kind}s").with_suffix(""))
            of = next((one for one in declared if one.kind == kind and one.matches(name)), None)
            target = of.target if of and of.target else usual_target(kind, name)
            key = str(path.relative_to(folder))
            steps = {id(step): step for step in records.before({key: records.newest.get(key, "")})}
            for one in (target, *(of.groups if of else [name.partition("/")[0]])):
                behind[one] |= steps
    rows = [
        {"target": target, "steps": len(steps), "minutes": sum(map(seconds, steps.values())) / 120}
        for target, steps in behind.items()
    ]
    columns = ["target", "steps", "minutes"]
    return pd.DataFrame(rows, columns=columns).sort_values("target", ignore_index=True)


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
    return re.sub(
        r"(\((?:docs/reference/)?(?:beside/\w+/)?tables/[a-z0-9_/]+)\.md\)", r"\1.csv)", text
    )


def machine() -> dict[str, str]:
    """What decides rounding, and with it a training near a transition: processor and libraries."""
    cpu = platform.processor() or platform.machine()
    if described := describe_processor():
        cpu = f"{described.get('model name', cpu)} (family {described.get('cpu family')}, model "
        cpu += f"{described.get('model')})"
    flags = described.get("flags", "").split()
    return {
        "cpu": cpu,
        "instructions": " ".join(f for f in ("avx2", "avx512f", "amx_tile") if f in flags),
        "cores": str(os.cpu_count()),
        "libraries": library_versions("pretrain_model"),
    }


def requote(reference: Path = REFERENCE, texts: Iterable[Path] = TEXTS) -> None:
    """Say again what follows from the tables of the reference run: its pages, and in `texts`.

    Raises:
        OnelayerError: a text quotes a finding that there is not.
    """
    tables = read_tables(sorted(reference.glob("tables/*/*.csv")))
    tables.pop(SCOREBOARD, None)
    board = tables[SCOREBOARD] = scoreboard(CLAIMS, tables)
    (reference / "tables" / SCOREBOARD).parent.mkdir(exist_ok=True)
    write_csv(board, reference / "tables" / f"{SCOREBOARD}.csv")
    said = sentences.all_said(BY_TITLE, tables)
    places = _places(reference, tables)
    runs = runs_beside(reference)
    with house_style():
        drawn = scoreboard_figure.scoreboard(board, verdicts_elsewhere(said, runs))
        save_png(drawn, reference / f"figures/{SCOREBOARD}.png")
        if len(models := trained.trained(reference)):
            (reference / trained.PICTURE).parent.mkdir(parents=True, exist_ok=True)
            save_png(trained_figure.small_models(models), reference / trained.PICTURE)
    every_claim = [f"# {TITLE}", "", markdown_table(readable(board, tables, "tables")), ""]
    every_claim += [*(f"- {note}" for note in notes(board)), ""]
    for name, text in (
        ("findings", findings_page(said, places, runs)),
        ("did_not_reproduce", did_not_reproduce(said, places)),
        ("predictions", predicted(said, places, runs)),
        ("claims", "\n".join(every_claim)),
        *([("trained", trained.page(models))] if len(models) else []),
    ):
        (reference / f"{name}.md").write_text(as_kept(text), encoding="utf-8")
    by_name = {one.finding.name: one for one in _each(said)}
    by_name |= said_beside(runs)
    renewed = {"score": score(board)}
    if len(models):
        renewed["sides"] = markdown_table(trained.sides(models).astype(str))
    if (reference / MINUTES).is_file():
        renewed["targets"] = targets(pd.read_csv(reference / MINUTES))
    for path in texts:
        text = with_blocks(path.read_text(encoding="utf-8"), renewed)
        text = sentences.requoted(text, by_name, short=path.name == README.name)
        path.write_text(text, encoding="utf-8")


def _places(kept: Path, tables: Collection[str], run: str = "") -> Places:
    """Where a kept run has its tables and figures, and what was predicted of its claims."""
    drawn = {f"{path.parent.name}/{path.stem}" for path in kept.glob("figures/*/*.png")}
    return Places(tables, figures_beside(tables, drawn), predictions(kept), run)


def runs_beside(reference: Path) -> Runs:
    """What the runs kept beside the reference run found, by run and paper, and where."""
    runs = {}
    for kept in sorted((reference / BESIDE).glob("*")):
        tables = read_tables(sorted(kept.glob("tables/*/*.csv")))
        places = _places(kept, tables, kept.name)
        runs[kept.name] = sentences.all_said(BY_TITLE, tables), places
    return runs


def said_beside(runs: Runs) -> dict[str, Said]:
    """What was found in `runs_beside`, as `run/finding`."""
    return {
        f"{run}/{one.finding.name}": one
        for run, (of_run, _) in runs.items()
        for one in _each(of_run)
    }


def _each(said: Mapping[str, Sequence[Said]]) -> Iterator[Said]:
    """What was found, of all papers one after the other."""
    return itertools.chain.from_iterable(said.values())


def score(board: pd.DataFrame) -> str:
    """Verdicts on the claims about the papers' own objects: how many, and one of each in words."""
    together = board[(board["quantity"] == HOLM) & (board["verdict"] == UNDECIDED)]
    judged = claims(board)
    on_papers_own = judged[sentences.apart_from_own(judged) == ""]
    text = [markdown_table(sentences.scores(on_papers_own)), ""]
    text += ["**What reproduced** of claims on the papers' own models and data, with an example:"]
    text += [""]
    for paper, claimed in on_papers_own.groupby("paper", sort=False):
        held, counts = claimed[claimed["verdict"] == REPRODUCED], claimed["verdict"].value_counts()
        open_ = [f"{counts[verdict]} {verdict}" for verdict in NO_DECISION if verdict in counts]
        if weak := held["finding"].isin(together["finding"]).sum():
            open_.append(f"{weak} of the {len(held)} undecided once corrected for all claims")
        without = f" ({', '.join(open_)})" if open_ else ""
        words = held.loc[held["finding"].isin(IN_WORDS), "claim"]
        said = "".join(f"; *{markdown(claim)}*" for claim in words)
        text.append(f"- *{paper}*: {len(held)} of {len(claimed)}{without}{said}")
    return "\n".join(text)


def predictions(reference: Path) -> dict[str, str]:
    """What was predicted of a kept run's claims before its first step, by claim."""
    kept = pd.read_csv(reference / PREDICTIONS, index_col="claim", keep_default_na=False)
    return kept.loc[kept["status"] == SEALED, "text"].to_dict()


def did_not_reproduce(said: Mapping[str, Sequence[Said]], places: Places) -> str:
    """A page: what is not as claimed, of the papers' own objects, of analogues, of what we ask."""
    text = ["# What did not reproduce", ""]
    against = those(said, lambda one: one.verdict not in (REPRODUCED, *NO_DECISION))
    for title, section in (
        ("The papers' own objects", sentences.NOT_AS_CLAIMED),
        ("Smaller or other models, other text", sentences.ANALOGUES),
        ("What no paper asks", sentences.QUESTIONS),
    ):
        chosen = those(against, lambda one, section=section: one.section == section)
        text += [f"## {title}", "", *by_paper(chosen, places)]
    return "\n".join([*text, "What is undecided or was not run: [findings](findings.md).", ""])


def elsewhere(said: Mapping[str, Sequence[Said]], runs: Runs) -> dict[str, dict[str, list[Said]]]:
    """What runs kept beside a run found of claims that it has not, by run and paper.

    Of a claim that the run did not reach, what others reached.
    """
    here = {one.finding.name: one.verdict for one in _each(said)}
    less = {NOT_RUN: (NOT_RUN,), NOT_REACHED: (NOT_RUN, NOT_REACHED)}

    def is_more(one: Said) -> bool:
        verdict = here.get(one.finding.name)
        return verdict in less and one.verdict not in less[verdict]

    return {run: those(of_run, is_more) for run, (of_run, _) in runs.items()}


def _but_elsewhere(
    said: Mapping[str, Sequence[Said]], found: Mapping[str, Mapping[str, Sequence[Said]]]
) -> dict[str, list[Said]]:
    """What a run found, but for claims that it did not run and `elsewhere` found."""
    moved = {one.finding.name for of_run in found.values() for one in _each(of_run)}
    return those(said, lambda one: one.verdict != NOT_RUN or one.finding.name not in moved)


def verdicts_elsewhere(said: Mapping[str, Sequence[Said]], runs: Runs) -> pd.DataFrame:
    """`elsewhere` as a row per run and claim: `run`, `paper`, `finding`, `verdict`."""
    rows = [
        (run, paper, one.finding.name, one.verdict)
        for run, of_run in elsewhere(said, runs).items()
        for paper, found in of_run.items()
        for one in found
    ]
    return pd.DataFrame(rows, columns=["run", "paper", "finding", "verdict"])


def _sections_beside(
    found: Mapping[str, Mapping[str, Sequence[Said]]],
    runs: Runs,
    counted: Callable[[Mapping[str, Sequence[Said]]], str],
    verdicts: bool,
) -> list[str]:
    """A section for every run with something of `elsewhere`, opened by what is counted of it."""
    text = []
    for run, of_run in found.items():
        if any(of_run.values()):
            text += [f"## Beside the reference run: {run.replace('_', ' ')}", ""]
            text += [f"What the reference run has not, or did not reach: {counted(of_run)}.", ""]
            text += by_paper(of_run, runs[run][1], verdicts=verdicts)
    return text


def findings_page(said: Mapping[str, Sequence[Said]], places: Places, runs: Runs) -> str:
    """The page of findings: those of the reference run, then of `runs` what it has not."""
    found = elsewhere(said, runs)
    text = sentences.page(_but_elsewhere(said, found), places)

    def counted(of_run: Mapping[str, Sequence[Said]]) -> str:
        came = Counter(one.verdict for one in _each(of_run))
        return ", ".join(f"{came[verdict]} {verdict}" for verdict in VERDICTS if came[verdict])

    return "\n".join([text, *_sections_beside(found, runs, counted, verdicts=True)])


def predicted(said: Mapping[str, Sequence[Said]], places: Places, runs: Runs) -> str:
    """A page: what was predicted before it was measured, beside what came.

    Of the runs kept beside the reference run, by name, there is what the reference run has not.
    """
    found = {run: _foreseen(of_run, runs[run][1]) for run, of_run in elsewhere(said, runs).items()}
    here = _but_elsewhere(_foreseen(said, places), found)
    text = []
    for outcome in sentences.OUTCOMES:
        papers = those(here, lambda one, outcome=outcome: sentences.came(one) == outcome)
        if any(papers.values()):
            text += [f"## {outcome.capitalize()}", "", *by_paper(papers, places, verdicts=False)]
    text += _sections_beside(found, runs, _outcomes, verdicts=False)
    opening = (
        "These expectations were written down, with what would refute them, before the first step "
        "of the run; [what earlier runs had shown by then](../notes.md#the-reference-run). Of the "
        f"reference run: {_outcomes(here)}. What came is said of the one row that decides a claim, "
        "and of a second where one was named; what a text expects besides is not judged. "
        "Predictions of single runs, many of them refuted, stand in the heads of their settings; "
        "[the notes](../notes.md) say what came of each."
    )
    return "\n".join(["# What was predicted, and what came", "", opening, "", *text])


def _foreseen(said: Mapping[str, Sequence[Said]], places: Places) -> dict[str, list[Said]]:
    """What was predicted, of what a run found."""
    return those(said, lambda one: one.finding.name in places.predictions)


def _outcomes(said: Mapping[str, Sequence[Said]]) -> str:
    """How often each came that may come of a prediction."""
    came = Counter(map(sentences.came, _each(said)))
    return ", ".join(f"{came[outcome]} {outcome}" for outcome in sentences.OUTCOMES)


_BLOCK = re.compile(r"<!-- block: ([a-z]+) -->.*?<!-- end of block -->", re.DOTALL)


def with_blocks(text: str, renewed: Mapping[str, str]) -> str:
    """A text with its blocks, `<!-- block: x -->` to `<!-- end of block -->`, as they are now.

    Raises:
        OnelayerError: it has a block of another name.
    """

    def block(match: re.Match) -> str:
        if match[1] not in renewed:
            raise OnelayerError(f"no block '{match[1]}', only {', '.join(renewed)}")
        return f"<!-- block: {match[1]} -->\n\n{renewed[match[1]]}\n\n<!-- end of block -->"

    return _BLOCK.sub(block, text)


def targets(taken: pd.DataFrame) -> str:
    """What each target shows, and the minutes that it took, as `minutes` counts them.

    A table for each paper, or part of one.
    """
    by_target = taken.set_index("target")["minutes"]

    def took(target: str) -> str:
        if target not in by_target:
            return "–"
        return f"{by_target[target]:.{0 if by_target[target] >= 10 else 1}f}"

    text = []
    for (group, title), shown in registry.targets().items():
        text += ["", f"### {title}" if group else "### Others", ""]
        text += ["| target | what it shows | minutes |", "|---|---|---|"]
        text += [f"| `{name}` | {markdown(line)} | {took(name)} |" for name, line in shown.items()]
        if group:
            everything = "all of the paper" if group in PAPERS else "all of these"
            text.append(f"| `{group}` | {everything} | {took(group)} |")
    return "\n".join(text[1:])


def main(results: Path, keep: bool = False, beside: bool = False) -> None:
    """Say again what follows from the reference run's tables; of `results`, if it is to be kept.

    Raises:
        OnelayerError: this is no checkout, which alone has docs; else as the functions above.
    """
    if not README.is_file():
        raise OnelayerError(f"{REFERENCE}: only a checkout has docs; run this in one")
    if keep:
        keep_run(results, REFERENCE)
    if beside:
        keep_beside(results, REFERENCE)
    requote()
