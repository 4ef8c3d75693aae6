"""The reference run: all that is said follows from its tables, in README and docs as well."""

import csv
import json
import re
import shutil
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from onelayer.errors import OnelayerError
from onelayer.evidence.declarations import read_declarations
from onelayer.evidence.findings import BEYOND, Remark
from onelayer.evidence.sentences import (
    HOLM,
    NOT_AS_CLAIMED,
    Places,
    Said,
    all_said,
    chosen,
    requoted,
)
from onelayer.evidence.tables import VALUE_COLUMNS, markdown, read_csv, read_tables, write_csv
from onelayer.evidence.verdicts import KINDS, NOT_REACHED, VERDICTS, judge
from onelayer.papers.findings import BY_TITLE, CLAIMS, FINDINGS, IN_WORDS, figures_beside
from onelayer.papers.findings import TABLES as TABLES_OF_CLAIMS
from onelayer.papers.topic_structure.wikipedia.value_circuit import EARLIER, FIRST_COMES
from onelayer.report.comparison import REFERENCE, main
from onelayer.report.crate.metadata import METADATA, Contents, describe
from onelayer.report.pictures import small_picture
from onelayer.report.reference import (
    README,
    SCOREBOARD,
    TEXTS,
    Runs,
    _places,
    as_kept,
    findings_page,
    keep_beside,
    keep_run,
    minutes,
    predicted,
    predictions,
    requote,
    runs_beside,
    said_beside,
    score,
    targets,
    verdicts_elsewhere,
    with_blocks,
)
from onelayer.run.provenance import REPOSITORY, file_sha256
from tests.oracle.judgement import share_of, verdicts_of
from tests.quoted import quotes

CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
BLOCK = re.compile(r"<!-- block: .*?<!-- end of block -->", re.DOTALL)
QUOTED = re.compile(r"<!-- finding: .*?<!-- end -->", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])\d*\.\d+(?![\w.]*\d)")
TABLES = sorted(REFERENCE.glob("tables/*/*.csv"))
# Over how many runs the published means are whose standard deviations count.
PUBLISHED_RUNS = {"scan_snap/entropy_sweep": 10, "scan_snap/claims": 10}
# What README says in one sentence of several claims.
IN_ONE_SENTENCE = ("attention_adam_003", "attention_adam_01", "attention_adam_03")
# The paper's own checkpoints, which a hub has.
CHECKPOINTS = ("bert", "albert", "bart", "electra", "roberta")


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return read_tables(TABLES)


@pytest.fixture(scope="module")
def said(tables) -> dict[str, Said]:
    return {one.finding.name: one for own in all_said(BY_TITLE, tables).values() for one in own}


@pytest.fixture(scope="module")
def runs() -> Runs:
    return runs_beside(REFERENCE)


@pytest.fixture(scope="module")
def beside(runs) -> dict[str, Said]:
    return said_beside(runs)


@pytest.fixture(scope="module")
def findings() -> dict[str, str]:
    return dict(quotes((REFERENCE / "findings.md").read_text("utf-8")))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_whoever_has_a_table_can_judge_it_again(path):
    table = read_csv(path)
    table = table[table["quantity"] != HOLM]
    runs = PUBLISHED_RUNS.get(f"{path.parent.name}/{path.stem}", 0)
    keys = [column for column in table if column not in VALUE_COLUMNS]
    otherwise = [
        (*(row[key] for key in (*keys, "quantity")), row["verdict"], allowed)
        for row in table.to_dict("records")
        if row["verdict"] not in (allowed := verdicts_of(row, runs))
    ]
    assert otherwise == []


@pytest.mark.parametrize("path", TABLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_tables_effects_follow_from_its_numbers(path):
    table = read_csv(path)
    assert set(table["kind"]) <= {*KINDS, ""} and set(table["verdict"]) <= {*VERDICTS, ""}
    known = table[table["effect_share"].notna()]
    for row in known.to_dict("records"):
        assert row["effect_share"] == pytest.approx(share_of(row), rel=1e-4, abs=1e-4)
        if row["effect_low"] == row["effect_low"]:
            assert row["effect_low"] <= row["effect_high"]
    # A direction has no published number; what has one is compared with that.
    assert table.loc[table["kind"] == "claim", "published"].isna().all()


def test_the_findings_are_those_of_the_tables(tables, runs):
    drawn = [f"{path.parent.name}/{path.stem}" for path in REFERENCE.glob("figures/*/*.png")]
    places = Places(tables, figures_beside(tables, drawn), predictions(REFERENCE))
    text = findings_page(all_said(BY_TITLE, tables), places, runs)
    assert as_kept(text) == (REFERENCE / "findings.md").read_text("utf-8")


def test_every_claim_stands_in_the_findings_and_on_the_scoreboard(findings, tables, beside):
    # Every claim but what is beyond the papers and was never run; and of the remarks those on rows
    # that a run with other settings adds, beside it.
    named = {name.rpartition("/")[2] for name in findings}
    missing = [one for own in BY_TITLE.values() for one in own if one.name not in named]
    found = {name.partition("/")[2] for name in beside}
    remarks = [one.name for one in missing if isinstance(one, Remark)]
    assert set(remarks) <= found
    named = [finding.name for own in CLAIMS.values() for finding in own]
    board = tables[SCOREBOARD]
    board = board[board["quantity"] != HOLM].set_index("finding")
    assert board.index.tolist() == named
    never_run = board.loc[[one.name for one in missing if one.name not in remarks]]
    assert set(never_run["verdict"]) <= {"not run"} and set(never_run["place"]) <= {BEYOND}
    for finding in (one for own in CLAIMS.values() for one in own):
        table = tables.get(finding.table)
        rows = [] if table is None else chosen(table, finding.primary).to_dict("records")
        if not rows:  # left out by the settings, as what several_articles.yaml adds
            assert board.loc[finding.name, "verdict"] == "not run", finding.name
            continue
        [row] = rows
        assert row["kind"] == finding.kind, finding.name
        assert row["verdict"] or board.loc[finding.name, "verdict"] == "not reached", finding.name


def test_a_claim_that_only_a_run_beside_it_has_stands_there_with_that_runs_verdict(tables, runs):
    """Which run has which, found by looking for every claim's row in every table."""

    def verdicts(of_run: dict[str, pd.DataFrame]) -> dict[str, str]:
        return {
            one.name: "".join(chosen(of_run[one.table], one.primary)["verdict"])
            for one in (finding for own in CLAIMS.values() for finding in own)
            if one.table in of_run
        }

    here, none = verdicts(tables), ("", "not run")
    unreached = {name for name, verdict in here.items() if verdict == "not reached"}
    expected = {
        (run.name, name, verdict)
        for run in (REFERENCE / "beside").glob("*")
        for name, verdict in verdicts(read_tables(sorted(run.glob("tables/*/*.csv")))).items()
        if (here.get(name, "") in none and verdict not in none)
        or (name in unreached and verdict not in (*none, "not reached"))
    }
    said = all_said(BY_TITLE, tables)
    found = verdicts_elsewhere(said, runs)
    assert {*found[["run", "finding", "verdict"]].itertuples(index=False, name=None)} == expected
    assert {run for run, _, _ in expected} >= {"other_seeds", "several_articles", "at_512"}
    own, *others = findings_page(said, _places(REFERENCE, tables), runs).split("\n## Beside the")
    names = {f"{run}/{name}" for run, name, _ in expected}
    assert {name for text in others for name, _ in quotes(text)} == names
    moved = {name for _, name, _ in expected} - unreached
    assert not {name for name, _ in quotes(own)} & moved and moved
    assert unreached <= {name for name, _ in quotes(own)}


def test_to_say_it_again_changes_nothing(tmp_path):
    reference, readme = tmp_path / "reference", tmp_path / "README.md"
    shutil.copytree(REFERENCE, reference)
    shutil.copyfile(README, readme)
    requote(reference, [readme])
    assert readme.read_text("utf-8") == README.read_text("utf-8")
    changed = [
        str(path.relative_to(reference))
        for path in sorted(reference.rglob("*"))
        if path.is_file()
        and path.read_bytes() != (REFERENCE / path.relative_to(reference)).read_bytes()
    ]
    assert changed == []


def test_the_readme_opens_with_the_picture_and_the_score(tables):
    text = README.read_text("utf-8")
    counted = score(tables[SCOREBOARD])
    block = f"<!-- block: score -->\n\n{counted}\n\n<!-- end of block -->"
    places = ["scoreboard.png", block, "**What did not reproduce**", "## Run it"]
    assert [text.index(place) for place in places] == sorted(map(text.index, places))
    assert len(text.splitlines()) <= 90


def test_the_readme_has_five_sentences_of_results_each_with_one_number_of_ours():
    quoted = quotes(README.read_text("utf-8"))
    assert len(quoted) <= 5
    for name, sentence in quoted:
        assert len(re.findall(r"\[[^]]*\]", sentence)) <= 1
        assert name not in ("attention_adam", "attention_minilm") or "(published" in sentence


def test_what_reproduced_is_counted_by_paper_of_its_own_objects():
    kinds = ["claim", "published", "claim", "analogue", "claim", "claim"]
    names = [IN_WORDS[0], "other", IN_WORDS[1], IN_WORDS[2], "a", "b"]
    judged = pd.DataFrame({"paper": list("ABBBBB"), "kind": kinds, "verdict": "reproduced"})
    judged["finding"], judged["claim"] = names, [f"said {place}" for place in range(len(names))]
    judged.loc[[2, 4, 5], "verdict"] = ["opposite", "not run", "not reached"]
    judged["place"], judged["quantity"] = ["Fig. 1"] * 5 + [BEYOND], "value"
    weak = judged[1:2].assign(quantity=HOLM, verdict="undecided")
    judged = pd.concat([judged, weak])
    assert score(judged).splitlines()[-2:] == [
        "- *A*: 1 of 1; *said 0*",
        "- *B*: 1 of 3 (1 not run, 1 of the 1 undecided once corrected for all claims)",
    ]


def test_the_readme_names_a_claim_of_every_paper_that_reproduced(said):
    block = BLOCK.search(README.read_text("utf-8"))[0]
    for findings in CLAIMS.values():
        [told] = [finding for finding in findings if finding.name in IN_WORDS]
        assert said[told.name].verdict == "reproduced" and told.kind != "analogue"
        assert f"; *{markdown(told.claim)}*" in block


def test_the_readme_names_the_verdict_of_what_did_not_reproduce(said):
    bullet = r"^- \*([^*]+)\*, ([a-z ]+?)(?: \([^)]*\))?\. <!-- finding: (\w+)"
    text = README.read_text("utf-8")
    told = re.findall(bullet, text, re.MULTILINE)
    assert len(told) == len(re.findall(r"^- .*<!-- finding: ", text, re.MULTILINE)) > 1
    assert {paper for paper, *_ in told} == {"Topic structure"} and "all of it is of one" in text
    for paper, verdict, name in told:
        assert name in {finding.name for finding in BY_TITLE[paper]}
        named = IN_ONE_SENTENCE if name == "attention_adam" else [name]
        assert {said[one].verdict for one in named} == {verdict}
    assert "At two rates of SGD it had not moved by then: *not reached*." in text
    unmoved = ("attention_sgd_01", "attention_sgd_03")
    assert {said[name].verdict for name in unmoved} == {"not reached"}


def test_the_readme_tells_all_that_did_not_reproduce_of_the_papers_own_objects(said):
    against = {name for name, one in said.items() if one.section == NOT_AS_CLAIMED}
    told = {name for name, _ in quotes(README.read_text("utf-8"))}
    assert against - told == set(IN_ONE_SENTENCE) and "attention_adam" in told
    assert {said[name].verdict for name in IN_ONE_SENTENCE} == {"larger"}
    kept = (REFERENCE / "did_not_reproduce.md").read_text("utf-8")
    assert against <= {name for name, _ in quotes(kept)}
    assert not [name for name, _ in quotes(kept) if said[name].verdict == "reproduced"]


def test_the_readme_says_that_no_checkpoint_of_the_paper_has_run(tables):
    for overlap in ("disjoint", "overlapping"):
        table = tables[f"topic_structure/wikipedia_{overlap}"]
        own = table[table["model"].isin(CHECKPOINTS) & (table["verdict"] != "")]
        assert set(own["model"]) == set(CHECKPOINTS)
        assert set(own["verdict"]) == {"not run"}
    said = " ".join(README.read_text("utf-8").split())
    assert "five pretrained models that the topic-structure paper probes have not run" in said


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.name)
def test_what_is_quoted_is_what_was_found(text, said, beside):
    kept = text.read_text("utf-8")
    assert requoted(kept, said | beside, short=text == README) == kept


def test_the_readme_has_no_other_number_that_could_be_measured():
    text = QUOTED.sub("", BLOCK.sub("", CODE.sub("", README.read_text("utf-8"))))
    text = re.sub(r"\[arXiv [\d.]+\]\([^)]*\)", "", text)
    assert set(NUMBER.findall(text)) <= {
        "3.11",
        "3.5",
        "4.0",
        "3.0",
        "2.0",
    }  # versions, disk, CC BY


def test_the_machine_is_known():
    machine = json.loads((REFERENCE / "machine.json").read_text("utf-8"))
    assert all(machine[name] for name in ("cpu", "cores", "libraries", "commit"))
    assert not machine["commit"].endswith("+")


def test_the_reference_run_agrees_with_itself():
    text = main(REFERENCE)
    assert "Verdicts that changed: 0" in text
    assert "From or to undecided, not reached or not run: 0" in text


def test_quotes_are_renewed_and_unknown_ones_are_named():
    text = "a <!-- finding: one -->old\nold<!-- end --> b"
    said = {"one": Said(None, "", "", "new")}
    renewed = "a <!-- finding: one -->new<!-- end --> b"
    assert requoted(text, said) == renewed
    said = {"one": Said(None, "", "", "new; and more", "new")}
    assert requoted(text, said, short=True) == renewed != requoted(text, said)
    with pytest.raises(OnelayerError, match="no finding 'one'"):
        requoted(text, {})


def test_blocks_are_renewed_and_unknown_ones_are_named():
    text = "a\n<!-- block: one -->old\n<!-- finding: x -->y<!-- end -->\n<!-- end of block -->\nb"
    renewed = "a\n<!-- block: one -->\n\nnew\n\n<!-- end of block -->\nb"
    assert with_blocks(text, {"one": "new"}) == renewed
    assert with_blocks(renewed, {"one": "new"}) == renewed
    with pytest.raises(OnelayerError, match="no block 'one', only two"):
        with_blocks(text, {"two": "new"})


def test_an_unfinished_run_is_not_kept(tmp_path):
    reference = tmp_path / "reference"
    reference.mkdir()
    with pytest.raises(OnelayerError, match=r"ro-crate-metadata\.json does not exist"):
        keep_run(tmp_path / "results", reference)
    assert reference.is_dir()


def test_a_finished_run_takes_the_place_of_the_one_before(tmp_path, monkeypatch):
    results, reference = tmp_path / "results", tmp_path / "reference"
    for name in ("findings.md", "tables/paper/one.csv"):
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text("x")
    (results / METADATA).write_bytes(describe(Contents(results, {}, [], "c", {})))
    (reference / "tables/paper").mkdir(parents=True)
    (reference / "tables/paper/old.csv").touch()
    monkeypatch.chdir(tmp_path)
    table = "results/tables/paper/one.csv"
    with pytest.raises(OnelayerError, match=f"^{table}: no step recorded"):
        keep_run(results, reference)
    write_record(results, "tabulate", 1, [], [table])
    write_record(results, "tabulate", 1, [], [table], file_sha256(results.parent / table))
    keep_run(results, reference)
    kept = {str(p.relative_to(reference)) for p in reference.rglob("*") if p.is_file()}
    assert kept == {"machine.json", "minutes.csv", "predictions.csv", "tables/paper/one.csv"}


def test_a_run_of_some_targets_is_kept_beside_and_quoted_by_its_folder(tmp_path, monkeypatch):
    results, reference = tmp_path / "runs/longer/results", tmp_path / "reference"
    table = next(path for path in TABLES if path.stem == "wikipedia_disjoint")
    own = read_csv(table).query("model == 'minilm'").assign(reference=1.0, value=2.5)
    path = "results/tables/topic_structure/wikipedia_disjoint.csv"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OnelayerError, match="no such folder of results"):
        keep_beside(results, reference)
    write_record(results, "tabulate", 1, [], [path])
    write_csv(own, results.parent / path)
    with pytest.raises(OnelayerError, match=f"^{path}: not what tabulate wrote"):
        keep_beside(results, reference)
    assert not reference.exists()
    written = file_sha256(results.parent / path)
    write_record(results, "tabulate", 1, [], [path], written, device="cuda")
    write_csv(own, results.parent / path)
    keep_beside(results, reference)
    machine = json.loads((reference / "beside/longer/machine.json").read_text("utf-8"))
    assert machine["started"] == "2026-01-01T00:00:00"
    assert machine["steps_of_other_code"] == machine["steps_on_a_gpu"] == "tabulate"
    # What was predicted of claims that its tables decide, and of no others.
    kept = pd.read_csv(reference / "beside/longer/predictions.csv")
    assert list(kept) == ["claim", "text", "commit", "written", "status"]
    assert {TABLES_OF_CLAIMS[claim] for claim in kept["claim"]} <= {
        "topic_structure/wikipedia_disjoint"
    }
    beside = said_beside(runs_beside(reference))
    assert "2.500 [" in beside["longer/attention_minilm"].sentence
    renewed = requoted("<!-- finding: longer/attention_minilm -->old<!-- end -->", beside)
    assert quotes(renewed) == [
        ("longer/attention_minilm", beside["longer/attention_minilm"].sentence)
    ]


@pytest.mark.parametrize("whole", [True, False])
def test_a_run_of_a_table_that_was_made_of_an_edited_file_is_not_kept(tmp_path, monkeypatch, whole):
    """The file is as its step wrote it again, and so is the table."""
    results, reference = tmp_path / "runs/mine/results", tmp_path / "reference"
    table, data = "results/tables/paper/one.csv", "results/data.csv"
    monkeypatch.chdir(tmp_path)
    for step, read, made in (("fit", [], data), ("tabulate", [data], table)):
        write_record(results, step, 1, read, [made])
        write_record(results, step, 1, read, [made], file_sha256(results.parent / made))
    if whole:  # the crate does not name the table
        (results / METADATA).write_bytes(describe(Contents(results, {}, [], "c", {})))
    with pytest.raises(OnelayerError, match=f"^{data}: not what fit wrote: .*, tabulate read sum"):
        (keep_run if whole else keep_beside)(results, reference)
    assert not reference.exists()


def test_what_only_a_run_beside_has_stands_on_the_page_of_predictions():
    def said(name: str, verdict: str) -> Said:
        finding = next(one for own in CLAIMS.values() for one in own if one.name == name)
        return Said(finding, verdict, "analogue", f"{name} {verdict}")

    texts = {
        "bags_of_articles": "above 0",
        "drawn_topics": "above its null",
        "theorem_1": "below 1",
    }
    here = {
        "A": [
            said("bags_of_articles", "not run"),
            said("drawn_topics", "not run"),
            said("theorem_1", "reproduced"),
        ]
    }
    other = {
        "A": [
            said("bags_of_articles", "opposite"),
            said("drawn_topics", "not run"),
            said("theorem_1", "opposite"),
        ]
    }
    where = Places(["topic_structure/topics_per_input"], {}, texts, "other")
    text = predicted(here, Places([], {}, texts), {"other": (other, where)})
    own, beside = text.split("## Beside the reference run: other")
    # The run itself: one that came, one that nobody ran.
    assert "Of the reference run: 1 as predicted, 0 partly as predicted, 0 not" in own
    assert "theorem_1 reproduced" in own and "drawn_topics not run" in own
    assert "bags_of_articles" not in own
    # Beside it what it has not, and no more, by the other's name and place.
    assert "0 as predicted, 0 partly as predicted, 1 not as predicted, 0 not decided." in beside
    assert quotes(beside) == [("other/bags_of_articles", "bags_of_articles opposite")]
    assert "(beside/other/tables/topic_structure/topics_per_input.csv)" in as_kept(beside)


def test_a_picture_is_kept_small(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (150, 500, 3), dtype=np.uint8)
    noise[:75] = 255
    Image.fromarray(noise).save(tmp_path / "figure.png")
    (tmp_path / "kept.png").write_bytes(small_picture(tmp_path / "figure.png", (250, 100), 48))
    with Image.open(tmp_path / "kept.png") as kept:
        assert kept.size == (250, 75)
        assert len(kept.getcolors()) <= 48
        assert kept.convert("RGB").getpixel((125, 12)) == (255, 255, 255)
    Image.new("RGB", (40, 20), "red").save(tmp_path / "small.png")
    (tmp_path / "kept.png").write_bytes(small_picture(tmp_path / "small.png", (1000, 400), 48))
    with Image.open(tmp_path / "kept.png") as kept:
        assert kept.size == (40, 20) and kept.convert("RGB").getpixel((5, 5)) == (255, 0, 0)


def write_record(results, step, seconds, inputs, outputs, sha256="sum", device="cpu"):
    """A record of a step that took so long, and what it made."""
    for name in outputs:
        (results.parent / name).parent.mkdir(parents=True, exist_ok=True)
        (results.parent / name).write_text(name)
    started = datetime(2026, 1, 1)
    record = {
        "step": step, "settings": {}, "code": "", "libraries": {}, "device": device,
        "started": started.isoformat(), "ended": (started + timedelta(seconds=seconds)).isoformat(),
        "inputs": dict.fromkeys(inputs, "sum"), "outputs": dict.fromkeys(outputs, sha256),
    }  # fmt: skip
    (results / "records").mkdir(parents=True, exist_ok=True)
    (results / "records" / f"{step}.json").write_text(json.dumps(record))


def test_minutes_of_a_target_are_of_all_that_it_needs_once(tmp_path):
    results = tmp_path / "results"
    tables = [f"results/tables/scan_snap/{name}.csv" for name in ("claims", "rest")]
    write_record(results, "fetch", 60, [], ["results/a"])
    write_record(results, "first", 120, ["results/a"], ["results/b"])
    write_record(results, "claims", 240, ["results/a", "results/b"], tables[:1])
    write_record(results, "rest", 12, ["results/a"], tables[1:])
    found = minutes(results).set_index("target")
    assert found["steps"].to_dict() == {
        "scan_snap": 4, "table_rest": 2, "table_scan_snap_claims": 3,
    }  # fmt: skip
    assert found["minutes"].tolist() == pytest.approx([432 / 120, 72 / 120, 420 / 120])
    listed = targets(found.reset_index()).splitlines()
    (rest,) = (line for line in listed if line.startswith("| `table_rest` |"))
    assert rest.endswith(" | 0.6 |") and "| `scan_snap` | all of the paper | 3.6 |" in listed
    (older,) = (line for line in listed if line.startswith("| `table_trap` |"))
    assert older.endswith(" | – |")


def test_every_finding_leads_to_a_figure_that_shows_it():
    declared = [d.name for d in read_declarations() if d.kind == "figure"]
    findings = [finding for own in FINDINGS.values() for finding in own]
    places = figures_beside({finding.table for finding in findings}, declared)
    assert set(places.values()) <= set(declared)
    assert places["topic_structure/wikipedia_disjoint"] == "topic_structure/wikipedia_ratios"
    assert places["local_to_global/trap"] == "local_to_global/trap"
    assert places["theorem_1"] == "decision_lists/time_to_perfect"
    bare = {one.name for one in findings if not {one.name, one.table} & set(places)}
    assert len(bare) < len(findings) / 5, bare
    # What is not drawn is not shown, and an entry is of a finding.
    assert figures_beside(["local_to_global/trap", "local_to_global/claims"], ["a/b"]) == {}
    assert set(places) <= {one.name for one in findings} | {one.table for one in findings}


def test_links_of_what_is_kept_lead_to_the_tables_that_are_kept():
    assert as_kept("(tables/a/b.md) (notes.md)") == "(tables/a/b.csv) (notes.md)"


@pytest.mark.parametrize(
    "table", sorted((REPOSITORY / "workflow/reference").glob("*.csv")), ids=lambda path: path.stem
)
def test_published_numbers_name_the_paper_and_where_in_it(table):
    with table.open(newline="", encoding="utf-8") as file:
        sources = {row["source"] for row in csv.DictReader(file)}
    for source in sources:
        assert re.search(r"\(\d{4}\), arXiv \d{4}\.\d{5}, .*([Ff]igure|[Tt]able|: '.+')", source), (
            source
        )
        assert not re.search(r"\.(txt|md|pdf|csv)\b", source), source


def test_kept_orders_of_values_and_attention_are_judged_as_they_are_now():
    """Runs that were kept before a doubling was called negligible are judged like later ones."""
    judged = 0
    for path in sorted(REFERENCE.glob("**/topic_structure/value_circuit.csv")):
        rows = read_csv(path)
        rows = rows[(rows["quantity"] == EARLIER) & (rows["seed"] == "all")]
        rows = rows[rows["low"].notna() & (rows["verdict"] != NOT_REACHED)]
        again = judge(rows.assign(verdict=""), FIRST_COMES)["verdict"]
        assert again.tolist() == rows["verdict"].tolist(), path
        judged += len(rows)
    assert judged > 10
