"""Claims about tokenizers and checkpoints, on a tiny BERT made here."""

import pytest
import torch
from tokenizers import Tokenizer, normalizers
from transformers import BertModel

from onelayer.compute.device import resolve_device
from onelayer.errors import OnelayerError
from onelayer.settings.models import CHECKPOINT_FILES
from onelayer.text.models.checkpoints import (
    forward,
    load_checkpoint,
    save_random_checkpoint,
)
from onelayer.text.models.tokenizer import encode, load_tokenizer, piece_ids
from tests.conftest import ROOT, run_step
from tests.tiny_models import save_tiny_bert


@pytest.fixture
def tiny(tmp_path):
    return save_tiny_bert(tmp_path / "tiny")


def test_padding_and_truncation_baked_into_a_tokenizer_are_switched_off(tiny) -> None:
    baked = Tokenizer.from_file(str(tiny / "tokenizer.json"))
    baked.enable_padding(length=50)
    baked.enable_truncation(5)
    baked.save(str(tiny / "tokenizer.json"))
    encoded = encode(load_tokenizer(tiny), "frog toad frog toad frog toad", 100)
    assert len(encoded.ids) == 8


def test_single_piece_words_are_traced_to_their_positions(tiny) -> None:
    encoded = encode(load_tokenizer(tiny), "Frog, froglet! Toad 12 toad", 100)
    # [CLS] frog , frog ##let ! toad [UNK] toad [SEP]
    assert encoded.words == ["frog", "toad", "toad"]
    assert encoded.positions == [1, 6, 8]


def test_of_words_that_are_one_and_the_same_piece_one_is_known(tiny) -> None:
    tokenizer = load_tokenizer(tiny)
    tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=True)
    assert encode(tokenizer, "fróg frog", 9).ids[1:3] == [tokenizer.token_to_id("frog")] * 2
    for words in (["fróg", "toad", "frog"], ["frog", "fróg", "toad"]):
        assert set(piece_ids(tokenizer, words)) == {"frog", "toad"}
    assert list(piece_ids(tokenizer, ["toad", "fróg"])) == ["toad", "fróg"]


def test_a_text_is_cut_after_the_last_whole_word_that_fits(tiny) -> None:
    tokenizer = load_tokenizer(tiny)
    text = "toad froglet froglet toad"
    for most in range(3, 9):
        encoded = encode(tokenizer, text, most)
        assert len(encoded.ids) <= most
        assert encoded.ids[-1] == tokenizer.token_to_id("[SEP]")
        whole = [encode(tokenizer, " ".join(text.split()[:n]), 99).ids for n in range(5)]
        assert encoded.ids == max((ids for ids in whole if len(ids) <= most), key=len)


def test_a_model_without_eager_attention_is_refused(tiny) -> None:
    model = BertModel.from_pretrained(tiny, attn_implementation="sdpa").eval()
    with pytest.raises(OnelayerError, match="eager attention"):
        forward(model, [1, 5, 6, 2])


def test_a_model_in_train_mode_is_refused(tiny) -> None:
    torch.manual_seed(0)
    with pytest.raises(OnelayerError, match="eval mode"):
        forward(load_checkpoint(tiny).train(), [1, 5, 6, 7, 8, 2])


def test_a_random_checkpoint_depends_on_its_seed_alone(tiny, tmp_path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        (tmp_path / name).mkdir()
        torch.rand(3)  # whatever was drawn before must not matter
        save_random_checkpoint(tiny, tmp_path / name, seed)
    weights = [(tmp_path / n / "model.safetensors").read_bytes() for n in "abc"]
    assert weights[0] == weights[1] != weights[2]
    assert (tmp_path / "a" / "tokenizer.json").read_bytes() == (
        tiny / "tokenizer.json"
    ).read_bytes()
    load_checkpoint(tmp_path / "a")


def test_a_step_makes_one_random_checkpoint_per_seed(tiny, tmp_path) -> None:
    files = [tmp_path / name / file for name in ("m-0", "m-3") for file in CHECKPOINT_FILES]
    settings = ("--settings", '{"seeds": [0, 3]}')
    run = run_step(ROOT, "init_random_model", "--like", tiny, "--models", *files, *settings)
    assert run.returncode == 0, run.stderr
    assert sorted(path for path in tmp_path.glob("m-*/*")) == sorted(files)
    for name, seed in (("m-0", 0), ("m-3", 3)):
        (tmp_path / "alone").mkdir(exist_ok=True)
        save_random_checkpoint(tiny, tmp_path / "alone", seed)
        for file in CHECKPOINT_FILES:
            made, alone = tmp_path / name / file, tmp_path / "alone" / file
            assert made.read_bytes() == alone.read_bytes()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_named() -> None:
    with pytest.raises(OnelayerError, match="no GPU"):
        resolve_device("cuda")
    assert resolve_device("auto") == "cpu"
