"""Bad input of every kind: one readable line that names key or file, value and what is allowed."""

import bz2
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file
from snakemake.utils import update_config
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia.probe.attention import probe_attention
from onelayer.papers.topic_structure.wikipedia.probe.labels import labels_of, variants_of
from onelayer.papers.topic_structure.wikipedia.probe.measures import measure_embeddings
from onelayer.papers.topic_structure.wikipedia.probe.sums import AttentionSums, write_attention_sums
from onelayer.run.provenance import settings_json
from onelayer.settings.probe import UncertaintySettings
from onelayer.settings.root import default_settings, load_settings
from onelayer.text.corpus.storage import write_articles
from onelayer.text.models.checkpoints import forward, load_checkpoint
from onelayer.text.models.folder import check_folders
from onelayer.text.models.tokenizer import load_tokenizer
from onelayer.text.topics.model import Topics, write_topics
from tests.conftest import ROOT, copy_project, run_step, snakemake
from tests.faults.conftest import error_line
from tests.tiny_models import edit_config, save_tiny_bert
from tests.workflow.conftest import merged_config

DEFAULT = default_settings()
PROBED = DEFAULT.probe.attention
WORDS = ["frog", "toad", "newt", "fugue", "sonata", "cello"]


# The workflow.


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project for dry runs."""
    return copy_project(tmp_path_factory.mktemp("bad-input"))


def no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def no_attention(folder: Path) -> None:
    edit_config(folder, model_type="mamba")


def no_fast_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def pickle_only(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "weights.pt")


FOLDERS = {
    no_config: "holds no config.json",
    no_attention: "MambaModel returned attention weights for 0 of 2 layers",
    no_fast_tokenizer: "holds no tokenizer.json: transformers' AutoTokenizer writes it",
    pickle_only: "holds no model.safetensors: found weights.pt, which is pickle and refused",
}


@pytest.mark.parametrize("spoil", FOLDERS)
def test_a_folder_that_cannot_be_probed_is_refused_with_its_key(spoil, tmp_path):
    folder = save_tiny_bert(tmp_path / "mine")
    spoil(folder)
    with pytest.raises(OnelayerError, match=rf"^config: models.mine.local.path: folder {folder}"):
        check_folders({"models.mine.local.path": str(folder)})
    with pytest.raises(OnelayerError, match=FOLDERS[spoil]):
        check_folders({"models.mine.local.path": str(folder)})


LOCAL = {"models": {"mine": {"source": "local", "local": {"path": "nowhere"}}}}


def test_only_folders_that_are_probed_and_not_copied_yet_are_looked_at(tmp_path):
    config = merged_config(None)
    update_config(config, LOCAL)
    assert load_settings(config).new_folders(tmp_path) == {}
    config["models"]["random-mine"] = {"source": "random", "like": "mine"}
    config["topic_structure"]["wikipedia"]["models"].append("random-mine")
    settings = load_settings(config)
    assert settings.new_folders(tmp_path) == {"models.mine.local.path": "nowhere"}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/config.json").touch()
    assert settings.new_folders(tmp_path) == {}


@pytest.mark.workflow
def test_a_folder_that_cannot_be_probed_is_refused_when_settings_are_read(project):
    probed = {"topic_structure": {"wikipedia": {"models": ["minilm", "mine"]}}}
    (project / "overlay.yaml").write_text(yaml.safe_dump(LOCAL | probed))
    run = snakemake(project, "--dry-run", "--configfile", "overlay.yaml")
    assert run.returncode == 1
    message = "config: models.mine.local.path: folder nowhere does not exist"
    assert [line for line in run.stdout.splitlines() if message in line], run.stdout
    assert "Traceback" not in run.stdout and "Job stats" not in run.stdout


@pytest.mark.workflow
@pytest.mark.parametrize(
    "target", ["results/corpus/no-such/articles.arrow", "table_wikipedia_disjoined"]
)
def test_an_unknown_target_is_named(target, project):
    run = snakemake(project, "--dry-run", target)
    assert run.returncode == 1
    assert f"No rule to produce {target}" in run.stdout
    assert "Traceback" not in run.stdout


# Steps by hand: arguments and settings.


def step_line(step: str, *arguments: object) -> str:
    """Run a step that must fail, and return the line in which it says why."""
    return error_line(run_step(ROOT, step, *arguments))


def parse(tmp_path: Path, source: Path, settings: str) -> str:
    line = step_line(
        "parse_articles",
        *("--source", source, "--articles", tmp_path / "out" / "a.arrow"),
        *("--summary", tmp_path / "out" / "s.parquet"),
        *("--settings", settings),
    )
    assert not list(tmp_path.glob("out/*"))
    return line


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("{format: ", "--settings: not JSON: "),
        ('{"parse": {"fromat": "lead-sections"}}', "unknown key 'fromat' (did you mean 'format'?)"),
        ('{"parse": {}}', "--settings: parse.format: field required"),
        ("{}", "--settings: parse: field required"),
    ],
)
def test_bad_settings_by_hand_are_refused_in_one_line(settings, message, tmp_path):
    source = tmp_path / "source"
    source.write_text("{}")
    assert message in parse(tmp_path, source, settings)


def test_a_missing_input_file_is_named(tmp_path):
    line = parse(tmp_path, tmp_path / "nowhere.json", LEAD_SECTIONS)
    assert f"--source: {tmp_path / 'nowhere.json'} does not exist" in line


# Corpora.

LEAD_SECTIONS = '{"parse": {"format": "lead-sections"}}'
DUMP = '{"parse": {"format": "mediawiki-xml"}}'
EMPTY_ENTRY = {"a": {"title": "a", "extract": " \n", "topic": "Arts"}}
EMPTY_DUMP = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"></mediawiki>'


@pytest.mark.parametrize(
    ("content", "settings", "message"),
    [
        (b"\xff\xfe\x00", LEAD_SECTIONS, "not UTF-8 at byte 1"),
        (b"[1", LEAD_SECTIONS, "not a JSON file of lead sections"),
        (json.dumps(EMPTY_ENTRY).encode(), LEAD_SECTIONS, "the corpus is empty"),
        (b"{}", LEAD_SECTIONS, "the corpus is empty"),
        (b"no bzip2", DUMP, "not a complete MediaWiki dump (.xml.bz2)"),
        (b"", DUMP, "not a complete MediaWiki dump (.xml.bz2)"),
        (bz2.compress(b"no XML"), DUMP, "not a complete MediaWiki dump (.xml.bz2)"),
        (bz2.compress(EMPTY_DUMP.encode())[:-8], DUMP, "not a complete MediaWiki dump"),
        (bz2.compress(EMPTY_DUMP.encode()), DUMP, "the corpus is empty"),
    ],
)
def test_a_corpus_that_is_none_is_refused_by_name(content, settings, message, tmp_path):
    source = tmp_path / "source"
    source.write_bytes(content)
    line = parse(tmp_path, source, settings)
    assert f"{source}: {message}" in line


# Words and topics.


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    """Forty articles of two kinds, and one that mixes them."""
    texts = ["frog toad newt frog toad"] * 20 + ["fugue sonata cello fugue"] * 20
    texts.append("frog fugue toad sonata newt cello frog toad")
    rows = [(str(i), f"Article {i}", text, None) for i, text in enumerate(texts)]
    path = tmp_path / "articles.arrow"
    write_articles(rows, path, "here")
    return path


def test_settings_that_keep_no_word_are_named(articles, tmp_path):
    line = step_line(
        "count_words",
        *("--articles", articles, "--vocabulary", tmp_path / "out" / "words.parquet"),
        *("--counts", tmp_path / "out" / "counts.npz"),
        *("--settings", settings_json(words=DEFAULT.topics.words.but(min_documents=30))),
    )
    assert "topics.words: no word of 41 articles has min_letters 3, min_documents 30" in line
    assert not list(tmp_path.glob("out/*"))


def test_a_threshold_that_empties_a_topic_names_both(tmp_path):
    vocabulary, topics = tmp_path / "words.parquet", tmp_path / "lda.safetensors"
    table = {"word": sorted(WORDS), "documents": 20, "occurrences": 40}
    pd.DataFrame(table).to_parquet(vocabulary)
    # The most probable word of the second topic is more probable still in the first.
    shadowed = np.array([[90, 9, 9, 9, 1, 1], [9, 8, 8, 8, 8, 8]], float)
    write_topics(Topics(shadowed, np.ones(2), np.ones(6)), topics)
    settings = {"overlaps": ["disjoint"], "thresholds": [{"count": 1}]}
    line = step_line(
        "filter_ambiguous_words",
        *("--vocabulary", vocabulary, "--topics", topics),
        *("--kept-words", tmp_path / "out" / "kept.parquet"),
        *("--settings", json.dumps({"ambiguity": settings})),
    )
    assert "topics.ambiguity: threshold top 1, disjoint: leaves no word in topic 1" in line
    assert not list(tmp_path.glob("out/*"))


# The probe.


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A two-layer BERT of a few kilobytes that reads the six words."""
    folder = tmp_path / "model"
    pieces = {piece: i for i, piece in enumerate(["[UNK]", *WORDS])}
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=16,
    )
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel(pieces, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def change_weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def kept_words(tmp_path: Path, topics: list[int]) -> Path:
    """A table in which the six words belong to these topics."""
    table = {"overlap": "disjoint", "threshold": "top 3", "topic": topics, "word": WORDS}
    path = tmp_path / "kept_words.parquet"
    pd.DataFrame(table | {"probability": 0.1}).to_parquet(path)
    return path


@pytest.fixture
def probe(tmp_path: Path, articles: Path, model: Path) -> Callable[..., str]:
    """Run the attention probe on two topics; it must fail, with the line that comes back."""

    def run(**settings: object) -> str:
        out = tmp_path / "probe"
        attention = PROBED.but(**{"max_tokens": 16, "device": "cpu"} | settings)
        line = step_line(
            "probe_attention",
            *("--articles", articles, "--kept-words", kept_words(tmp_path, TWO_TOPICS)),
            *("--model", model, "--by-head", out / "h", "--by-distance", out / "d"),
            *("--by-words", out / "w", "--words", out / "p", "--vectors", out / "v"),
            *("--settings", settings_json(attention=attention, words=[])),
        )
        assert not list(out.glob("*"))
        return line

    return run


TWO_TOPICS = [0, 0, 0, 1, 1, 1]


def test_more_tokens_than_the_model_reads_are_refused(probe):
    message = "probe.attention.max_tokens: 17; this model reads at most 16 tokens"
    assert message in probe(max_tokens=17)


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused_by_name(broken, model, probe):
    name = "encoder.layer.1.attention.self.query.weight"

    def poison(weights: dict[str, torch.Tensor]) -> None:
        weights[name][0, :3] = broken

    change_weights(model, poison)
    assert f"{model}: weights of {name}: 3 of 64 are NaN or infinite" in probe()


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_gpu_that_is_not_there_is_refused(probe):
    assert "device: cuda was asked for, but torch sees no GPU" in probe(device="cuda")


def attention_sums(tmp_path: Path, model: Path, topics: list[int], text: str) -> AttentionSums:
    """Probe three articles of one text."""
    kept = pd.read_parquet(kept_words(tmp_path, topics))
    return probe_attention(
        load_checkpoint(model),
        load_tokenizer(model),
        pd.DataFrame({"id": list("abc"), "text": text}),
        labels_of(kept, [WORDS]),
        variants_of(kept),
        PROBED.but(max_tokens=16),
    )


def test_articles_without_labelled_words_are_refused(tmp_path, model):
    message = "none of 3 articles holds two different words of any topic within 16 tokens"
    with pytest.raises(OnelayerError, match=message):
        attention_sums(tmp_path, model, TWO_TOPICS, "nothing of this is a labelled word")


@pytest.mark.parametrize(
    ("topics", "text", "empty_class"),
    [
        ([0] * 6, "frog toad fugue", "different_topic"),
        (TWO_TOPICS, "frog fugue frog", "same_topic"),
    ],
)
def test_a_pair_class_without_attention_is_named(topics, text, empty_class, tmp_path, model):
    out, vocabulary = tmp_path / "out", tmp_path / "vocabulary.parquet"
    sums = [tmp_path / name for name in ("head.parquet", "distance.parquet", "words.parquet")]
    write_attention_sums(attention_sums(tmp_path, model, topics, text), *sums)
    table = {"word": WORDS, "documents": 20, "occurrences": range(10, 16)}
    pd.DataFrame(table).to_parquet(vocabulary)
    uncertainty = {"document_resamples": 100}
    settings = {"uncertainty": uncertainty, "checkpoint_seeds": []}
    line = step_line(
        "measure_attention",
        *("--kept-words", tmp_path / "kept_words.parquet", "--vocabulary", vocabulary),
        *("--by-head", sums[0], "--by-distance", sums[1], "--by-words", sums[2]),
        *("--measures", out / "m", "--heads", out / "h"),
        *("--settings", json.dumps(settings)),
    )
    words = f"topics.ambiguity: threshold top 3, disjoint: 6 words of {len(set(topics))} topics are"
    assert words in line and f"; {empty_class}: no pairs" in line
    assert not list(out.glob("*"))


@pytest.mark.parametrize(
    ("topics", "empty_class"), [([0] * 6, "different_topic"), (list(range(6)), "same_topic")]
)
def test_a_pair_class_without_words_is_named(topics, empty_class, tmp_path):
    kept = pd.read_parquet(kept_words(tmp_path, topics))
    vectors = np.random.default_rng(0).normal(size=(6, 4))
    message = f"threshold top 3, disjoint: 6 words of .* tokenizer; {empty_class}: no pair"
    with pytest.raises(OnelayerError, match=message):
        measure_embeddings(
            [{"raw": vectors, "output": vectors}],
            variants_of(kept),
            labels_of(kept, [WORDS]),
            np.arange(10, 16),
            UncertaintySettings(),
        )


# Checkpoints.


def test_pickled_weights_are_refused_as_pickle(model):
    (model / "model.safetensors").unlink()
    (model / "pytorch_model.bin").write_bytes(b"anything")
    with pytest.raises(OnelayerError, match=r"found pytorch_model.bin, which is pickle"):
        load_checkpoint(model)


def test_a_folder_without_weights_is_refused(model):
    (model / "model.safetensors").unlink()
    with pytest.raises(OnelayerError, match=r"no weights as \.safetensors: none found"):
        load_checkpoint(model)


def test_remote_code_is_refused(model):
    path = model / "config.json"
    config = json.loads(path.read_text()) | {"auto_map": {"AutoModel": "evil.Model"}}
    path.write_text(json.dumps(config))
    (model / "evil.py").write_text("raise SystemExit('ran remote code')")
    with pytest.raises(OnelayerError, match=r"config\.json asks for remote code \(auto_map\)"):
        load_checkpoint(model)


@pytest.mark.parametrize(
    ("key", "value"), [("_attn_implementation_autoset", True), ("attn_implementation", None)]
)
def test_attention_of_no_repository_is_no_remote_code(model, key, value):
    path = model / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    assert load_checkpoint(model).config._attn_implementation == "eager"


def test_a_configuration_that_is_no_json_is_refused(model):
    (model / "config.json").write_text("{")
    with pytest.raises(OnelayerError, match=r"config\.json: not a JSON object"):
        load_checkpoint(model)


def test_a_missing_tokenizer_is_refused_by_name(model):
    (model / "tokenizer.json").unlink()
    with pytest.raises(OnelayerError, match=f"{model / 'tokenizer.json'}: not a tokenizer"):
        load_tokenizer(model)


def test_a_tokenizer_that_is_no_json_is_refused(model):
    (model / "tokenizer.json").write_text("{")
    with pytest.raises(OnelayerError, match=r"tokenizer\.json: not a tokenizer"):
        load_tokenizer(model)


def test_a_missing_layer_is_refused_and_never_filled_at_random(model):
    def drop(weights: dict[str, torch.Tensor]) -> None:
        for name in [name for name in weights if ".layer.1." in name]:
            del weights[name]

    change_weights(model, drop)
    with pytest.raises(OnelayerError, match=r"16 weights are missing \(encoder\.layer\.1\."):
        load_checkpoint(model)


def test_a_missing_pooler_is_no_fault(model):
    def drop(weights: dict[str, torch.Tensor]) -> None:
        del weights["pooler.dense.weight"], weights["pooler.dense.bias"]

    before = forward(load_checkpoint(model), [1, 2, 3])
    change_weights(model, drop)
    assert torch.equal(forward(load_checkpoint(model), [1, 2, 3]), before)


def test_weights_of_another_shape_are_refused_by_name(model):
    name = "embeddings.word_embeddings.weight"

    def shorten(weights: dict[str, torch.Tensor]) -> None:
        weights[name] = weights[name][:5].contiguous()

    change_weights(model, shorten)
    message = rf"weights of {name}: shape \[5, 8\]; the configuration says \[7, 8\]"
    with pytest.raises(OnelayerError, match=message):
        load_checkpoint(model)


def test_truncated_weights_are_refused_by_name(model):
    path = model / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(OnelayerError, match=f"{model}: transformers cannot load this model"):
        load_checkpoint(model)


@pytest.mark.parametrize(
    "use",
    [
        r"(import|from) +(pickle|cloudpickle|dill|joblib|shelve|marshal)\b",
        r"\b(read|to)_pickle\b",
        r"\btorch\.save\b",
        r"\btorch\.load\((?![^)]*weights_only=True)",
        r"allow_pickle *= *True",
    ],
)
def test_no_pickle_is_read_or_written_anywhere(use):
    assert re.findall(use, all_code()) == []


def test_no_code_of_a_model_is_trusted_anywhere():
    assert "trust_remote_code=True" not in all_code()
    assert "trust_remote_code=False" in all_code()


def all_code() -> str:
    """Code of the library, the steps and the workflow, as one text."""
    files = [
        path
        for folder in ("src", "scripts", "workflow")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in (".py", ".smk", ".yaml")
    ]
    return "\n".join(path.read_text(encoding="utf-8") for path in [ROOT / "Snakefile", *files])
