"""What the probe of one checkpoint says at its end."""

import pytest

from onelayer.evidence.tables import tidy, write_csv
from onelayer.report.probed import RATIOS, said


@pytest.fixture
def path(tmp_path):
    """Of a checkpoint whose corrected ratio is 1.4, its null 2, and its control."""

    def write(low=1.3, high=1.5, value=1.4, different=0.1, null=(1.9, 2.1)):
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
                    over = {"value": own, "low": low, "high": high}
                    plain = {end: 2 * number for end, number in over.items()}
                    around = {"value": 2.0, "low": null[0], "high": null[1]}
                    rows += [
                        key | {"quantity": ratio} | plain,
                        key | {"quantity": f"{ratio}_null"} | around,
                        key | {"quantity": f"{ratio}_z", "value": 12.3},
                        key | {"quantity": f"{ratio}_null_corrected"} | over,
                    ]
        table = tidy(rows, ["overlap", "model", "threshold", "seed"])
        write_csv(table, tmp_path / "table.csv")
        return tmp_path / "table.csv"

    return write


def test_the_end_of_a_probe_is_a_narrow_table_and_a_sentence(path):
    lines = said(path(null=(2.0, 2.0)), "mine", "random-mine").splitlines()
    assert max(map(len, lines)) <= 80
    assert len([line for line in lines if "top 20" in line and "2.80" in line]) == 2
    assert " ".join(lines[-3:]).strip() == (
        "In mine words of one topic (top 20) attend to each other more than equally frequent "
        "words of permuted topics: 1.400 [1.300, 1.500] times as much."
    )


def test_less_than_permuted_topics_is_said_as_plainly_as_more(path):
    text = " ".join(said(path(0.8, 0.95, 0.9), "mine", "random-mine").split())
    assert "In mine words" in text and "attend to each other less than" in text


@pytest.mark.parametrize(
    ("given", "interval"),
    [
        ({"low": 0.9, "high": 1.1, "value": 1.0, "null": (2.0, 2.0)}, "1.000 [0.900, 1.100]"),
        # Permuted topics alone reach as far: .3 and .4 below 1.4, as squares.
        ({"null": (1.9, 2.8)}, "1.400 [0.988, 1.512]"),
    ],
)
def test_what_may_be_chance_is_undecided(path, given, interval):
    """The interval of articles and of permuted topics together holds 1."""
    text = " ".join(said(path(**given), "mine", "random-mine").split())
    assert "Whether in mine words of one topic (top 20) attend to each other more than" in text
    assert f"words of permuted topics is undecided: {interval} times as much." in text


def test_a_ratio_that_means_nothing_is_no_number(path):
    nan = float("nan")
    text = said(path(nan, nan, nan), "mine", "random-mine")
    assert text.endswith("mine: its attention ratio means nothing here; the CSV has the reason.")


def test_embeddings_whose_mean_may_be_0_have_no_ratio(path):
    lines = said(path(different=0.04), "mine", "random-mine").splitlines()
    rows = [line.split() for line in lines if line.strip().startswith("cosine")]
    nothing = [*2 * ["means", "≈", "0"], "–", "–"]
    assert rows == [["cosine", "top", words, *nothing] for words in ("20", "50")]
    assert len([line for line in lines if "attention" in line and "2.80" in line]) == 2
