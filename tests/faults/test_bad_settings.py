"""Bad settings: one line that names the key, the value, what is allowed; exit code not 0."""

import copy

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from onelayer.settings.root import Settings, load
from tests.conftest import ROOT, snakemake

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text())

BAD = {
    "decision_lists.theorem_1.grids": [],
    "decision_lists.value.eta": -1,
    "decision_lists.value.sedes": [1],
    "topics.lda.topics": 0,
    "topics.lda.backend": "mallet",
    "topics.ambiguity.thresholds": [{"count": 0, "beside": 0.001}],
    "probe.attention.documents": "many",
    "portable": "perhaps",
    "corpora.vital-articles.source.sha256": "abc",
    "corpora.vital-articles.parse.format": "docx",
    "models.minilm.source": "cloud",
    "models.random.like": "nobody",
    "models.bert-here.family": "gpt",
    "topic_structure.wikipedia.corpus": "vital-artikels",
    "topic_structure.wikipedia.models": ["minilm", "minillm"],
    "decision_lists.value.seeds": [1, 1],
    "topic_structure.synthetic.model.p_m": 2,
    "scan_snap.scan.seeds": 0,
    "scan_snap.entropy_sweep.initial": "ones",
    "local_to_global.flow.chains": [{"p": 0, "q": 0.5}],
    "local_to_global.transformer.training.optimizer": "lion",
    "unknown_block": {"a": 1},
}


def changed(path, value):
    config = copy.deepcopy(DEFAULT)
    *blocks, key = path.split(".")
    here = config
    for block in blocks:
        here = here[block]
    here[key] = value
    return config


@pytest.mark.parametrize("path", BAD)
def test_a_bad_value_is_one_line_that_names_its_key(path):
    with pytest.raises(SystemExit) as ended:
        load(changed(path, BAD[path]))
    lines = str(ended.value.code).splitlines()
    assert all(line.startswith("config: ") for line in lines)
    assert len(lines) == 1
    # Of an unknown key the block is named, and the key behind it.
    assert all(name in lines[0] for name in path.split(".")), lines


def test_a_mistyped_key_is_named_with_the_nearest_known_one():
    with pytest.raises(SystemExit, match="did you mean 'seeds'"):
        load(changed("decision_lists.value.sedes", [1]))


def test_five_faults_are_named_and_the_others_counted():
    with pytest.raises(SystemExit) as ended:
        load(changed("topics.lda", {}))
    lines = str(ended.value.code).splitlines()
    assert len(lines) == 6 and lines[-1].startswith("config: and ") and lines[-1].endswith(" more")


def test_values_that_do_not_go_together_name_both_sides():
    with pytest.raises(SystemExit, match=r"max_tokens: 4000; .* at most pretraining\.size"):
        load(changed("probe.attention.max_tokens", 4000))


def laid_over(below, above):
    both = {
        key: laid_over(below[key], value)
        if isinstance(value, dict) and isinstance(below.get(key), dict)
        else value
        for key, value in above.items()
    }
    return {**below, **both}


@pytest.mark.parametrize("overlay", ["golden", "inputs", "paper", "quick", "reference"])
def test_the_default_and_all_overlays_are_good(overlay):
    text = (ROOT / f"config/{overlay}.yaml").read_text()
    assert load(laid_over(DEFAULT, yaml.safe_load(text)))


def places(node, path=()):
    """Every path to a value in the default settings."""
    inside = node.items() if isinstance(node, dict) else ()
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


WRONG = [None, -1, 0, 1e400, float("nan"), "x\ny", [], [[]], {}, {"": 1}, 10**30, "\x00", True]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(places(DEFAULT))), st.sampled_from(WRONG))
def test_whatever_is_put_anywhere_is_read_or_refused_in_lines(path, value):
    config = copy.deepcopy(DEFAULT)
    here = config
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    try:
        assert isinstance(load(config), Settings)
    except SystemExit as ended:
        assert all(line.startswith("config: ") for line in str(ended.code).splitlines())


def test_snakemake_ends_with_the_line_and_without_a_traceback(tmp_path):
    overlay = tmp_path / "bad.yaml"
    overlay.write_text("scan_snap: {scan: {sedes: 3}}\n")
    done = snakemake("--directory", tmp_path, "--configfile", overlay, "--dry-run")
    assert done.returncode != 0
    assert "config: scan_snap.scan" in done.stdout
    assert "Traceback" not in done.stdout
    assert not (tmp_path / "results").exists()
