"""What reruns after a change, and what does not: caching that can be trusted."""

import shutil
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from onelayer.evidence.declarations import read_declarations
from onelayer.report.registry import FOLDERS
from onelayer.run.portable import assignments
from onelayer.run.provenance import code_closure
from tests.conftest import SMOKE, cpu_seconds, snakemake
from tests.processes import start, wait_for_step
from tests.workflow.conftest import CAPTIONS, DOWNSTREAM, executed, plan, products

pytestmark = pytest.mark.workflow

CODE = "params have changed since last execution"
LAST = {"write_crate", "write_index", "write_findings", "all"}
TOPICS = "results/topics/vital-articles/lda.safetensors"
DISJOINT = "results/tables/topic_structure/wikipedia_disjoint.md"


def edit(path: Path) -> None:
    """Change a file's content and nothing that it does."""
    with path.open("a", encoding="utf-8") as file:
        file.write("# an edit\n" if path.suffix == ".py" else "\nAn edit.\n")


def overlay(project: Path, text: str) -> str:
    """Write one more configuration overlay; returns its name."""
    (project / "overlay.yaml").write_text(text, encoding="utf-8")
    return "overlay.yaml"


def test_touching_every_module_and_script_reruns_nothing(finished):
    for folder in ("src", "scripts"):
        for path in (finished / folder).rglob("*.py"):
            path.touch()
    assert plan(finished).rules == set()


def test_a_portable_run_makes_every_step_again_but_those_that_are_other_machines(finished):
    planned = plan(finished, "--config", "portable=true")
    used = {path.stem for path in (finished / "results/benchmarks").iterdir()}
    assert planned.rules >= used - {"measure_claims_again"}
    shell = snakemake(
        finished, "--dry-run", "--printshellcmds", *SMOKE, "--config", "portable=true"
    )
    commands = [line for line in shell.stdout.splitlines() if " --settings " in line]
    assert len(commands) >= len(used) - 1
    for command in commands:
        start = command.strip().removeprefix("Shell command: ")
        assert (start.startswith(assignments()) and " --portable " in start) != (
            "scripts/measure_claims_again.py" in start
        ), start


@pytest.mark.parametrize(
    "module",
    [
        "text/corpus/mediawiki.py",
        "fetching/fetch.py",
        "papers/decision_lists/constants.py",
        "papers/topic_structure/wikipedia/probe/embeddings.py",
        "compute/seeds.py",
        "text/topics/quality.py",
    ],
)
def test_editing_a_module_reruns_exactly_the_steps_that_import_it(finished, module):
    used = {path.stem for path in (finished / "results/benchmarks").iterdir()}
    steps = {rule: rule for rule in used} | {d.rule: d.step for d in read_declarations()}
    users = {rule for rule in used if f"src/onelayer/{module}" in code_closure(steps[rule])}
    edit(finished / "src/onelayer" / module)
    planned = plan(finished)
    assert users
    # A user below another user is planned for its updated inputs; no other step has a reason of
    # its own.
    assert users <= planned.rules
    assert planned.triggered <= users
    assert set(planned.reasons) <= {CODE, DOWNSTREAM}


def test_editing_what_no_number_depends_on_reruns_nothing(finished):
    for name in ("settings/root.py", "run/allocation.py", "papers/scan_snap/__init__.py"):
        edit(finished / "src/onelayer" / name)
    assert plan(finished).rules == set()


def test_editing_a_script_reruns_that_step(finished):
    edit(finished / "scripts/animate_landscape.py")
    planned = plan(finished)
    assert planned.triggered == {"animate_landscape"}
    assert planned.rules == {"animate_landscape", *LAST} - {"write_findings", "tabulate_scoreboard"}


def test_a_script_edited_while_its_step_runs_is_run_again(finished):
    (finished / TOPICS).unlink()
    run = start(finished, TOPICS, "--cores", "1", *SMOKE)
    wait_for_step(finished, run, {"fit_lda"})
    edit(finished / "scripts/fit_lda.py")
    assert run.wait(timeout=60) == 0
    planned = plan(finished, "--", TOPICS)
    assert planned.reasons == {CODE: {"fit_lda"}}


def test_swapping_the_numbers_of_two_lda_settings_refits(finished):
    swapped = overlay(finished, "topics: {lda: {topics: 10, offset: 8}}\n")
    planned = plan(finished, swapped)
    assert "fit_lda" in planned.triggered
    held_out = {"measure_held_out_topics", "table_topic_settings"}
    drawn = {"mix_articles"}  # words drawn from the topics
    assert planned.triggered <= {"fit_lda", "measure_topics", "fit_topic_models", *held_out, *drawn}


def test_swapping_the_numbers_of_two_probe_settings_probes_again(finished):
    swapped = overlay(finished, "probe: {attention: {documents: 64, max_tokens: 40}}\n")
    probes = {"probe_attention", "probe_topic_models", "measure_snapshots", "calibrate_probe"}
    probes |= {"probe_choices", "measure_inputs"}
    probes |= {"measure_claims_again"}  # of models pretrained again
    assert plan(finished, swapped).triggered == probes


def test_a_shown_size_trains_nothing_again(finished):
    runs = "decision_lists: {shown: [{L: 16, n: 4, m: 2}]}\n"
    planned = plan(finished, overlay(finished, runs))
    assert planned.triggered == {"solve_decision_lists"}
    assert {"figure_accuracy_over_time", "figure_attention_order"} <= planned.rules
    assert not {rule for rule in planned.rules if rule.startswith("train_")}


def test_changed_thresholds_refit_no_topics_and_no_models(finished):
    thresholds = "topics: {ambiguity: {thresholds: [{count: 20}, {count: 60}]}}\n"
    planned = plan(finished, overlay(finished, thresholds))
    assert "filter_ambiguous_words" in planned.triggered
    topics = {"parse_articles", "count_words", "fit_lda", "measure_topics", "table_topics"}
    models = {"encode_articles", "pretrain_model", "init_random_model"}
    assert not planned.rules & {*topics, *models, "fit_topic_models", "probe_topic_models"}


def test_another_threshold_of_the_comparison_refits_no_topic_model(finished):
    threshold = "topic_structure: {robustness: {threshold: {count: 30, beside: null}}}\n"
    planned = plan(finished, overlay(finished, threshold))
    compared = {"table_topic_model_robustness", "figure_topic_model_robustness"}
    assert planned.triggered == {"probe_topic_models"}
    assert planned.rules == planned.triggered | compared | LAST


def test_free_texts_may_hold_what_stands_for_wildcards(finished):
    credit = "{corpus} of {input}, {x"
    overlaid = overlay(finished, f"corpora: {{vital-articles: {{credit: '{credit}'}}}}\n")
    assert plan(finished, overlaid).triggered == {"table_corpora"}
    run = snakemake(finished, "--cores", "1", *SMOKE, overlaid, "--", "table_corpora")
    assert run.returncode == 0, run.stdout
    table = pd.read_csv(finished / "results/tables/topic_structure/corpora.csv")
    assert set(table.loc[table["corpus"] == "vital-articles", "note"]) == {credit}


def test_an_edited_caption_reruns_only_the_index(finished):
    edit(finished / "workflow/report/table_wikipedia.rst")
    planned = plan(finished)
    assert planned.triggered == {"write_index"}
    assert planned.rules == {"write_index", "all"}


def test_an_edited_figure_style_plots_again_and_computes_nothing(finished, smoke):
    edit(finished / "src/onelayer/evidence/figures.py")
    planned = plan(finished)
    plots = {job.rule for job in smoke.steps if job.rule.startswith(("figure_", "animate_"))}
    assert planned.triggered - {"..."} <= plots  # Snakemake names no more than fifty
    assert planned.rules == plots | LAST - {"write_findings"}  # which need tables alone


def test_other_published_numbers_measure_nothing_again(finished):
    path = finished / "workflow/reference/topic_structure_wikipedia.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("1.32", "1.33"), encoding="utf-8")
    triggered = plan(finished).triggered
    judged = {"table_wikipedia", "table_wikipedia_claims", "table_calibration"}
    judged.add("table_probe_choices")
    assert triggered == {*judged, "figure_wikipedia_ratios"}


def test_a_new_checkout_beside_kept_results_reruns_nothing(smoke_run, tmp_path):
    kept, checkout = ("results", ".snakemake"), tmp_path / "checkout"
    shutil.copytree(
        smoke_run,
        checkout,
        symlinks=True,
        ignore=shutil.ignore_patterns(*kept),
        copy_function=shutil.copyfile,  # not the times of the files
    )
    for folder in kept:
        shutil.copytree(smoke_run / folder, checkout / folder)
    assert plan(checkout).rules == set()


@pytest.mark.parametrize("caption", CAPTIONS)
def test_a_named_target_plans_just_the_jobs_that_led_to_its_files(smoke, crate, caption):
    named = {declaration.rule: declaration.step for declaration in read_declarations()}
    for result in (result for result in smoke.results if result.caption == caption):
        rules = smoke.count(smoke.below(result.target))
        planned = Counter({named.get(rule, rule): jobs for rule, jobs in rules.items()})
        for path in result.files:
            steps = crate.records.before({path: crate.results[path]})
            assert planned == Counter(step["step"] for step in steps), path


def test_a_paper_and_each_part_of_it_plan_all_their_tables_and_figures(smoke):
    assert set(FOLDERS) < set(smoke.groups)
    for group, results in smoke.groups.items():
        targets = (smoke.below(result.target) for result in results)
        assert smoke.below(group) == set().union(*targets), group


def test_the_path_of_a_table_plans_the_same_jobs_as_its_name(code, smoke):
    planned = plan(code, "--", DISJOINT).jobs
    assert planned == smoke.count(smoke.below("table_wikipedia_disjoint"))


def test_a_deleted_table_comes_back_within_seconds_from_one_rule(finished):
    before = products(finished)
    (finished / DISJOINT).unlink()
    start = cpu_seconds()
    run = snakemake(finished, "--cores", "1", *SMOKE, "--", DISJOINT, anew=True)
    seconds = cpu_seconds() - start
    assert run.returncode == 0, run.stdout
    assert executed(run.stdout) == {"table_wikipedia"}
    assert products(finished) == before
    assert seconds <= 15
    assert plan(finished).rules <= LAST


def test_an_edit_without_effect_reruns_its_steps_and_keeps_every_byte(finished):
    before = products(finished)
    untouched = (finished / TOPICS).stat().st_mtime_ns
    edit(finished / "src/onelayer/papers/topic_structure/wikipedia/topic_tables.py")
    run = snakemake(finished, "--cores", "2", *SMOKE)
    assert run.returncode == 0, run.stdout
    steps = {"table_corpora", "table_topics", "table_topic_quality", "table_topic_settings"}
    assert executed(run.stdout) == steps | LAST
    assert products(finished) == before
    after = (finished / TOPICS).stat().st_mtime_ns
    assert after == untouched
    assert plan(finished).rules == set()
