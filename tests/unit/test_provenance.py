"""Claims about code closures, library versions, settings strings and seeds."""

import json
import subprocess
import sys

import pytest

from onelayer import provenance
from onelayer.provenance import code_closure, code_digest, library_versions, settings_json
from onelayer.seeds import generator, stable_seed
from onelayer.settings.topics import LdaSettings
from tests.conftest import ROOT, clean_environment

STEPS = sorted(path.stem for path in (ROOT / "scripts").glob("*.py"))


def test_a_closure_holds_the_script_and_what_it_imports_and_nothing_else() -> None:
    closure = code_closure("fit_lda")
    assert "scripts/fit_lda.py" in closure
    assert "src/onelayer/topics/lda.py" in closure
    assert "src/onelayer/corpus/articles.py" in closure  # through bag_of_words
    assert "src/onelayer/topics/__init__.py" in closure
    assert not [path for path in closure if "figures" in path or "probe" in path]


@pytest.mark.workflow  # two seconds of imports for each step
@pytest.mark.parametrize("step", STEPS)
def test_a_closure_holds_every_module_that_really_gets_imported(step: str) -> None:
    code = (
        "import runpy, sys; runpy.run_path(sys.argv[1], run_name='imported');"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'onelayer'))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, f"scripts/{step}.py"],
        cwd=ROOT,
        env=clean_environment(PYTHONPATH=str(ROOT / "src")),
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {str(provenance.Path(p).relative_to(ROOT)) for p in run.stdout.split()}
    assert loaded <= set(code_closure(step))


def test_versions_name_what_the_step_imports() -> None:
    versions = library_versions("fit_lda")
    assert "gensim " in versions
    assert "numpy " in versions
    assert versions.startswith(f"python {sys.version_info.major}.{sys.version_info.minor}, ")
    assert "seaborn" not in versions


def test_a_digest_changes_with_the_code(tmp_path, monkeypatch) -> None:
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "toy.py"
    script.write_text("import json\n")
    monkeypatch.setattr(provenance, "REPOSITORY", tmp_path)
    code_closure.cache_clear()
    before = code_digest("toy")
    script.write_text("import json  # edited\n")
    provenance._code_sha256.cache_clear()  # a run reads each file once
    assert code_digest("toy") != before
    code_closure.cache_clear()


def test_settings_travel_as_one_string_with_sorted_keys() -> None:
    text = settings_json(LdaSettings(), overlap="disjoint")
    keys = list(json.loads(text))
    assert keys == sorted(keys)
    assert json.loads(text)["overlap"] == "disjoint"
    assert settings_json(a=1, b=2) != settings_json(a=2, b=1)


def test_seeds_are_the_same_in_every_process() -> None:
    assert (
        stable_seed("bootstrap", 0) == 1374266645
    )  # printf "bootstrap\x1f0" | sha256sum, first four bytes
    code = "from onelayer.seeds import stable_seed; print(stable_seed('bootstrap', 0))"
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
