"""Numbers in README and docs that stand beside a link to a table are in that table."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.conftest import ROOT

LINK = re.compile(r"\[[^]]*\]\[(\w+)\]")
TABLE = re.compile(r"^\[(\w+)\]: (?:docs/)?(reference/tables/[\w/]+)\.md$", re.MULTILINE)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?%?")


def quoted(page) -> list[tuple[str, str]]:
    """Table and number, of a row's column `here`, or of all of a sentence."""
    text = page.read_text(encoding="utf-8")
    found, here, tables = [], None, dict(TABLE.findall(text))
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        if len(cells) < 3:
            here = None
        elif here is None:
            here = next((i for i, cell in enumerate(cells) if cell.startswith("here")), 0)
        numbers = NUMBER.findall(LINK.sub("", cells[here] if here else line))
        found += [(tables[link], n) for link in LINK.findall(line) for n in numbers]
    return found


def numbers_of(table: str) -> np.ndarray:
    """Every number of a table, those inside of texts too."""
    cells = pd.read_csv(ROOT / "docs" / f"{table}.csv", dtype=str).to_numpy().ravel()
    texts = " ".join(str(cell) for cell in cells)
    return np.array([float(n) for n in re.findall(r"[-+]?\d*\.?\d+(?:[eE][-+]?\d+)?", texts)])


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_numbers_beside_a_link_to_a_table_are_in_that_table(page):
    for table, number in quoted(page):
        digits = len(number.rstrip("%").partition(".")[2])
        asked = float(number.replace(",", "").rstrip("%"))
        there = numbers_of(table) * (100 if number.endswith("%") else 1)
        assert (abs(there - asked) <= 0.501 * 10**-digits).any(), f"{number} is not in {table}"


def test_a_wrong_number_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("The ratio is 1.24 [1.2, 1.3], [here][b].\n\n[b]: reference/tables/a/b.md\n")
    assert quoted(page) == [("reference/tables/a/b", n) for n in ("1.24", "1.2", "1.3")]


def test_contributing_names_rules_and_functions_that_exist():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:4] for line in page.splitlines() if ".py`: " in line]
    assert len(rows) > 10
    for tables, named, code in rows:
        rules = (ROOT / "workflow/rules" / named.split()[-1]).read_text()
        for table in re.findall(r"`(\w+)`", tables):
            assert f'/{table}")' in rules
            [file] = ROOT.glob(f"docs/reference/tables/*/{table}.csv")
            assert set(re.findall(r"\*(\w+)\*", tables)) <= set(pd.read_csv(file)["quantity"])
        for rule in re.findall(r"`(\w+)`", named):
            assert f"\nrule {rule}:" in rules
        file = None
        for name in re.findall(r"`([\w/.]+)`", code):
            if name.endswith(".py"):
                file = (file.parent if file and "/" not in name else ROOT / "src/onelayer") / name
            else:
                assert re.search(rf"(?m)^ *def {name}\(", file.read_text()), name
