"""A result or claim that is declared wrongly is refused in one line, when the workflow is read.

What else is refused, and in which words: `test_registry.py` and `test_findings.py` among the unit
tests; here one fault goes all the way from each place of the workflow that looks for some.
"""

from pathlib import Path

import pytest

from tests.conftest import snakemake

pytestmark = pytest.mark.workflow

CLAIM = """
one = Finding("one", "it grows", "Fig. 6", "claim", "scan_snap/claims", {}, "it", "is", "is not")
FINDINGS["scan_snap"] = [one]
"""


def refusal(project: Path) -> str:
    """Read the workflow, which must fail; the line that says why."""
    run = snakemake(project, "--list-target-rules")
    assert run.returncode == 1
    assert "Traceback" not in run.stdout
    return run.stdout.partition("\nWorkflowError in file")[2].splitlines()[1]


def test_a_result_declared_twice(fresh):
    path = fresh / "src/onelayer/papers/scan_snap/figures.py"
    text = path.read_text(encoding="utf-8")
    assert '"scan_snap/scan"' in text
    path.write_text(text.replace('"scan_snap/scan"', '"scan_snap/phase_map"'), encoding="utf-8")
    assert refusal(fresh) == "figure scan_snap/phase_map: declared twice"


def test_a_caption_without_a_result(fresh):
    captions = fresh / "workflow/report"
    (captions / "figure_scam.rst").touch()
    assert refusal(fresh) == f"{captions}: no result uses the caption figure_scam; remove it"


def test_a_claim_without_its_row(fresh):
    with (fresh / "src/onelayer/papers/findings.py").open("a", encoding="utf-8") as file:
        file.write(CLAIM)
    line = "finding scan_snap/one: a claim has one primary row; this one has none: "
    assert refusal(fresh) == f"{line}`primary` is empty"
