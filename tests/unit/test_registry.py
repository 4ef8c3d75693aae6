"""Claims about what follows from the one declaration of a table, figure or animation."""

import re

import pytest

from onelayer.errors import OnelayerError
from onelayer.report.registry import FOLDERS, Registry, main
from tests.conftest import ROOT


@pytest.fixture
def registry(tmp_path):
    """An empty registry, beside captions of a table and a figure."""
    for name in ("workflow", "table_ablation", "figure_scan"):
        (tmp_path / f"{name}.rst").touch()
    return Registry(tmp_path)


def refused(message):
    return pytest.raises(OnelayerError, match=f"^{re.escape(message)}")


TABLE = ("table", "local_to_global/ablation", "Transformers", "table: ablation")
FIGURE = ("figure", "scan_snap/scan", "Synthetic", "figure: scan")


def test_paths_caption_and_target_follow_from_kind_and_name(registry) -> None:
    table, figure = registry.declare(*TABLE), registry.declare(*FIGURE)
    base = "results/tables/local_to_global/ablation"
    assert table.files == [f"{base}.csv", f"{base}.md", f"{base}.tex", f"{base}.html"]
    assert figure.files == [
        "results/figures/scan_snap/scan.pdf",
        "results/figures/scan_snap/scan.png",
    ]
    assert (table.caption, table.target) == ("table_ablation", "table_ablation")
    registry.check()


def test_a_paper_is_made_of_its_results_and_a_part_of_those_in_its_sections(registry) -> None:
    table = registry.declare(*TABLE)
    _, name, _, label = FIGURE
    figure = registry.declare("figure", name, "Text: maps", label)
    assert registry.targets() == {
        "table_ablation": table.files,
        "local_to_global": table.files,
        "figure_scan": figure.files,
        "scan_snap": figure.files,
        "scan_snap_text": figure.files,
    }


def test_a_pattern_is_one_result_for_each_value_with_one_caption(registry, tmp_path) -> None:
    (tmp_path / "table_words.rst").touch()
    pattern = registry.declare(
        "table",
        "topic_structure/words_{overlap}",
        "Wikipedia: results",
        "table: {overlap}",
        caption="table_words",
        overlap=["disjoint", "overlapping"],
    )
    assert pattern.files[0] == "results/tables/topic_structure/words_{overlap}.csv"
    made = registry.made("table")
    assert [table.target for table in made] == ["table_words_disjoint", "table_words_overlapping"]
    assert {table.caption for table in made} == {"table_words"}


def test_what_is_left_out_has_a_target_of_its_own_and_is_in_no_other(registry) -> None:
    table = registry.declare(*TABLE, made=False)
    assert registry.made("table") == []
    assert registry.targets() == {"table_ablation": table.files}


def test_a_result_is_declared_once(registry) -> None:
    registry.declare(*TABLE)
    with refused("table local_to_global/ablation: declared twice"):
        registry.declare(*TABLE)


def test_a_result_of_a_pattern_is_declared_once(registry, tmp_path) -> None:
    registry.declare(*TABLE)
    (tmp_path / "table_words.rst").touch()
    pattern = ("table", "local_to_global/{shown}", *TABLE[2:])
    with refused("table local_to_global/ablation: declared twice"):
        registry.declare(*pattern, caption="table_words", shown=["basins", "ablation"])


def test_a_paper_is_known(registry) -> None:
    with refused("figure scan/scan: no paper scan, only topic_structure, scan_snap, "):
        registry.declare("figure", "scan/scan", *FIGURE[2:])


def test_every_result_has_a_caption_and_every_caption_a_result(registry, tmp_path) -> None:
    with refused(f"figure scan_snap/maps: no caption; write {tmp_path}/figure_maps.rst"):
        registry.declare("figure", "scan_snap/maps", *FIGURE[2:])
    registry.declare(*TABLE)
    with refused(f"{tmp_path}: no result uses the caption figure_scan; remove it"):
        registry.check()


def test_a_target_makes_one_result(registry) -> None:
    registry.declare(*TABLE)
    registry.declare(*FIGURE, caption="figure_scan", target="table_ablation")
    with refused("target table_ablation: two results have it; name one of them"):
        registry.check()


def test_results_are_made_in_the_order_in_which_they_are_declared(registry, tmp_path) -> None:
    names = ["topic_structure/b", "decision_lists/a", "topic_structure/a"]
    for name in names:
        registry.declare("table", name, "S", "l", caption="table_ablation", target=f"table_{name}")
    assert [table.name for table in registry.made("table")] == names


def test_names_are_those_that_rules_declare_whatever_these_settings_make(registry) -> None:
    registry.declare(*TABLE, made=False)
    registry.declare("table", "scan_snap/{a}_x", "S", "l", caption="table_ablation",
                     target="{a}_x", a=[])  # fmt: skip
    assert registry.names("table") == ["local_to_global/ablation", "scan_snap/{a}_x"]
    assert registry.made("table") == []


def test_targets_are_listed_with_what_they_show():
    lines = dict(line.split(maxsplit=1) for line in main().splitlines() if line)
    assert lines["table_theory_gap"].endswith((".", "?")) and "scan_snap" in lines
    captions = {path.stem for path in (ROOT / "workflow/report").glob("*_*.rst")}
    overlaps = {f"table_wikipedia_{overlap}" for overlap in ("disjoint", "overlapping")}
    parts = {f"topic_structure_{part}" for part in ("synthetic", "wikipedia")}
    assert set(lines) == captions - {"table_wikipedia"} | overlaps | set(FOLDERS) | parts
