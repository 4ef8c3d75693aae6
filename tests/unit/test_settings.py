"""Claims about the typed settings and their error messages."""

import copy

import pytest
import yaml

from onelayer.errors import OnelayerError
from onelayer.settings.root import load_settings
from onelayer.settings.topics import Threshold
from tests.conftest import ROOT

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))


def changed(path: str, value: object) -> dict:
    """The default configuration with one value set (a path of keys joined by dots)."""
    config = copy.deepcopy(DEFAULT)
    *parents, last = path.split(".")
    place = config
    for key in parents:
        place = place[key]
    place[last] = value
    return config


def test_the_default_is_valid() -> None:
    settings = load_settings(DEFAULT)
    assert settings.topics.lda.topics == 50
    assert settings.checkpoints("random") == [f"random-{seed}" for seed in range(10)]
    assert settings.checkpoints("minilm") == ["minilm"]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("topics.lda.pases", 3, ["topics.lda", "'pases'", "did you mean 'passes'"]),
        ("prob", {}, ["'prob'", "did you mean 'probe'", "corpora"]),
        ("models.minilm.notee", "x", ["models.minilm", "'notee'", "did you mean 'note'"]),
        ("models.minilm.wheel.versoin", "1", ["models.minilm.wheel", "did you mean 'version'"]),
        ("topics.lda.passes", -3, ["topics.lda.passes", "greater than or equal to 1", "-3"]),
        ("topics.lda.passes", "six", ["topics.lda.passes", "integer", "'six'"]),
        ("topics.lda.decay", 0.2, ["topics.lda.decay", "greater than 0.5", "0.2"]),
        ("probe.attention.device", "gpu", ["probe.attention.device", "'cuda'", "'gpu'"]),
        ("models.minilm.source", "web", ["models.minilm", "'web'", "'wheel'", "'random'"]),
        (
            "topic_structure.wikipedia.corpus",
            "vital-article",
            ["topic_structure.wikipedia.corpus", "did you mean 'vital-articles'", "dump-excerpt"],
        ),
        ("topic_structure.wikipedia.models", ["minlm"], ["did you mean 'minilm'", "random"]),
        ("topics.words.single_piece_in", ["bert"], ["topics.words.single_piece_in", "'bert'"]),
        (
            "topic_structure.robustness.models",
            ["minlm"],
            ["topic_structure.robustness.models", "did you mean 'minilm'"],
        ),
        (
            "topic_structure.robustness.seeds",
            [0, 1, 0],
            ["topic_structure.robustness.seeds", "0 is given twice; each once", "[0, 1, 0]"],
        ),
        (
            "topic_structure.robustness.backends",
            ["gensim", "mallet"],
            ["topic_structure.robustness.backends.1", "'tomotopy'", "'mallet'"],
        ),
        ("topics.lda.backend", "mallet", ["topics.lda.backend", "'tomotopy'", "'mallet'"]),
        ("topics.lda.alpha", 0, ["topics.lda.alpha", "greater than 0"]),
        ("models.random.like", "random", ["models.random.like", "known: ", "minilm"]),
        ("topics.ambiguity.thresholds", [], ["topics.ambiguity.thresholds", "at least 1"]),
        (
            "topics.ambiguity.thresholds",
            [{"count": 20}, {"count": 20}],
            ["topics.ambiguity.thresholds", "top 20", "twice"],
        ),
        (
            "topics.ambiguity.thresholds",
            [{"count": 20, "fraction": 0.1}],
            ["topics.ambiguity.thresholds.0", "either count or fraction"],
        ),
        (
            "topic_structure.synthetic.theory.tau",
            12,
            ["topic_structure.synthetic", "theory.tau = 12", "below T = 10"],
        ),
        ("topic_structure.synthetic.stage_two.taus", [2, 10], ["stage_two.taus: 10", "T = 10"]),
        (
            "topic_structure.synthetic.model",
            {"p_c": 0.6, "p_r": 0.6},
            ["topic_structure.synthetic.model", "p_c + p_r = 1.2: at most 1"],
        ),
        (
            "topic_structure.synthetic.model",
            {"v": 1},
            ["topic_structure.synthetic.model.v", "greater than or equal to 2", "1"],
        ),
        (
            "topic_structure.synthetic.attention.N",
            [150, 100],
            ["topic_structure.synthetic.attention", "[150, 100]", "fewest, then most"],
        ),
        (
            "topic_structure.synthetic.attention.documents",
            10,
            ["attention.documents = 10", "at least one batch of 40"],
        ),
        (
            "models.minilm.wheel.files",
            {"config.json": "abc"},
            ["models.minilm.wheel.files", "abc"],
        ),
    ],
)
def test_what_does_not_fit_is_named_with_what_is_allowed(path, value, words) -> None:
    with pytest.raises(OnelayerError) as caught:
        load_settings(changed(path, value))
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_missing_key_is_named() -> None:
    config = copy.deepcopy(DEFAULT)
    del config["topic_structure"]["wikipedia"]["corpus"]
    with pytest.raises(OnelayerError, match=r"topic_structure\.wikipedia\.corpus: field required"):
        load_settings(config)


def test_all_problems_are_named_at_once() -> None:
    config = changed("topics.lda.passes", 0)
    config["topics"]["lda"]["decay"] = 7
    with pytest.raises(OnelayerError, match=r"topics\.lda\.passes.*topics\.lda\.decay"):
        load_settings(config)


@pytest.mark.parametrize(
    ("threshold", "label", "kept", "published"),
    [
        (Threshold(count=20, beside=0.0005), "top 20", 20, 0.0005),
        (Threshold(count=20), "top 20", 20, None),
        (Threshold(fraction=0.002), "0.002", 16, 0.002),
        (Threshold(fraction=0.002, beside=0.001), "0.002", 16, 0.001),
        (Threshold(fraction=0.0020000001), "0.0020000001", 16, 0.0020000001),
    ],
)
def test_a_threshold_is_a_count_or_a_share_of_the_vocabulary(
    threshold, label, kept, published
) -> None:
    assert threshold.label == label
    assert threshold.words_kept(8399) == kept
    assert threshold.published == published


@pytest.mark.parametrize("overlay", ["paper", "smoke"])
def test_the_budget_of_an_overlay_is_that_of_every_training(overlay) -> None:
    content = yaml.safe_load((ROOT / f"config/{overlay}.yaml").read_text(encoding="utf-8"))
    budget = content["pretraining"]["tokens"]
    settings = load_settings(changed("pretraining.tokens", budget))
    here = [name for name, model in DEFAULT["models"].items() if model["source"] == "pretrain"]
    assert {settings.pretraining_of(name, 0).tokens for name in here} == {budget}


def test_each_family_has_its_own_budget() -> None:
    budgets = DEFAULT["pretraining"]["tokens"]
    settings = load_settings(DEFAULT)
    for name, model in DEFAULT["models"].items():
        if model["source"] == "pretrain":
            assert settings.pretraining_of(name, 0).tokens == budgets[model["family"]]
    with pytest.raises(OnelayerError, match="pretraining: tokens has no budget for"):
        load_settings(changed("pretraining.tokens", {"bert": 5}))
