"""Claims about series of checkpoints: how settings name them, and what the table says of them."""

import pandas as pd
import pytest
from snakemake.utils import update_config

from onelayer.papers.topic_structure.wikipedia import over_tokens
from onelayer.settings.models import HubModel, LocalModel, SeriesModel
from onelayer.settings.root import load_settings
from onelayer.settings.topic_structure import NamedModel
from tests.workflow.conftest import merged_config

COMMITS = {64: "a" * 40, 8: "b" * 40}


@pytest.fixture
def settings():
    config = merged_config(None)
    hub = {"repository": "a/b", "revisions": COMMITS}
    models = {
        "way": {"source": "series", "folders": {"2000": "~/late", "30": "early"}, "note": "mine"},
        "hub-way": {"source": "series", "hub": hub, "published_as": "bert"},
    }
    over = {"series": ["way", "hub-way"]}
    wikipedia = {"over_tokens": over, "models": ["minilm", "way-30"]}
    update_config(config, {"models": models, "topic_structure": {"wikipedia": wikipedia}})
    return load_settings(config)


def test_every_checkpoint_of_a_series_is_a_model_of_its_own(settings) -> None:
    assert settings.checkpoints("way") == ["way-30", "way-2000"]
    assert settings.checkpoints("hub-way") == ["hub-way-8", "hub-way-64"]
    early, late = settings.models["way-30"], settings.models["hub-way-64"]
    assert isinstance(early, LocalModel) and early.local.path == "early" and early.note == "mine"
    assert isinstance(late, HubModel) and late.published_as == "bert"
    assert (late.hub.repository, late.hub.revision) == ("a/b", "a" * 40)
    assert settings.checkpoints("way-30") == ["way-30"]


def test_folders_of_a_series_are_looked_at_before_anything_runs(settings, tmp_path) -> None:
    (tmp_path / "way-2000").mkdir()
    (tmp_path / "way-2000/config.json").touch()
    assert settings.new_folders(tmp_path)["models.way.folders.30"] == "early"
    assert "models.way.folders.2000" not in settings.new_folders(tmp_path)


def measures(value: float) -> pd.DataFrame:
    rows = [
        ("all", overlap, threshold, quantity, value if threshold == "top 1" else 9.0)
        for overlap in ("disjoint", "overlapping")
        for threshold in ("top 1", "top 2")
        for quantity in over_tokens.QUANTITIES
    ]
    table = pd.DataFrame(rows, columns=["seed", "overlap", "threshold", "quantity", "value"])
    return table.assign(low=value - 0.1, high=value + 0.1, n=10)


def test_a_series_has_a_row_for_each_checkpoint_at_the_first_threshold(settings) -> None:
    models = {"way": settings.models["way"]}
    assert isinstance(models["way"], SeriesModel)
    gathered = over_tokens.gather([30, 2000], [measures(1.0), measures(1.5)])
    named = [NamedModel(name=name, settings=model) for name, model in models.items()]
    table = over_tokens.ratios_over_tokens([gathered], named)
    ratios = table[table["quantity"] == "attention_ratio"].set_index("tokens_seen")["value"]
    assert ratios.to_dict() == {30: 1.0, 2000: 1.5}
    assert set(table["threshold"]) == {"top 1"} and set(table["overlap"]) == {"disjoint"}
    assert over_tokens.readable(table)["tokens seen"].tolist() == ["30", "2,000"]


def test_the_table_says_which_models_come_from_elsewhere(settings) -> None:
    gathered = [over_tokens.gather([30, 2000], [measures(1.0), measures(1.5)])]
    way, here = (
        over_tokens.topic_structure_over_tokens(
            gathered, [NamedModel(name=name, settings=settings.models[name])]
        )
        for name in ("way", "bert-here")
    )
    assert way.notes[-2:] == [over_tokens.SERIES_NOTE.format("way"), "way: mine"]
    assert "pretrained here" not in way.title
    assert here.notes == over_tokens.NOTES
    assert here.title.endswith("models pretrained here")
