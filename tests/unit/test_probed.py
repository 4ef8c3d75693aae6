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


@pytest.mark.parametrize(
    ("low", "high", "how"), [(0.9, 1.1, "neither more nor less"), (0.8, 0.95, "less")]
)
def test_the_interval_chooses_the_verb(path, low, high, how):
    text = " ".join(said(path(low, high), "mine", "random-mine").split())
    assert f"attend to each other {how} than" in text


def test_a_ratio_that_permuted_topics_often_reach_is_not_called_more(path):
    text = " ".join(said(path(p=0.06), "mine", "random-mine").split())
    assert "attend to each other neither more nor less than" in text
    assert "(p = 0.060)" in text


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
