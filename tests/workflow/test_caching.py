"""What reruns after a change, and what does not: caching that can be trusted."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from onelayer.provenance import code_closure
from tests.conftest import ROOT, SMOKE, clean_environment, snakemake
from tests.workflow.conftest import executed, job_graph, plan, products
from tests.workflow.rooms import BEFORE_THRESHOLDS, NEEDS, TOGETHER

pytestmark = pytest.mark.workflow

STEPS = sorted(path.stem for path in (ROOT / "scripts").glob("*.py"))
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


@pytest.mark.parametrize(
    "module",
    [
        "corpus/mediawiki.py",
        "fetch.py",
        "figures.py",
        "papers/decision_lists/constants.py",
        "papers/decision_lists/tables.py",
        "papers/topic_structure/figures.py",
        "papers/topic_structure/wikipedia.py",
        "probe/embeddings.py",
        "probe/pairs.py",
        "seeds.py",
        "topics/ambiguity.py",
        "topics/quality.py",
    ],
)
def test_editing_a_module_reruns_exactly_the_steps_that_import_it(finished, module):
    used = {path.stem for path in (finished / "results/benchmarks").iterdir()}
    users = {step for step in used if f"src/onelayer/{module}" in code_closure(step)}
    edit(finished / "src/onelayer" / module)
    planned = plan(finished)
    assert users
    # A user below another user is planned for its updated inputs; no other step has a reason of
    # its own.
    assert users <= planned.rules
    assert planned.triggered <= users
    assert set(planned.reasons) <= {"updated input files", "input files updated by another job"}


@pytest.mark.parametrize("name", ["settings/root.py", "settings/schema.py"])
def test_editing_a_module_that_no_step_imports_reruns_nothing(finished, name):
    edit(finished / "src/onelayer" / name)
    assert plan(finished).rules == set()


def test_editing_a_script_reruns_that_step(finished):
    edit(finished / "scripts/tabulate_topics.py")
    planned = plan(finished)
    assert planned.triggered == {"tabulate_topics"}
    assert planned.rules == {"tabulate_topics", "write_manifest", "write_index", "all"}


def test_the_code_closure_holds_every_module_that_a_step_loads():
    """Loads each script as Python does, to check the closure that is read from the source."""
    loader = """
import json, runpy, sys
loaded = {}
for step in sys.argv[1:]:
    for name in [name for name in sys.modules if name.split(".")[0] == "onelayer"]:
        del sys.modules[name]
    runpy.run_path(f"scripts/{step}.py")
    files = {m.__file__ for n, m in sys.modules.items() if n.split(".")[0] == "onelayer"}
    loaded[step] = sorted(files)
print(json.dumps(loaded))
"""
    run = subprocess.run(
        [sys.executable, "-c", loader, *STEPS],
        cwd=ROOT,
        env=clean_environment(PYTHONPATH="src"),
        capture_output=True,
        text=True,
        check=True,
    )
    for step, files in json.loads(run.stdout).items():
        modules = {os.path.relpath(file, ROOT) for file in files}
        assert modules, step
        assert modules <= set(code_closure(step)), step


def test_swapping_the_numbers_of_two_lda_settings_refits(finished):
    swapped = overlay(finished, "topics: {lda: {topics: 2, passes: 8}}\n")
    planned = plan(finished, swapped)
    assert "fit_lda" in planned.triggered
    assert planned.triggered <= {"fit_lda", "measure_topics", "fit_topic_models"}


def test_swapping_the_numbers_of_two_probe_settings_probes_again(finished):
    swapped = overlay(finished, "probe: {attention: {documents: 64, max_tokens: 40}}\n")
    probes = {"probe_attention", "probe_topic_models", "measure_snapshots"}
    assert plan(finished, swapped).triggered == probes


def test_a_shown_size_trains_nothing_again(finished):
    runs = "decision_lists: {shown: [{L: 16, n: 4, m: 2}]}\n"
    planned = plan(finished, overlay(finished, runs))
    assert planned.triggered == {"solve_decision_lists"}
    assert {"plot_accuracy_over_time", "plot_attention_order"} <= planned.rules
    assert not {rule for rule in planned.rules if rule.startswith("train_")}


def test_changed_thresholds_refit_no_topics(finished):
    thresholds = "topics: {ambiguity: {thresholds: [{count: 20}, {count: 60}]}}\n"
    planned = plan(finished, overlay(finished, thresholds))
    assert "filter_ambiguous_words" in planned.triggered
    later = {"init_random_model", "tabulate_topics", "plot_topics"}
    assert not planned.rules & (BEFORE_THRESHOLDS | later)


def test_another_threshold_of_the_comparison_refits_no_topic_model(finished):
    threshold = "topic_structure: {robustness: {threshold: {count: 30, beside: null}}}\n"
    planned = plan(finished, overlay(finished, threshold))
    compared = {"tabulate_topic_model_robustness", "plot_topic_model_robustness"}
    assert planned.triggered == {"probe_topic_models"}
    assert planned.rules == planned.triggered | compared | {"write_manifest", "write_index", "all"}


def test_an_edited_caption_reruns_only_the_index(finished):
    edit(finished / "workflow/report/wikipedia_table.rst")
    planned = plan(finished)
    assert planned.triggered == {"write_index"}
    assert planned.rules == {"write_index", "all"}


def test_an_edited_figure_style_plots_again_and_computes_nothing(finished):
    edit(finished / "src/onelayer/figures.py")
    planned = plan(finished)
    plots = {step for step in STEPS if step.startswith(("plot_", "animate_"))}
    assert planned.triggered == plots
    assert planned.rules == plots | {"write_manifest", "write_index", "all"}


def test_other_published_numbers_measure_nothing_again(finished):
    path = finished / "workflow/reference/topic_structure_wikipedia.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("1.32", "1.33"), encoding="utf-8")
    triggered = plan(finished).triggered
    assert triggered == {"tabulate_wikipedia", "tabulate_wikipedia_claims", "plot_wikipedia_ratios"}


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


@pytest.fixture(scope="module")
def named(code):
    """What all named targets plan, papers included."""
    targets = [target for paper in NEEDS for target in NEEDS[paper]]
    return job_graph(code, *targets, *NEEDS, *TOGETHER)


@pytest.mark.parametrize(
    ("paper", "target"), [(paper, target) for paper in NEEDS for target in NEEDS[paper]]
)
def test_a_named_target_plans_just_what_it_needs(named, paper, target):
    jobs = named.below(target)
    assert set(jobs) == NEEDS[paper][target] | {target}
    if "fetch_corpus" in jobs:
        corpora = 2 if target == "table_corpora" else 1
        assert jobs["fetch_corpus"] == jobs["parse_articles"] == corpora
    assert jobs["tabulate_wikipedia"] <= 1


@pytest.mark.parametrize("paper", NEEDS)
def test_the_paper_target_plans_all_its_tables_and_figures(named, paper):
    assert set(named.below(paper)) == set().union(*NEEDS[paper].values()) | {paper}


@pytest.mark.parametrize("paper", TOGETHER)
def test_a_target_of_several_parts_plans_all_of_them(named, paper):
    steps = [NEEDS[part][target] for part in TOGETHER[paper] for target in NEEDS[part]]
    assert set(named.below(paper)) == set().union(*steps) | {paper}


def test_a_named_target_plans_in_a_run_what_it_plans_in_the_drawing(code, named):
    assert plan(code, "--", "table_wikipedia_disjoint").jobs == named.below(
        "table_wikipedia_disjoint"
    )


def test_the_path_of_a_table_plans_the_same_jobs_as_its_name(code):
    by_name = plan(code, "--", "table_wikipedia_disjoint").jobs
    del by_name["table_wikipedia_disjoint"]
    assert plan(code, "--", DISJOINT).jobs == by_name


def test_a_deleted_table_comes_back_within_seconds_from_one_rule(finished):
    before = products(finished)
    (finished / DISJOINT).unlink()
    start = time.monotonic()
    run = snakemake(finished, "--cores", "1", *SMOKE, "--", DISJOINT)
    seconds = time.monotonic() - start
    assert run.returncode == 0, run.stdout
    assert executed(run.stdout) == {"tabulate_wikipedia"}
    assert products(finished) == before
    assert seconds <= 15
    assert plan(finished).rules <= {"write_manifest", "write_index", "all"}


def test_an_edit_without_effect_reruns_its_steps_and_keeps_every_byte(finished):
    before = products(finished)
    untouched = (finished / "results/topics/vital-articles/lda.safetensors").stat().st_mtime_ns
    edit(finished / "src/onelayer/papers/topic_structure/topic_tables.py")
    run = snakemake(finished, "--cores", "2", *SMOKE)
    assert run.returncode == 0, run.stdout
    steps = {"tabulate_topics", "tabulate_topic_quality"}
    assert executed(run.stdout) == steps | {"write_manifest", "write_index", "all"}
    assert products(finished) == before
    after = (finished / "results/topics/vital-articles/lda.safetensors").stat().st_mtime_ns
    assert after == untouched
    assert plan(finished).rules == set()
