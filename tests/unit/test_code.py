"""What Snakemake does not see: a step's code is its script and all that it imports."""

import os
import shutil

import pytest

from onelayer import code


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A small copy: two scripts, one package, one module that only one of them imports."""
    files = {
        "src/onelayer/__init__.py": "",
        "src/onelayer/a/__init__.py": "",
        "src/onelayer/a/used.py": "from onelayer.b import (\n    helper,\n)\n",
        "src/onelayer/b/__init__.py": "",
        "src/onelayer/b/helper.py": "value = 1\n",
        "src/onelayer/b/other.py": "value = 1\n",
        "src/onelayer/b/nobodys.py": "value = 1\n",
        "scripts/one.py": "from onelayer.a.used import x\n",
        "scripts/two.py": "import onelayer.b.other\n",
    }
    for place, text in files.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text)
    monkeypatch.setattr(code, "SRC", tmp_path / "src")
    monkeypatch.setattr(code, "SCRIPTS", tmp_path / "scripts")
    return tmp_path


def digests():
    code.imported.cache_clear()
    code._hashed.cache_clear()
    return code.code("one"), code.code("two")


@pytest.mark.parametrize(
    ("edited", "changed"),
    [
        ("src/onelayer/b/helper.py", (True, False)),
        ("src/onelayer/b/other.py", (False, True)),
        ("src/onelayer/b/nobodys.py", (False, False)),
        ("src/onelayer/a/__init__.py", (True, False)),
        ("src/onelayer/b/__init__.py", (True, True)),
        ("scripts/two.py", (False, True)),
    ],
)
def test_an_edited_file_changes_exactly_the_scripts_that_import_it(house, edited, changed):
    before = digests()
    (house / edited).write_text("import onelayer.b.other\nvalue = 2\n")
    assert tuple(a != b for a, b in zip(digests(), before, strict=True)) == changed


def test_no_paper_is_in_the_digest_of_another():
    papers = {"topic_structure", "scan_snap", "decision_lists", "local_to_global"}
    for script in sorted(code.SCRIPTS.glob("*.py")):
        named = {part for path in code.closure(script.stem) for part in path.parts} & papers
        assert len(named) <= 1, script.name


def test_a_touched_module_or_a_copied_house_changes_nothing(house, tmp_path_factory, monkeypatch):
    before = digests()
    os.utime(house / "src/onelayer/b/helper.py", (1, 1))
    assert digests() == before
    copy = tmp_path_factory.mktemp("copy") / "house"
    shutil.copytree(house, copy)
    monkeypatch.setattr(code, "SRC", copy / "src")
    monkeypatch.setattr(code, "SCRIPTS", copy / "scripts")
    assert digests() == before


def test_every_script_imports_nothing_of_tables_and_figures_unless_it_shows():
    for script in sorted(code.SCRIPTS.glob("*.py")):
        shows = "save_table" in script.read_text() or "save_figure" in script.read_text()
        names = {path.stem for path in code.closure(script.stem)}
        assert shows or "figures" not in names, script.name


def test_a_portable_run_is_other_code(house):
    assert code.code("one", portable=True) != code.code("one")
