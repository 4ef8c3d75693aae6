"""The notebook: it runs from start to end on the reference run, and is kept without outputs."""

import base64
import re

import nbformat
import pytest
from nbclient import NotebookClient

import onelayer
from tests.conftest import ROOT

NOTEBOOK = ROOT / "docs/results.ipynb"


@pytest.fixture(scope="module")
def cells() -> dict[str, list]:
    """Outputs of the cells that were run, by a line of their source."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT / "src"))
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        client = NotebookClient(
            notebook, timeout=120, resources={"metadata": {"path": NOTEBOOK.parent}}
        )
        client.execute()
    return {cell.source: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def outputs(cells: dict[str, list], line: str) -> list:
    [found] = [outputs for source, outputs in cells.items() if line in source]
    return found


def test_it_is_kept_without_outputs() -> None:
    for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None


def test_no_cell_warns(cells) -> None:
    said = [output for found in cells.values() for output in found]
    assert not [output for output in said if output.output_type in ("stream", "error")]


def test_it_shows_the_reference_run(cells) -> None:
    [shown] = outputs(cells, 'onelayer.results("wikipedia_disjoint"')
    table = onelayer.results("wikipedia_disjoint", run="reference")
    minilm = table[(table["model"] == "minilm") & (table["quantity"] == "attention_ratio")]
    assert f"{minilm['value'].iloc[0]:.2f}" in shown.data["text/plain"]


def test_a_run_beside_itself_is_equal(cells) -> None:
    [shown] = outputs(cells, "onelayer.compare")
    counts = re.findall(r"\s*<td>(\d+)</td>" * 4, shown.data["text/html"])
    assert len(counts) == len(list(ROOT.glob("docs/reference/tables/*/*.csv")))
    assert all(int(equal) > 0 for equal, *_ in counts)
    assert {tuple(others) for _, *others in counts} == {("0", "0", "0")}


def test_it_draws(cells) -> None:
    [shown] = outputs(cells, "plt.subplots")
    assert base64.b64decode(shown.data["image/png"]).startswith(b"\x89PNG")
    assert len(shown.data["image/png"]) > 10_000
