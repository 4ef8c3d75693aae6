"""Claims about code closures, library versions, settings strings and seeds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import onelayer
from onelayer.compute.seeds import generator, stable_seed
from onelayer.evidence.declarations import read_declarations
from onelayer.run import provenance
from onelayer.run.provenance import (
    code_closure,
    code_digest,
    library_versions,
    module_files,
    settings_json,
)
from onelayer.settings.root import default_settings
from tests.conftest import ROOT, clean_environment

LDA = default_settings().topics.lda
STEPS = sorted(path.stem for path in (ROOT / "scripts").glob("*.py"))


def test_a_closure_holds_the_script_and_what_it_imports_and_nothing_else() -> None:
    closure = code_closure("fit_lda")
    assert "scripts/fit_lda.py" in closure
    assert "src/onelayer/text/topics/lda.py" in closure
    assert "src/onelayer/text/corpus/articles.py" in closure  # through bag_of_words
    assert "src/onelayer/compute/ensemble/__init__.py" in code_closure("train_two_stages")
    assert not [path for path in closure if "figures" in path or "probe" in path]


def test_a_closure_leaves_out_pages_that_no_number_depends_on(tmp_path) -> None:
    (tmp_path / "scripts").mkdir()
    package = tmp_path / "src/onelayer/papers"
    package.mkdir(parents=True)
    (tmp_path / "scripts/toy.py").write_text("from onelayer.papers import sums\n")
    (package / "sums.py").write_text("")
    page = package / "__init__.py"
    for text, counts in [('"""A page."""\n', False), ('"""A page."""\nprint(1)\n', True)]:
        page.write_text(text)
        for cached in (code_closure, module_files, provenance._own_imports, provenance.read_source):
            cached.cache_clear()
        assert ("src/onelayer/papers/__init__.py" in code_closure("toy", tmp_path)) == counts


@pytest.mark.parametrize(
    "text",
    [
        "import a.b\n\n\ndef f():\n    pass\n",
        "def f():\n    if g():\n        from a import b\n",
        'import a.b\n\nTEXT = """\ndef f():\n"""\n',
        "@f\nclass A:\n    pass\n\nimport a.b\n",
    ],
)
def test_every_import_is_found_where_no_more_of_a_file_is_parsed_than_has_them(text, tmp_path):
    (tmp_path / "a.py").write_text(text)
    found = provenance.read_source(tmp_path / "a.py")
    assert "a.b" in found.imports and not found.bare


def test_no_step_goes_through_the_public_names_which_no_closure_follows() -> None:
    public = {f"onelayer.{name}" for name in onelayer.__all__}
    for path in (*ROOT.glob("scripts/*.py"), *ROOT.glob("src/onelayer/**/*.py")):
        used = provenance.read_source(path).imports & public
        assert not used, f"{path.relative_to(ROOT)}: import from the module that defines {used}"


# A declared function's step is the script that calls it and the module in which it stands.
DECLARED = sorted({d.step.rpartition(".")[0] + ".": d.step for d in read_declarations()}.values())
LOADER = """
import importlib, json, runpy, sys
loaded = {}
for step in sys.argv[1:]:
    for name in [name for name in sys.modules if name.split(".")[0] == "onelayer"]:
        del sys.modules[name]
    script, _, function = step.partition(":")
    runpy.run_path(f"scripts/{script}.py")
    if function:
        importlib.import_module(function.rpartition(".")[0])
    own = [module for name, module in sys.modules.items() if name.split(".")[0] == "onelayer"]
    loaded[step] = sorted(module.__file__ for module in own)
print(json.dumps(loaded))
"""


@pytest.mark.workflow  # imports everything: ten seconds
def test_a_closure_holds_every_module_that_really_gets_imported() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LOADER, *STEPS, *DECLARED],
        cwd=ROOT,
        env=clean_environment(PYTHONPATH=str(ROOT / "src")),
        capture_output=True,
        text=True,
        check=True,
    )
    for step, files in json.loads(run.stdout).items():
        loaded = [Path(file) for file in files if not provenance.read_source(Path(file)).bare]
        names = {str(path.relative_to(ROOT)) for path in loaded} - {"src/onelayer/__init__.py"}
        assert names and names <= set(code_closure(step)), step


# Steps of these kinds are many and short: what they import is most of their time.
LIGHT = (
    *("make_", "tabulate_", "animate_", "measure_", "parse_", "list_", "count_", "merge_"),
    *("encode_", "filter_", "fetch_", "copy_", "write_", "verify_"),
)
HEAVY = {"torch", "transformers", "gensim"}
EXCEPTIONS = {
    "measure_head_removal": {"torch", "transformers"},  # runs a model without some heads
    "measure_inputs": {"torch", "transformers"},  # runs models on what they were trained on
    "measure_held_out_topics": {"gensim"},  # fits topics
    # Runs the models of all snapshots, and infers what topics tell of hidden words.
    "measure_snapshots": {"torch", "transformers", "gensim"},
    "measure_stage_gradients": {"torch"},  # trains first
    "measure_topics": {"gensim"},  # infers each document's topics
    "parse_articles": {"gensim"},  # its parser of dumps and of wiki markup, where it is needed
    "parse_part": {"gensim"},  # likewise
}


def test_light_steps_load_no_heavy_library() -> None:
    light = [step for step in STEPS if step.startswith(LIGHT) and step not in EXCEPTIONS]
    code = (
        "import importlib, runpy, sys\n"
        "for step in sys.argv[1:]:\n"
        "    script, _, function = step.partition(':')\n"
        "    runpy.run_path(f'scripts/{script}.py', run_name='imported')\n"
        "    if function:\n"
        "        importlib.import_module(function.rpartition('.')[0])\n"
        f"    if found := {HEAVY} & set(sys.modules):\n"
        "        sys.exit(f'{step} loads {found}')\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, *light, *DECLARED],
        cwd=ROOT,
        env=clean_environment(PYTHONPATH=str(ROOT / "src")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_only_steps_that_read_text_load_datasets() -> None:
    loads = {step for step in STEPS if "datasets " in library_versions(step)}
    readers = {
        *("fetch_dataset", "parse_articles", "parse_part", "count_words", "list_part_words"),
        *("count_part_words", "encode_articles", "measure_topics", "fit_topic_models"),
        *("pretrain_model", "train_text_model", "probe_attention", "probe_attention_part"),
        *("probe_topic_models", "measure_snapshots", "measure_claims_again"),
        *("measure_head_removal", "calibrate_probe", "read_attention"),
        *("mix_articles", "measure_inputs", "probe_choices"),
    }
    assert loads == readers


def test_the_exceptions_load_what_they_are_excepted_for() -> None:
    for step, heavy in EXCEPTIONS.items():
        assert {v.split()[0] for v in library_versions(step).split(", ")} & HEAVY == heavy


def test_imports_are_found_wherever_they_stand(tmp_path) -> None:
    script = tmp_path / "toy.py"
    script.write_text(
        "try:\n    import a\nexcept ImportError:\n    import b.c\nelse:\n    import d\n"
        "finally:\n    import e\n"
        "class C:\n    def f(self):\n        with x:\n            from g import h\n"
        "match 1:\n    case 1:\n        import i\n"
        "if x:\n    pass\nelif y:\n    import j\nelse:\n    import k\n"
        "for _ in x:\n    import m\nelse:\n    import n\n"
    )
    found = provenance.read_source(script).imports
    assert found == {"a", "b.c", "d", "e", "g", "g.h", "i", "j", "k", "m", "n"}


def test_the_distribution_of_a_module_is_found_under_another_name() -> None:
    assert "scikit-learn " in library_versions("measure_topics")


def test_versions_name_what_the_step_imports() -> None:
    versions = library_versions("fit_lda")
    assert "gensim " in versions
    assert "numpy " in versions
    assert versions.startswith(f"python {sys.version_info.major}.{sys.version_info.minor}, ")
    assert "seaborn" not in versions


def test_a_digest_changes_with_the_code(tmp_path) -> None:
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "toy.py"
    script.write_text("import json\n")
    before = code_digest("toy", tmp_path)
    script.write_text("import json  # edited\n")
    provenance._hashed.cache_clear()  # a run reads each file once
    assert code_digest("toy", tmp_path) != before


def test_settings_travel_as_one_string_with_sorted_keys() -> None:
    text = settings_json(LDA, overlap="disjoint")
    keys = list(json.loads(text))
    assert keys == sorted(keys)
    assert json.loads(text)["overlap"] == "disjoint"
    assert settings_json(a=1, b=2) != settings_json(a=2, b=1)


def test_seeds_are_the_same_in_every_process() -> None:
    assert (
        stable_seed("bootstrap", 0) == 1374266645
    )  # printf "bootstrap\x1f0" | sha256sum, first four bytes
    code = "from onelayer.compute.seeds import stable_seed; print(stable_seed('bootstrap', 0))"
    for hash_seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env=clean_environment(PYTHONPATH=str(ROOT / "src"), PYTHONHASHSEED=hash_seed),
            capture_output=True,
            text=True,
            check=True,
        )
        assert int(run.stdout) == stable_seed("bootstrap", 0)
    assert stable_seed("a", 1) != stable_seed("a", 2) != stable_seed("b", 2)
    assert generator("x").random() == generator("x").random()
