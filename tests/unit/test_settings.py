"""Claims about the typed settings, and the one line in which each wrong value is refused."""

import copy
import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import yaml

from onelayer.errors import OnelayerError
from onelayer.settings.block import Block, Computing, Threaded
from onelayer.settings.pretraining import (
    AdamWSettings,
    ObjectiveSettings,
    PretrainingSettings,
    PublishedRow,
    SizeSettings,
    TextSettings,
    TrainingSettings,
)
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.root import Settings, load_settings
from onelayer.settings.topics import Threshold
from tests.conftest import ROOT, snakemake

DEFAULT = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))

# Of each kind of bound one row: bad values of every key are tried in test_generated_settings.py.
# Key and wrong value in YAML; then how the line goes on after `config: `. In it `@` is the key, and
# `...` leaves out some of its text.
REFUSED = r"""
# Keys that nobody knows, keys that are missing.
topics.lda.pases: 3 => topics.lda: unknown key 'pases' (did you mean 'passes'?)
topic: {} => (top level): unknown key 'topic' (did you mean 'topics'?)
prob: {} => (top level): unknown key 'prob' (did you mean 'probe'?) ... corpora
models.minilm.notee: x => models.minilm: unknown key 'notee' (did you mean 'note'?)
local_to_global.ablation.variants: [{name: x, weightdecay: 0.1}] =>
    @.0: unknown key 'weightdecay' (did you mean 'weight_decay'?)
topic_structure.wikipedia: {models: [minilm]} => @.corpus: field required

# Corpora.
corpora.dump-excerpt.parse: {max_articles: 5} => @.format: field required
corpora.mine: {source: {dataset: a/b, revision: x, confg: y}, credit: me} =>
    @.source: unknown key 'confg' (did you mean 'config'?)
corpora.mine: {source: {dataset: a/b, revision: main}, parse: {format: json}} =>
    @.source.revision: a revision is the 40 hexadecimal digits of a commit
corpora.mine: {source: {dataset: a/b, revision: 0123456789abcdef0123456789abcdef01234567},
    parse: {format: mediawiki-xml}, credit: me} =>
    @: format mediawiki-xml is of files; of a dataset: parquet, json, csv
corpora.mine: {source: {paths: [a]}, parse: {format: lines, columns: {text: a}}, credit: me} =>
    @: parse.columns: format lines has no columns to name
corpora.mine: {source: {paths: [a]}, parse: {format: csv, columns: {body: a}}, credit: me} =>
    @.parse.columns.body: input should be 'id', 'title', 'text' or 'label'
corpora.mine: {source: {paths: [a, b]}, parse: {format: mediawiki-xml}, credit: me} =>
    @: format mediawiki-xml reads one file, 2 are given

# Models.
models.minilm.source: web => models.minilm: input tag 'web' found using 'source' does not match any
    of the expected tags: 'wheel', 'hub', 'local', 'series', 'pretrain', 'random'
models.minilm.wheel.files: {config.json: abc} => @.config.json: ... found 'abc'
models.electra-here.width: 130 => @: 130; pretraining.size.heads, 4, must divide it
models.electra-here.tied: false => models.electra-here: tied: electra is trained with tied
    embeddings alone
models.random.like: minlim => @: unknown name 'minlim' (did you mean 'minilm'?)
models.random.like: random => @: unknown name 'random'; known: ... minilm
corpora.mine: {source: {paths: ["a/{corpus}.txt"]}, parse: {format: text}, credit: me} =>
    @.source.paths.0: {corpus} in a/{corpus}.txt would be a wildcard to Snakemake; rename it
models.mine: {source: local, local: {path: "d{input,a{3,5}}"}} =>
    @.local.path: {input,a{3,5}} in d{input,a{3,5}} would be a wildcard to Snakemake; rename it
models.mine: {source: local, local: {path: </script>}} =>
    @.local.path: a path is one line, not empty, and without <
models.mine: {source: local, local: {path: "a\nb"}} =>
    @.local.path: a path is one line, not empty, and without <
models.mine: {source: local, local: {path: " "}} =>
    @.local.path: a path is one line, not empty, and without <
models.mine: {source: hub, hub: {repository: a/b, revision: main}} =>
    @.hub.revision: a revision is the 40 hexadecimal digits of a commit
models.mine: {source: hub, hub: {repository: a/b}} =>
    @.hub: no revision is given: a revision is the 40 hexadecimal digits
models.mine: {source: series, hub: {repository: a/b, revisions: {1000: step1000}}} =>
    @.hub.revisions.1000: a revision is the 40 hexadecimal digits
models.mine: {source: series} => @: a series has checkpoints in `folders` or in revisions of a `hub`
models.mine: {source: series, folders: {0: a}} =>
    @.folders.0: input should be greater than or equal to 1, found 0
{models.mine: {source: series, folders: {9: a}}, topic_structure.wikipedia.models: [mine]} =>
    topic_structure.wikipedia.models: unknown name 'mine' (did you mean 'mine-9'?)
{models.a: {source: series, folders: {9: x}}, models.a-9: {source: local, local: {path: y}}} =>
    models.a-9: a checkpoint of a series has this name
{models.bert-here-0: {source: local, local: {path: y}}} =>
    models.bert-here-0: bert-here-NUMBER is the name of a checkpoint of bert-here; choose another
{models.bert-here-7: {source: local, local: {path: y}}} =>
    models.bert-here-7: bert-here-NUMBER is the name of a checkpoint of bert-here; choose another
{models.random-07: {source: pretrain, family: bert}} => models.random-07: random-NUMBER is
models.bert-here.seeds: [0, 0, 0] => @: 0 is given twice; each once, found [0, 0, 0]
models.mine: {source: hub, hub: {repository: foo/bar--baz,
    revision: 0123456789abcdef0123456789abcdef01234567}} =>
    @.hub.repository: a hub has no repository whose name has -- or .., or ends in .git
models.mine: {source: hub, hub: {repository: foo/bar.git,
    revision: 0123456789abcdef0123456789abcdef01234567}} =>
    @.hub.repository: a hub has no
models.mine: {source: hub, hub: {repository: foo/bar.,
    revision: 0123456789abcdef0123456789abcdef01234567}} =>
    @.hub.repository: string should match
models.mine: {source: hub, hub: {repository: foö/bar,
    revision: 0123456789abcdef0123456789abcdef01234567}} =>
    @.hub.repository: string should match
pretraining.tokens: {bert: 5} => pretraining: tokens has no budget for
pretraining.corpus: [vital-articles, nowhere] => @: unknown name 'nowhere'

# Topics.
topics.words.max_document_share: .nan => @: input should be a finite number, found nan
topics.words.single_piece_in: [bert] => @: unknown name 'bert'
topics.lda.topics: 1 => @: input should be greater than or equal to 2, found 1
topics.lda.topics: many => @: input should be a valid integer
{topics.lda.passes: 0, topics.lda.decay: 7} => topics.lda.passes: ... topics.lda.decay: ... found 7
topics.lda.alpha: 0 => @: ... greater than 0
topics.lda.backend: mallet => @: ... 'tomotopy', found 'mallet'
topics.ambiguity.thresholds: [] => @: ... at least 1
topics.ambiguity.thresholds: [{count: 5}, {count: 5}] => @: top 5 is given twice
topics.ambiguity.thresholds: [{count: 5, fraction: 0.1}] => @.0: give either count or fraction

# The probe, and tables of the topic structure.
topic_structure.wikipedia.corpus: vital-article =>
    @: unknown name 'vital-article' (did you mean 'vital-articles'?);
    known: dump-excerpt, vital-articles
topic_structure.wikipedia.models: minilm => @: input should be a valid list, found 'minilm'
topic_structure.wikipedia.models: [minlm] =>
    @: unknown name 'minlm' (did you mean 'minilm'?) ... random
topic_structure.wikipedia.models: [minilm, random, minilm] => @: minilm is given twice
topic_structure.wikipedia.reading.models: [mnilm] => @: unknown name 'mnilm' (did you mean 'minilm'
{portable: true, scan_snap.language_model.device: cuda} =>
    scan_snap.language_model.device: cuda; a portable run computes on the CPU
topic_structure.wikipedia.over_tokens.series: [minilm] => @: unknown name 'minilm'
topic_structure.robustness.models: [minlm] => @: ... did you mean 'minilm'
topic_structure.choices.topics: [50, 60] => topic_structure: ... 60 is none of robustness.topics
topic_structure.robustness.backends: [gensim, mallet] => @.1: ... 'tomotopy', found 'mallet'
topic_structure.synthetic.theory.tau: 12 =>
    topic_structure.synthetic: theory.tau: 12 must be below T = 10
topic_structure.synthetic.stage_two.taus: [2, 10] =>
    topic_structure.synthetic: stage_two.taus: 10 must be below T = 10
topic_structure.synthetic.stage_gradients.settings: [b] => @: unknown name 'b'
{topic_structure.synthetic.model.p_c: 0.6, topic_structure.synthetic.model.p_r: 0.6} =>
    topic_structure.synthetic.model: p_c + p_r = 1.2: at most 1
topic_structure.synthetic.attention.N: [150, 100] =>
    topic_structure.synthetic.attention: words N = [150, 100]: fewest, then most
topic_structure.synthetic.attention.documents: 10 =>
    topic_structure.synthetic: attention.documents = 10: at least one batch of 40

# Decision lists.
decision_lists.shown: [{L: 16, n: 4, m: 5}] => @.0: m = 5 ... up to n = 4
decision_lists.shown: [{L: 4, n: 4, m: 5}] => @.0: m = 5 ... at most L = 4
decision_lists.shown: [{L: 4, n: 5, m: 2}] => @.0: n = 5 ... at most L = 4
decision_lists.shown: [{L: 99, n: 4, m: 2}] => decision_lists: shown: ... at most 64, found 99
decision_lists.shown: [{L: 20, n: 4, m: 2}] =>
    decision_lists: shown: L 20, n 4, m 2 has no run ... L 16, n 4
decision_lists.theorem_1.grids: [{L: [16], n: [4, 32], m: [2]}] => @.0: n = 32 ... at most L = 16
decision_lists.theorem_1.grids: [{L: [8], n: [8], m: [2]}] =>
    @.0: ... own token never determines a label; allowed from L = 9
decision_lists.theorem_1.grids: [{L: [16], n: [4], m: [4, 3], shortest: 3}] =>
    @.0: shortest = 3: must be below m = 3
decision_lists.attention.runs: [{L: 64, n: 8, m: 2, method: full}] =>
    @.0: n = 8 of L = 64 ... too many to enumerate
decision_lists.attention.runs: [{L: 12, n: 4, m: 2, method: sgd}] =>
    @.0: input tag 'sgd' ... 'descent'
decision_lists.attention.runs: [{L: 12, n: 4, m: 2, method: full, shortest: 2}] =>
    @.0: shortest = 2: must be below m = 2
decision_lists.attention.runs: [{L: 12, n: 4, m: 2, method: full, eta: 1}] => @.0: unknown key 'eta'
decision_lists.attention.runs: [&run {L: 12, n: 4, m: 2, method: full}, *run] =>
    @: ... method full is given twice
decision_lists.joint.near: [{L: 64, n: 8, m: 2, epsilon: [1]}] => @.0: ... too many to enumerate
decision_lists.joint.near: [{L: 12, n: 4, m: 2, epsilon: [1], scale: theorem_1}] =>
    decision_lists.joint: near: ... no table of Theorem 2
decision_lists.joint.small: [&run {L: 12, n: 4, m: 2, optimiser: gd, eta: 1}, *run] =>
    @: ... eta 1.0 ... given twice
decision_lists.value.sizes: [{L: 64, n: 8, m: 2}] => @.0: ... too many to enumerate

# Scan and snap.
scan_snap.scan.num_last: [1, 2] => scan_snap: scan.num_last: one size; found [1, 2]
scan_snap.scan.lr_Z: [1.0, 2.0] => scan_snap: scan.lr_Z: one rate
scan_snap.scan.every: 2 => scan_snap: scan.every: must be 1 ... found 2
scan_snap.scan.momentum: 1.0 => @: ... less than 1, found 1.0
scan_snap.phase_map.lr_Z: {low: 2, high: 1, points: 5} => @: ... low must be less than high
scan_snap.phase_map.lr_Z: {low: 100.00001, high: 100, points: 5} =>
    @: ... found 100.00001 and 100
scan_snap.language_model.corpus: wiki => @: unknown name 'wiki'; known: dump-excerpt
scan_snap.language_model.trainings: [{name: x, optimizer: adam, lr: 1, lr_feed_forward: 1,
    corpus: wiki}] => @: corpus: unknown name 'wiki'; known: dump-excerpt
scan_snap.language_model.maps_at: [2000] =>
    scan_snap.language_model: maps_at must lie within iterations (1500)
scan_snap.language_model.width: 7 => @: ... multiple of 2

# Local to Global.
local_to_global.transformer.chain: {p: 0.2, q: 0.8} =>
    @: p = 0.2, q = 0.8: p + q = 1 ... below or above 1
local_to_global.transformer.snapshots: [1, 900] =>
    local_to_global.transformer: snapshots: 900 ... 500
local_to_global.transformer.training.embedding_rows: 2 =>
    local_to_global.transformer: training.embedding_rows: ... one row
local_to_global.flow.chains: [{p: 0.1, q: 0.1}, {p: 0.3, q: 0.7}] => @.1: ... p + q = 1
local_to_global.flow.chains: [{p: 0.9, q: 0.9}, {p: 0.8, q: 0.7}] =>
    local_to_global.flow: chains: at least one with p + q < 1
local_to_global.flow.chains: [{p: 0.1, q: 0.1}, {p: 0.9, q: 0.9}, {p: 0.1, q: 0.1}] =>
    @: p 0.1, q 0.1 is given twice
local_to_global.flow.sigmas: [0.5, 0.02] => local_to_global.flow: sigmas: ... ascending
local_to_global.ablation.variants: [{name: x}, {name: x, lr: 1.0}] =>
    @: x is given twice
local_to_global.ablation.variants: [{name: x, initialisation: rank_one, embedding_rows: 2}] =>
    @.0: embedding_rows: ... one row
local_to_global.open_problems: {sources: [{name: x, transitions: [[0.5, 0.6], [0.5, 0.5]]}]} =>
    @.sources.0: ... [0.5, 0.6] ... 2 probabilities that sum to 1
local_to_global.open_problems: {sources: [{name: x, transitions: [&row [0.5, 0.5], *row, *row]}]} =>
    @.sources.0: ... 3 rows ... 2 rows, or 4
local_to_global.open_problems: {sources: [&x {name: x, transitions: [&r [0.5, 0.5], *r]}, *x]} =>
    @.sources: x is given twice
# Stability.
stability.two_stages.settings: ["cross-entropy, SGD 2, noise .1"] => @: unknown name
    'cross-entropy, SGD 2, noise .1' (did you mean 'cross-entropy, SGD 2, noise .01'?)
stability.transformers.variants: [65 inputs] =>
    @: unknown name '65 inputs' (did you mean '64 inputs'?)
stability.joint_training.sizes: [{L: 13, n: 4, m: 2}] => @: unknown name 'L 13, n 4, m 2'
stability.machines: [{name: a}, {name: a}] => @: a is given twice
stability.machines: [{name: a, requires: [avx2]}, {name: b}] =>
    stability: machines: a comes first and must be there for the others
"""
CASES = {
    case: said
    for row in re.findall(r"^[^#\s].*(?:\n .*)*", REFUSED, re.M)
    for case, said in [re.sub(r"\s+", " ", row).split(" => ")]
}
# Snakemake hands over what it has read in one place; one fault of each kind goes all the way.
THROUGH_SNAKEMAKE = [
    "topics.lda.pases: 3",
    "topics.lda.topics: 1",
    "models.mine: {source: hub, hub: {repository: a/b}}",
    "topic_structure.wikipedia.corpus: vital-article",
]


def changed(case: str, config: dict) -> dict:
    """The configuration with the values of a case at their keys."""
    for path, value in yaml.safe_load(case).items():
        place = config
        *parents, last = path.split(".")
        for key in parents:
            place = place.setdefault(key, {})
        place[last] = value
    return config


def refusal(case: str) -> str:
    """The line that refuses a case, as an expression."""
    said = CASES[case].replace("@", case.partition(": ")[0])
    return "config: " + ".*".join(map(re.escape, said.split(" ... ")))


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_value_is_refused_in_one_line(case) -> None:
    with pytest.raises(OnelayerError) as refused:
        load_settings(changed(case, copy.deepcopy(DEFAULT)))
    message = str(refused.value)
    assert "\n" not in message
    assert re.match(refusal(case), message), message


@pytest.mark.workflow
@pytest.mark.parametrize("case", [*THROUGH_SNAKEMAKE, "topics: {lda: ["])
def test_a_bad_overlay_is_refused_in_one_line(case, fresh) -> None:
    known = case in CASES
    overlay = yaml.safe_dump(changed(case, {})) if known else case
    line = refusal(case) if known else "Config file is not valid JSON or YAML"
    (fresh / "overlay.yaml").write_text(overlay, encoding="utf-8")
    run = snakemake(fresh, "--dry-run", "--configfile", "overlay.yaml")
    assert run.returncode == 1
    assert re.search(line, run.stdout), run.stdout
    assert "Traceback" not in run.stdout


def test_the_default_is_valid() -> None:
    settings = load_settings(DEFAULT)
    assert settings.topics.lda.topics == 50
    assert settings.checkpoints("random") == [f"random-{seed}" for seed in range(3)]
    assert settings.checkpoints("minilm") == ["minilm"]


# Blocks whose defaults stand in the class, as do those of entries of lists and maps, of which each
# may leave out some; all others stand in config.yaml.
TRAINED = "how every small model is trained, no experiment"
IN_THE_CLASS = {
    Threaded: "how a step computes, not what",
    Computing: "how a step computes, not what",
    UncertaintySettings: "those of onelayer.probe_topic_structure",
    Threshold: "entries of topics.ambiguity.thresholds",
    **dict.fromkeys([TrainingSettings, PretrainingSettings, SizeSettings], TRAINED),
    **dict.fromkeys([ObjectiveSettings, AdamWSettings, TextSettings], TRAINED),
}


def misplaced(found: object, said: Any, path: str = "", entry: bool = False) -> Iterator[str]:
    """Keys with a default in the class that belongs in config.yaml, or stands there again."""
    entries = dict(enumerate(found)) if isinstance(found, list) else found
    for key, one in entries.items() if isinstance(entries, dict) else ():
        yield from misplaced(one, said[key], f"{path}{key}.", True)
    for name, field in type(found).model_fields.items() if isinstance(found, Block) else ():
        owner = next(one for one in type(found).__mro__ if name in one.__annotations__)
        if not field.is_required() and not entry and owner not in IN_THE_CLASS:
            yield f"{path}{name}: has a default in {owner.__name__}"
        if name in said:
            if said[name] == field.get_default():
                yield f"{path}{name}: {said[name]} is the default of {owner.__name__}"
            yield from misplaced(getattr(found, name), said[name], f"{path}{name}.", entry)


def test_a_default_stands_in_one_place_and_config_yaml_shows_every_experiment() -> None:
    assert [*misplaced(Settings.model_validate(DEFAULT), DEFAULT)] == []
    again = changed("probe.attention.device: auto", copy.deepcopy(DEFAULT))
    [found] = misplaced(Settings.model_validate(again), again)
    assert found == "probe.attention.device: auto is the default of Computing"


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
    settings = load_settings(changed(f"pretraining.tokens: {budget}", copy.deepcopy(DEFAULT)))
    here = [name for name, model in DEFAULT["models"].items() if model["source"] == "pretrain"]
    assert {settings.pretraining_of(name, 0).tokens for name in here} == {budget}


def test_a_grid_of_gaps_may_leave_a_number_as_it_is() -> None:
    for key in ("taus", "v", "T", "p_m", "p_c", "d"):
        case = f"topic_structure.synthetic.gap_grid.{key}: []"
        settings = load_settings(changed(case, copy.deepcopy(DEFAULT)))
        assert getattr(settings.topic_structure.synthetic.gap_grid, key) == []


def test_other_numbers_of_documents_are_probed_at_once() -> None:
    case = "probe.attention.parts: 200"
    probing = load_settings(changed(case, copy.deepcopy(DEFAULT))).probe.attention.of(300)
    assert (probing.documents, probing.parts) == (300, 1)


def test_a_model_is_set_beside_a_row_that_is_published() -> None:
    rows = (ROOT / "workflow/reference/topic_structure_wikipedia.csv").read_text().splitlines()[1:]
    assert {row.split(",")[1] for row in rows} == set(get_args(PublishedRow))


def test_each_family_has_its_own_budget() -> None:
    budgets = DEFAULT["pretraining"]["tokens"]
    settings = load_settings(DEFAULT)
    for name, model in DEFAULT["models"].items():
        if model["source"] == "pretrain":
            assert settings.pretraining_of(name, 0).tokens == budgets[model["family"]]
