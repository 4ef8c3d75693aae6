"""A result that is declared wrongly is refused in one line, when the workflow is read."""

import pytest

from tests.conftest import snakemake

pytestmark = pytest.mark.workflow


@pytest.fixture
def captions(fresh):
    return fresh / "workflow/report"


@pytest.fixture
def refusal(fresh):
    """Read the workflow, which must fail, with one declaration changed; the line that says why."""

    def line(module: str = "figures", old: str = "", new: str = "") -> str:
        path = fresh / f"src/onelayer/papers/scan_snap/{module}.py"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        run = snakemake(fresh, "--list-target-rules")
        assert run.returncode == 1
        assert "Traceback" not in run.stdout
        return run.stdout.partition("\nWorkflowError in file")[2].splitlines()[1]

    return line


def test_a_result_declared_twice(refusal):
    line = refusal("figures", '"scan_snap/scan"', '"scan_snap/phase_map"')
    assert line == "figure scan_snap/phase_map: declared twice"


def test_two_results_of_one_name(refusal, captions):
    (captions / "table_scan_snap_claims.rst").unlink()
    line = refusal("claims", '"table_scan_snap_claims"', '"table_entropy_sweep"')
    assert line == "target table_entropy_sweep: two results have it; name one of them"


def test_a_result_without_a_caption(refusal, captions):
    missing = captions / "figure_scan.rst"
    missing.unlink()
    assert refusal() == f"figure scan_snap/scan: no caption; write {missing}"


def test_a_caption_without_a_result(refusal, captions):
    (captions / "figure_scam.rst").touch()
    assert refusal() == f"{captions}: no result uses the caption figure_scam; remove it"


def test_a_result_of_an_unknown_paper(refusal):
    line = refusal("figures", '"scan_snap/scan"', '"scan_snip/scan"')
    assert line.startswith("figure scan_snip/scan: no paper scan_snip, only topic_structure, ")


CLAIM = """
one = Finding("one", "it grows", "Fig. 6", "claim", "scan_snap/claims", {"x": 1}, "it", "is", "no")
FINDINGS["scan_snap"] = """


@pytest.fixture
def refused_claim(fresh, refusal):
    """Read the workflow with these findings in place of a paper's; the line that says why."""

    def line(findings: str) -> str:
        module = fresh / "src/onelayer/papers/findings.py"
        text = module.read_text(encoding="utf-8") + "\nfrom dataclasses import replace"
        module.write_text(text + CLAIM + findings + "\n", encoding="utf-8")
        return refusal()

    return line


@pytest.mark.parametrize(
    ("findings", "message"),
    [
        ("[replace(one, primary={})]", "a claim has one primary row; this one has none: `primary` "
         "is empty"),
        ("[one, one]", "a claim has one primary row; this one has two"),
        ("[replace(one, kind='published')]", "`published` does not say where the number stands"),
        ("[replace(one, table='scan_snap/entropies')]", "no table scan_snap/entropies"),
    ],
)  # fmt: skip
def test_a_claim_without_its_row_or_its_reference(refused_claim, findings, message):
    assert refused_claim(findings) == f"finding scan_snap/one: {message}"


def test_a_claim_whose_published_numbers_are_missing(refused_claim):
    missing = (
        "__import__('onelayer.evidence.findings').evidence.findings.Published('none.csv', {}, 'x')"
    )
    line = refused_claim(f"[replace(one, published={missing})]")
    assert line.startswith("finding scan_snap/one: the published numbers ")
    assert line.endswith("workflow/reference/none.csv do not exist")
