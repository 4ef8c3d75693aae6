"""What the probe of one checkpoint says at its end."""

import pytest

from onelayer.evidence.tables import tidy, write_csv
from onelayer.report.probed import RATIOS, said


@pytest.fixture
def path(tmp_path):
    """Of a checkpoint whose corrected ratio is 1.4, and its control."""

    def write(low=1.3, high=1.5, value=1.4, different=0.1, p=0.005):
        rows = []
        for model, own in (("mine", value), ("random-mine", 1.0)):
            for threshold in ("top 20", "top 50"):
                key = {"model": model, "threshold": threshold, "seed": "all"}
                key |= {"overlap": "disjoint"}
                mean = {
                    "quantity": "embedding_cosine_different",
                    "value": different,
                    "low": different - 0.05,
                    "high": different + 0.05,
                }
                rows.append(key | mean)
                for ratio in RATIOS:
                    rows += [
                        key | {"quantity": ratio, "value": 9.0, "low": 8.0, "high": 10.0},
                        key | {"quantity": f"{ratio}_null", "value": 1.01},
                        key | {"quantity": f"{ratio}_z", "value": 12.3},
                        key | {"quantity": f"{ratio}_p", "value": p},
                        key
                        | {"quantity": f"{ratio}_null_corrected", "value": own}
                        | {"low": low, "high": high},
                    ]
        table = tidy(rows, ["overlap", "model", "threshold", "seed"])
        write_csv(table, tmp_path / "table.csv")
        return tmp_path / "table.csv"

    return write


def test_the_end_of_a_probe_is_a_narrow_table_and_a_sentence(path):
    lines = said(path(), "mine", "random-mine").splitlines()
    assert max(map(len, lines)) <= 80
    assert len([line for line in lines if "top 20" in line and "9.00" in line]) == 2
    assert " ".join(lines[-3:]) == (
        "In mine words of one topic (top 20) attend to each other more than equally frequent "
        "words of permuted topics: 1.400 [1.300, 1.500] times as much (p = 0.005)."
    )


def test_the_interval_chooses_the_verb(path):
    text = " ".join(said(path(0.8, 0.95), "mine", "random-mine").split())
    assert "In mine words" in text and "attend to each other less than" in text


@pytest.mark.parametrize("given", [{"low": 0.9, "high": 1.1}, {"p": 0.06}])
def test_what_may_be_chance_is_undecided(path, given):
    """The interval holds 1, or permuted topics often lie as far off."""
    text = " ".join(said(path(**given), "mine", "random-mine").split())
    assert "Whether in mine words of one topic (top 20) attend to each other more than" in text
    assert "words of permuted topics is undecided: 1.400" in text
    assert f"(p = {given.get('p', 0.005):.3f})" in text


def test_a_ratio_that_means_nothing_is_no_number(path):
    nan = float("nan")
    text = said(path(nan, nan, nan), "mine", "random-mine")
    assert text.endswith("mine: its attention ratio means nothing here; the CSV has the reason.")


def test_embeddings_whose_mean_may_be_0_have_no_ratio(path):
    lines = said(path(different=0.04), "mine", "random-mine").splitlines()
    rows = [line.split() for line in lines if line.strip().startswith("cosine")]
    nothing = [*2 * ["means", "≈", "0"], "–", "–"]
    assert rows == [["cosine", "top", words, *nothing] for words in ("20", "50")]
    assert len([line for line in lines if "attention" in line and "9.00" in line]) == 2
