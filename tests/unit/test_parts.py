"""Claims about corpora in parts: nothing is lost or repeated, and the numbers are those of one."""

import bz2
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia.probe.attention import sample_articles
from onelayer.papers.topic_structure.wikipedia.probe.pairs import WordPairs
from onelayer.papers.topic_structure.wikipedia.probe.sums import AttentionSums, merge_attention_sums
from onelayer.settings.corpus import CorpusSettings, PartSettings, Slice
from onelayer.settings.root import default_settings
from onelayer.settings.topics import WordSettings
from onelayer.text.corpus import bzip2
from onelayer.text.corpus.bzip2 import read_blocks
from onelayer.text.corpus.formats import articles_of, whole
from onelayer.text.corpus.mediawiki import read_dump
from onelayer.text.corpus.rows import Piece
from onelayer.text.corpus.storage import at, read_articles, write_articles
from onelayer.text.topics.bag_of_words import (
    articles_listed,
    count_in_vocabulary,
    count_words,
    merge_words,
    prune,
    read_bag_of_words,
    read_word_list,
    write_word_list,
)
from onelayer.text.topics.bags import write_counts
from onelayer.text.topics.lda import fit_lda
from onelayer.text.topics.quality import measure_topics

SEEN_WORDS = default_settings().topics.words
LDA = default_settings().topics.lda
PROBED = default_settings().probe.attention
PAGE = """<page><title>T{id}</title><ns>{ns}</ns><id>{id}</id><revision><id>1</id>
<text xml:space="preserve">{text}</text></revision></page>
"""
PARTS = [1, 2, 5, 40]


WHOLE = Slice.whole(0)
MOST = Slice(0, Fraction(0), Fraction(99, 100))  # read block by block


def cut(parts: int) -> list[Slice]:
    return [Slice(0, Fraction(part, parts), Fraction(part + 1, parts)) for part in range(parts)]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Articles of three subjects, long and short, one without a word of the vocabulary."""
    random = np.random.default_rng(0)
    words = np.array([f"{a}{b}{c}" for a in "frog" for b in "toad" for c in "newt"])
    subjects = np.array_split(random.permutation(np.unique(words)), 3)
    drawn = [random.choice(subjects[i % 3], size=random.integers(3, 60)) for i in range(58)]
    return [" ".join(some) for some in drawn] + ["42 !", "the of and"]


@pytest.fixture(scope="module")
def pages() -> list[bytes]:
    """Pages of random letters, which take several blocks; a redirect, a talk page, a long one."""
    random = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz    "))
    sizes = random.integers(100, 9000, size=60)
    sizes[30] = 250_000
    bodies = ["".join(random.choice(letters, size=size)).strip() for size in sizes]
    bodies[3] = "#REDIRECT [[T5]]"
    return [
        PAGE.format(id=i, ns=int(i == 7), text=body).encode() for i, body in enumerate(bodies, 1)
    ]


HEAD = b'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">\n'
TAIL = b"</mediawiki>\n"


def one_stream(pages: list[bytes]) -> bytes:
    return bz2.compress(HEAD + b"".join(pages) + TAIL, 1)


def many_streams(pages: list[bytes]) -> bytes:
    batches = [b"".join(pages[i : i + 10]) for i in range(0, len(pages), 10)]
    return b"".join(bz2.compress(text) for text in (HEAD, *batches, TAIL))


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("files", [1, 4])
def test_the_parts_of_a_corpus_cover_its_files_once(parts, files):
    settings = [
        PartSettings(format="parquet", part=part, parts=parts, files=files) for part in range(parts)
    ]
    at = Fraction(0)
    for piece in (piece for part in settings for piece in part.read):
        assert piece.file + piece.start == at and piece.start < piece.end <= 1
        at = piece.file + piece.end
    assert at == files


@pytest.mark.parametrize("parts", [1, 2, 5, 10])
@pytest.mark.parametrize("format", ["parquet", "lines", "text"])
def test_parts_of_rows_have_each_article_once_and_in_order(parts, format, tmp_path):
    paths = [tmp_path / str(file) for file in range(3)]
    for path, size in zip(paths, (6, 1, 2), strict=True):
        texts = [f"text {i} of {path.name}" for i in range(size)]
        if format == "parquet":
            pd.DataFrame({"text": texts}).to_parquet(path, row_group_size=2)
        else:
            path.write_text("\n".join(texts))
    found = []
    for part in range(parts):
        settings = PartSettings(format=format, part=part, parts=parts, files=3)
        pieces = [Piece(paths[piece.file], piece) for piece in settings.read]
        found += articles_of(pieces, settings, tmp_path / "scratch")
    assert len(found) == (3 if format == "text" else 9)
    assert found == list(articles_of(whole(paths), settings, tmp_path / "scratch"))


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("compress", [one_stream, many_streams])
def test_parts_of_a_dump_have_each_article_once_and_in_order(parts, compress, pages, tmp_path):
    path = tmp_path / "dump.xml.bz2"
    path.write_bytes(compress(pages))
    everything = [article for article in read_dump(path, WHOLE) if article[2].strip()]
    assert len(everything) == 58
    found = [article for part in cut(parts) for article in read_dump(path, part)]
    found = [article for article in found if article[2].strip()]  # as when they are written
    assert found == everything


@pytest.mark.parametrize("window", [1 << 22, 11])
@pytest.mark.parametrize("compress", [one_stream, many_streams])
def test_blocks_are_those_of_the_file(compress, window, pages, tmp_path, monkeypatch):
    monkeypatch.setattr(bzip2, "_WINDOW", window)  # marks stand across two reads, too
    path = tmp_path / "dump.xml.bz2"
    path.write_bytes(compress(pages))
    blocks = list(read_blocks(path, 0))
    assert len(blocks) > 3
    assert b"".join(text for _, text in blocks) == bz2.decompress(path.read_bytes())


@pytest.mark.parametrize("keep", [0.3, 0.7])
def test_a_dump_that_is_cut_off_or_none_is_refused_by_name(keep, pages, tmp_path):
    path = tmp_path / "dump.xml.bz2"
    content = one_stream(pages)
    path.write_bytes(content[: int(keep * len(content))])
    with pytest.raises(OnelayerError, match=f"{path}: not a complete MediaWiki dump"):
        list(read_dump(path, Slice(0, Fraction(1, 10), Fraction(1))))
    path.write_bytes(b"not compressed")
    with pytest.raises(OnelayerError, match=f"{path}: not a complete MediaWiki dump"):
        list(read_dump(path, MOST))


def test_a_damaged_block_is_refused(pages, tmp_path):
    path = tmp_path / "dump.xml.bz2"
    content = bytearray(many_streams(pages))
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    with pytest.raises(OnelayerError, match="not a complete MediaWiki dump"):
        list(read_dump(path, MOST))


def stored(texts: list[str], settings: WordSettings, parts: int, folder: Path):
    """The bag of words of a corpus in parts, made as the steps make it."""
    pieces = [list(piece) for piece in np.array_split(np.array(texts, dtype=object), parts)]
    listed = [folder / f"words-{part}.parquet" for part in range(parts)]
    for piece, path in zip(pieces, listed, strict=True):
        write_word_list(piece, settings.min_letters, path)
    articles = sum(map(articles_listed, listed))
    vocabulary = prune(merge_words([read_word_list(p) for p in listed]), articles, settings)
    vocabulary.to_parquet(folder / "vocabulary.parquet", index=False)
    counts = [folder / f"counts-{part}.safetensors" for part in range(parts)]
    for piece, path in zip(pieces, counts, strict=True):
        write_counts(count_in_vocabulary(piece, vocabulary), path)
    return read_bag_of_words(folder / "vocabulary.parquet", counts)


@pytest.mark.parametrize("parts", [1, 3, 60, 70])
@pytest.mark.parametrize("most", [None, 11])
def test_words_of_parts_are_those_of_the_whole(parts, most, texts, tmp_path):
    settings = SEEN_WORDS.but(min_documents=3, max_document_share=0.3, max_words=most)
    whole = count_words(texts, settings)
    assert len(whole.vocabulary) == (most or len(whole.vocabulary)) > 10
    bag = stored(texts, settings, parts, tmp_path)
    pd.testing.assert_frame_equal(bag.vocabulary, whole.vocabulary, check_dtype=False)
    assert (bag.size, bag.lengths.sum()) == (whole.size, whole.lengths.sum())
    order = np.random.default_rng(2).permutation(whole.size)
    assert (bag.lengths == whole.lengths).all()
    for how in (None, order):
        pairs = zip(bag.documents(how), whole.documents(how), strict=True)
        assert all(np.array_equal(*pair) for pair in pairs)
    together = np.concatenate([part.toarray() for part in bag.parts()])
    assert (together == whole.counts.toarray()).all()


def test_the_most_widespread_words_are_kept_and_ties_are_alphabetical():
    texts = ["ccc bbb aaa", "ccc bbb", "ccc ddd eee eee eee", "ddd"]
    settings = SEEN_WORDS.but(min_documents=1, max_document_share=1, max_words=3)
    assert [*count_words(texts, settings).vocabulary["word"]] == ["bbb", "ccc", "ddd"]


def test_topics_of_parts_are_those_of_the_whole_to_the_last_bit(texts, tmp_path):
    settings = SEEN_WORDS.but(min_documents=2, max_document_share=0.5)
    lda = LDA.but(topics=3, passes=2, chunksize=7)
    whole, bag = count_words(texts, settings), stored(texts, settings, 4, tmp_path)
    topics = fit_lda(whole, lda)
    assert (fit_lda(bag, lda).dirichlet == topics.dirichlet).all()
    labels = [str(i % 3) for i in range(len(texts))]
    one, several = (measure_topics(b, topics, labels, lda, 4) for b in (whole, bag))
    for name in ("quality", "words", "shares"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(several, name), rtol=0)


def test_gibbs_sampling_refuses_a_corpus_in_parts(texts, tmp_path):
    bag = stored(texts, SEEN_WORDS.but(min_documents=2, max_document_share=0.5), 2, tmp_path)
    with pytest.raises(OnelayerError, match="for one in parts use gensim"):
        fit_lda(bag, LDA.but(backend="tomotopy", topics=2))


def test_articles_are_found_by_their_place_in_all_parts(tmp_path):
    paths = [tmp_path / f"{part}.arrow" for part in range(3)]
    for part, (path, size) in enumerate(zip(paths, (4, 0, 7), strict=True)):
        rows = [(f"{part}-{i}", "", "text", None) for i in range(size)]
        write_articles(rows, path, "here", may_be_empty=True)
    articles = read_articles(paths)
    assert len(articles) == 11
    assert at(articles, np.array([1, 3, 4, 10]))["id"][:] == ["0-1", "0-3", "2-0", "2-6"]


def test_probed_articles_come_from_the_whole_corpus_and_from_each_place_once(tmp_path):
    path = tmp_path / "articles.arrow"
    write_articles([(f"{place:03}", "", "text", None) for place in range(200)], path, "here")
    settings = PROBED.but(documents=50, parts=2)
    drawn = sample_articles([path], settings)["id"].tolist()
    assert drawn == sorted(set(drawn)) and len(drawn) == 50
    assert drawn[0] < "050" and drawn[-1] >= "150"
    parts = [sample_articles([path], settings, part)["id"].tolist() for part in range(2)]
    assert [*parts[0], *parts[1]] == drawn
    other = sample_articles([path], settings.model_copy(update={"seed": 1}))["id"].tolist()
    assert other != drawn


def test_articles_of_two_parts_that_have_one_id_are_refused(tmp_path):
    paths = [tmp_path / f"{part}.arrow" for part in range(2)]
    for path in paths:
        write_articles([("7", "", "a frog", None)], path, "here")
    with pytest.raises(OnelayerError, match=f"^{tmp_path}: two articles have the same id '7'; "):
        sample_articles(paths, PROBED)


def test_attention_sums_of_parts_add_up():
    def sums(documents: list[str], query: list[int], value: float) -> AttentionSums:
        places = np.array(query), np.array([1] * len(query)), np.array([3] * len(query))
        pairs = WordPairs(*places, np.full(len(query), value), np.array(query))
        cells, heads = np.full((len(documents), 1), value), np.full((1, 2), value)
        return AttentionSums(documents, [], heads, cells, cells, pairs, ("a", "b", "c"))

    parts = (sums(["x", "y"], [0, 2], 1.5), sums(["z"], [2], 0.25))
    merged = merge_attention_sums(part for part in parts)
    assert merged.documents == ["x", "y", "z"]
    assert merged.head_sums.tolist() == [[1.75, 1.75]]
    assert merged.distance_sums.ravel().tolist() == [1.5, 1.5, 0.25]
    assert merged.word_pairs.query.tolist() == [0, 2]
    assert merged.word_pairs.distance.tolist() == [3, 3]
    assert merged.word_pairs.sums.tolist() == [1.5, 1.75]
    assert merged.word_pairs.counts.tolist() == [0, 4]


@pytest.mark.parametrize(
    ("parse", "message"),
    [
        ({"format": "wikitext"}, "format wikitext cannot be cut"),
        ({"format": "parquet", "max_articles": 5}, "either parts or max_articles"),
    ],
)
def test_what_cannot_be_cut_in_parts_is_refused(parse, message):
    with pytest.raises(ValueError, match=message):
        CorpusSettings(source={"paths": ["a"]}, parse=parse, parts=2, credit="nobody")


@pytest.mark.parametrize("parts", [1, 3, 128])
def test_every_part_of_a_dataset_is_fetched_where_it_is_parsed(parts):
    source = {"dataset": "a/b", "revision": "a" * 40}
    corpus = CorpusSettings(
        source=source, parse={"format": "parquet"}, parts=parts, credit="nobody"
    )
    files = corpus.files("here")
    fetched = [corpus.fetched(file.removeprefix("here/").removesuffix(".arrow")) for file in files]
    assert [(part.part, part.parts) for part in fetched] == [(p, parts) for p in range(parts)]
    read = [corpus.files_of_part("here", name) for name in corpus.part_names()]
    assert read == ([] if parts == 1 else [[file] for file in files])


def test_a_dump_of_several_files_can_be_read_in_parts():
    corpus = CorpusSettings(
        source={"paths": ["a.bz2", "b.bz2"]},
        parse={"format": "mediawiki-xml"},
        parts=11,
        credit="nobody",
    )
    assert corpus.part_names()[:2] == ["00-of-11", "01-of-11"]
    assert corpus.articles("here")[-1] == "here/articles/10-of-11.arrow"
    assert [piece.file for piece in corpus.part("05-of-11").read] == [0, 1]
