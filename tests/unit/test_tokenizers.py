"""Tokenizers of every architecture: words are traced to pieces, texts are cut after whole words."""

import pytest

from onelayer.text.models.tokenizer import encode, load_tokenizer, piece_ids
from tests.tiny_models import CAUSAL, ENCODERS, save_tiny


@pytest.fixture
def bert(tmp_path):
    return save_tiny("bert", tmp_path / "bert")


@pytest.mark.parametrize("name", [*ENCODERS, *CAUSAL])
def test_words_are_traced_to_their_only_piece(name, tmp_path):
    tokenizer = load_tokenizer(save_tiny(name, tmp_path / "tiny"))
    encoded = encode(tokenizer, "The frog, the toad; the pond. A froglet! Bach zebra", 64)
    assert encoded.words == ["the", "frog", "the", "toad", "the", "pond", "bach"]
    pieces = piece_ids(tokenizer, ["frog", "toad", "pond", "froglet", "zebra"])
    assert list(pieces) == ["frog", "toad", "pond"]
    read = dict(zip(encoded.words, encoded.positions, strict=True))
    assert [encoded.ids[read[word]] for word in pieces] == list(pieces.values())


def test_a_text_is_cut_after_the_last_whole_word_that_fits(bert):
    tokenizer = load_tokenizer(bert)
    text = "toad froglet froglet toad"
    for most in range(3, 9):
        encoded = encode(tokenizer, text, most)
        whole = [encode(tokenizer, " ".join(text.split()[:n]), 99).ids for n in range(5)]
        assert encoded.ids == max((ids for ids in whole if len(ids) <= most), key=len)


def test_padding_and_truncation_baked_into_a_tokenizer_are_switched_off(bert):
    baked = load_tokenizer(bert)
    baked.enable_padding(length=50)
    baked.enable_truncation(5)
    baked.save(str(bert / "tokenizer.json"))
    assert len(encode(load_tokenizer(bert), "frog toad frog toad frog toad", 100).ids) == 8


def test_of_words_that_are_one_and_the_same_piece_one_is_known(bert):
    for words in (["Frog", "toad", "frog"], ["frog", "Frog", "toad"]):
        assert set(piece_ids(load_tokenizer(bert), words)) == {"Frog", "toad"}
