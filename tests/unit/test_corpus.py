"""Claims about corpora: every format, what counts as an article, and files that are not whole."""

import bz2
import gzip
import json
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onelayer.errors import OnelayerError
from onelayer.settings.corpus import ParseSettings
from onelayer.text.corpus.articles import (
    COLUMNS,
    read_articles,
    read_column,
    tokens,
    words,
    write_articles,
)
from onelayer.text.corpus.formats import read_corpus

ROWS = {
    "id": ["007", "1e3", "c"],
    "title": ["Pond, the", 'The "B"', ""],
    "text": ["frog\ntoad", "NA", "née"],
    "label": ["Life", "Arts", None],
}
ARTICLES = list(zip(*ROWS.values(), strict=True))


def read(*paths: Path, format: str, columns: dict | None = None) -> list:
    return list(read_corpus(paths, ParseSettings(format=format, columns=columns or {})))


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path: Path, format: str, **more) -> str:
    with pytest.raises(OnelayerError) as error:
        read(path, format=format, **more)
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)
    return str(error.value)


def json_lines(path: Path, *rows: dict) -> Path:
    return written(path, "".join(json.dumps(row) + "\n" for row in rows))


def test_words_are_lower_cased_runs_of_letters_and_tokens_keep_all() -> None:
    assert words("The 20th Café, it's C3PO") == ["the", "th", "café", "it", "s", "c", "po"]
    assert tokens("It's 1901, Bach!") == ["It", "'", "s", "1901", ",", "Bach", "!"]


def test_the_formats_with_rows_have_the_same_articles(tmp_path) -> None:
    table = pd.DataFrame(ROWS)
    table.to_parquet(tmp_path / "a.parquet")
    table.to_csv(tmp_path / "a.csv", index=False)
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    json_lines(tmp_path / "a.jsonl", *rows)
    written(tmp_path / "list.json", json.dumps(rows, indent=1))
    written(tmp_path / "a.jsonl.gz", gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    assert read(tmp_path / "a.parquet", format="parquet") == ARTICLES
    assert read(tmp_path / "a.csv", format="csv") == ARTICLES
    for name in ("a.jsonl", "list.json", "a.jsonl.gz"):
        assert read(tmp_path / name, format="json") == ARTICLES


def test_text_is_a_file_or_a_line_an_article(tmp_path) -> None:
    frog = written(tmp_path / "frog.txt", "\ufeffA frog.\n\nIt jumps.\r\n")
    other = written(tmp_path / "née.txt", "Née.")
    assert read(frog, other, format="text") == [
        ("0", "frog", "A frog.\n\nIt jumps.\r\n", None),
        ("1", "née", "Née.", None),
    ]
    texts = [article[2] for article in read(frog, other, format="lines")]
    assert texts == ["A frog.", "", "It jumps.", "Née."]


def test_columns_that_are_null_in_one_file_and_not_in_the_next_are_read(tmp_path) -> None:
    first = json_lines(tmp_path / "a", *({"text": "x", "title": None, "extra": None},) * 30)
    later = json_lines(tmp_path / "b", *({"text": "y", "title": "B", "extra": {"a": 1}},) * 30)
    found = read(first, later, format="json")
    assert [title for _, title, _, _ in found] == [""] * 30 + ["B"] * 30


def test_ids_titles_and_labels_of_any_kinds_become_text(tmp_path) -> None:
    path = json_lines(
        tmp_path / "a",
        {"id": 1, "text": "one", "label": 2},
        {"id": "Nan", "text": "two", "title": 3.5},
        {"id": 1.5, "text": "three"},
    )
    found = read(path, format="json")
    assert found[:2] == [("1", "", "one", "2"), ("Nan", "3.5", "two", None)]
    write_articles(found, tmp_path / "articles", "here")
    assert read_articles(tmp_path / "articles")["id"].tolist() == ["1", "Nan", "1.5"]


def test_columns_may_have_other_names(tmp_path) -> None:
    pq.write_table(pa.table({"content": ["x", "y"], "topic": [1, None]}), tmp_path / "a")
    found = read(tmp_path / "a", format="parquet", columns={"text": "content", "label": "topic"})
    assert found == [("0-0", "", "x", "1"), ("0-1", "", "y", None)]


# Dumps and lead sections.

PAGE = """<page><title>{}</title><ns>{}</ns><id>{}</id><revision><id>1</id>{}</revision></page>"""


def dump(path: Path, *pages: tuple[str, int, int, str], head: str = "") -> Path:
    body = "".join(PAGE.format(*page[:3], f"<text>{page[3]}</text>") for page in pages)
    xml = f'{head}<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">{body}</mediawiki>'
    return written(path, bz2.compress(xml.encode()))


def test_a_dump_has_articles_without_markup_redirects_or_talk_pages(tmp_path) -> None:
    path = dump(
        tmp_path / "a",
        ("Frog", 0, 10, "'''Frogs''' are [[amphibian]]s.\n== Life ==\nThey {{citation}} jump."),
        ("Toad", 0, 11, "#REDIRECT [[Frog]]"),
        ("Newt", 0, 12, ""),
        ("Talk:Frog", 1, 13, "Nice article."),
    )
    [(article_id, title, text, label), newt] = read(path, format="mediawiki-xml")
    assert newt == ("12", "Newt", "", None)  # to be counted by who writes articles
    assert (article_id, title, label) == ("10", "Frog", None)
    assert text.startswith("Frogs are amphibians.")
    assert "Life" in text and not set("=[]{}'") & set(text)


def test_a_dump_that_is_not_whole_is_refused(tmp_path) -> None:
    path = dump(tmp_path / "a", ("Frog", 0, 10, "word " * 5000))
    written(path, path.read_bytes()[:-20])
    assert "not a complete MediaWiki dump" in refused(path, "mediawiki-xml")
    assert "not a complete" in refused(written(path, b"no dump"), "mediawiki-xml")


def test_a_dump_that_declares_entities_is_refused_however_small(tmp_path) -> None:
    entities = '<!ENTITY a "{}"><!ENTITY b "{}">'.format("ha " * 9, "&a;" * 9)
    path = dump(tmp_path / "a", ("Frog", 0, 10, "&b;"), head=f"<!DOCTYPE m [{entities}]>")
    assert path.stat().st_size < 300
    assert "it begins with b'<!DOCTYPE" in refused(path, "mediawiki-xml")
    head = "\ufeff<?xml version='1.0' encoding='utf-8'?>\n"
    assert len(read(dump(path, ("Frog", 0, 10, "ha"), head=head), format="mediawiki-xml")) == 1


def test_a_page_without_an_end_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("onelayer.text.corpus.formats.LONGEST_PAGE", 1 << 18)
    pages = [(f"Frog {n}", 0, n, "word " * 30_000) for n in range(4)]
    assert len(read(dump(tmp_path / "a", *pages), format="mediawiki-xml")) == 4
    path = dump(tmp_path / "a", *pages, ("Toad", 0, 9, "word " * 60_000))
    with pytest.raises(OnelayerError, match="a page is longer than 262144 bytes"):
        read(path, format="mediawiki-xml")


def test_lead_sections_keep_human_topics(tmp_path) -> None:
    entry = {"title": "A", "extract": "Text.", "description": "", "topic": "Arts"}
    leads = {"A": entry, "B": {**entry, "title": "B", "topic": "Uncategorized"}}
    found = read(written(tmp_path / "a", json.dumps(leads)), format="lead-sections")
    assert found == [("A", "A", "Text.", "Arts"), ("B", "B", "Text.", None)]


@pytest.mark.parametrize("text", ["{", "[]", '{"A": {"title": "A"}}', '{"A": 3}', "[" * 100_000])
def test_a_file_that_holds_no_lead_sections_is_refused(tmp_path, text) -> None:
    said = refused(written(tmp_path / "a", text), "lead-sections")
    assert "not a JSON file of lead sections" in said


# What strangers send: one line, with the file's name.


@pytest.mark.parametrize("format", ["parquet", "wikitext", "json", "csv"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00\xff",
        b'{"id": 1, "text": "x"}\n{"id": 2, "te',
        b'text\n"x\ny',
        b"PAR1 PAR1",
    ],
)
def test_a_file_that_is_none_of_its_kind_is_refused(tmp_path, format, content) -> None:
    path = written(tmp_path / "a", content)
    if format == "wikitext" and not content.startswith((b"PAR1", b"\xff")) and content:
        assert read(path, format=format) == []  # text without a title
    else:
        assert re.search("not a whole|no column text|not UTF-8", refused(path, format))


@pytest.mark.parametrize(
    ("format", "content", "byte"),
    [
        ("text", b"abc\xff", 4),
        ("lines", b"a" * ((1 << 20) - 1) + "é\n".encode() + b"\xff", (1 << 20) + 3),
        ("lines", b"abc\n\xc3", 5),
        ("csv", b"id,text\n1,\xff\n", 11),
        ("json", b'{"text": "\xff"}\n', 11),
        ("lead-sections", b'{"\xff": 1}', 3),
        ("wikitext", b"abc\xff", 4),
    ],
)
def test_what_is_not_utf8_is_said_so(tmp_path, format, content, byte) -> None:
    assert refused(written(tmp_path / "a", content), format).endswith(f"not UTF-8 at byte {byte}")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"text": "x", "a": ' + "[" * 100_000, r"\(line 2: it nests too deeply\)"),
        ('{"text": ["x"]}', "row 1: column text holds list, not text"),
        ('{"text": "x", "id": {}}', "row 1: column id holds dict, not text or numbers"),
        ('{"text": "x", "id": null}', "row 1: column id holds nothing; give all an id, or none"),
        ('{"text": "x", "id": ""}', "row 1: column id holds nothing"),
        ('{"text": "\\ud800"}', "row 1: column text holds no text"),
        ("null", "line 2 holds NoneType; a row is an object"),
    ],
)
def test_a_row_that_is_no_article_is_named(tmp_path, row, message) -> None:
    path = written(tmp_path / "a", '{"text": "x"}\n' + row)
    assert re.search(message, refused(path, "json"))


def test_a_column_that_is_not_there_is_named_with_those_that_are(tmp_path) -> None:
    rows = pd.DataFrame({"id": ["1"], "body": ["x"]})
    rows.to_parquet(path := tmp_path / "a")
    said = "no column text; its columns: id, body (`parse.columns` names others)"
    assert said in refused(path, "parquet")
    assert "no column topic" in refused(path, "parquet", columns={"text": "body", "label": "topic"})
    rows.to_csv(path, index=False)
    assert said in refused(path, "csv")
    pd.DataFrame({"text": [1]}).to_parquet(path)
    assert "column text holds int, not text" in refused(path, "parquet")
    assert "column text holds int, not text" in refused(path, "wikitext")


def test_a_few_kilobytes_that_stand_for_far_more_are_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("onelayer.text.untrusted.ALWAYS_TAKEN", 1 << 16)
    packed = written(tmp_path / "a", gzip.compress(b"a" * (1 << 24)))
    for format in ("text", "lines", "csv", "json", "wikitext"):
        assert "would unpack to" in refused(packed, format)
    written(packed, bz2.compress(b"<mediawiki>" + b" " * (1 << 24)))
    with pytest.raises(OnelayerError, match="would unpack to"):
        read(packed, format="mediawiki-xml")
    repeated = pa.table({"text": pa.array(["word " * 10_000]).take([0] * 5000)})
    pq.write_table(repeated, packed, compression="zstd")
    assert "would unpack to" in refused(packed, "parquet")
    # No batch is too much, all together are.
    monkeypatch.setattr("onelayer.text.untrusted.ALWAYS_TAKEN", 1 << 18)
    for text, rows in (("word " * 20, 50_000), ("a", 200_000)):  # so many rows are memory, too
        repeated = pa.table({"text": pa.array([text]).take([0] * rows)})
        pq.write_table(repeated, packed, compression="zstd")
        assert "would unpack to" in refused(packed, "parquet")


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary(), pa.large_binary()])
def test_texts_of_any_kind_are_measured_before_they_are_made(tmp_path, monkeypatch, kind) -> None:
    monkeypatch.setattr("onelayer.text.untrusted.ALWAYS_TAKEN", 1 << 16)
    monkeypatch.setattr(
        "onelayer.text.corpus.formats._bytes", lambda column: seen.append(column) or 0
    )
    seen: list[pa.Array] = []
    path = tmp_path / "a"
    pq.write_table(pa.table({"text": pa.array(["a", "a"]).cast(kind)}), path)
    if kind == pa.string_view():
        assert [article[2] for article in read(path, format="parquet")] == ["a", "a"]
    else:
        assert "holds bytes, not text" in refused(path, "parquet")
    assert all(pa.types.is_dictionary(column.type) for column in seen) and seen
    monkeypatch.undo()
    monkeypatch.setattr("onelayer.text.untrusted.ALWAYS_TAKEN", 1 << 16)
    repeated = pa.array(["word " * 10_000]).take([0] * 5000).cast(kind)
    pq.write_table(pa.table({"text": repeated}), path, compression="zstd")
    assert "would unpack to" in refused(path, "parquet")


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.string()), pa.struct({"a": pa.string()}), pa.binary(1 << 10), pa.json_()],
)
def test_columns_that_cannot_be_measured_are_refused_unread(tmp_path, monkeypatch, kind) -> None:
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)
    for name in ("text", "title"):
        table = pa.table({"text": ["x"]} | {name: pa.nulls(1, kind)})
        pq.write_table(table, tmp_path / "a")
        said = refused(tmp_path / "a", "parquet")
        assert f"column {name} holds " in said and "not text or numbers" in said


def test_numbers_dates_and_categories_of_parquet_become_text(tmp_path) -> None:
    kinds = [pa.decimal128(5, 1), pa.date32(), pa.float64(), pa.bool_(), pa.null()]
    for kind in kinds:
        ids = {"title": pa.nulls(1, kind), "label": pa.array(["a"]).dictionary_encode()}
        pq.write_table(pa.table({"text": ["\ufeffx"]} | ids), tmp_path / "a")
        assert read(tmp_path / "a", format="parquet") == [("0-0", "", "x", "a")]


def test_a_damaged_archive_is_named(tmp_path) -> None:
    whole = gzip.compress(bytes(range(32, 127)) * 1000)
    assert "not a whole file" in refused(written(tmp_path / "a", whole[:-20]), "lines")


# The file of articles.


def test_articles_without_text_are_left_out_and_counted(tmp_path, caplog) -> None:
    texts = (" " if i % 3 else f"tëxt\n{i}" for i in range(3000))
    rows = [(str(i), f"T {i}", text, "A" * (i % 2) or None) for i, text in enumerate(texts)]
    write_articles(rows, tmp_path / "a", "here")
    kept = [row for row in rows if row[2].strip()]
    for place, column in enumerate(COLUMNS):
        assert [*read_column(tmp_path / "a", column)] == [row[place] for row in kept]
    assert len(read_articles(tmp_path / "a")) == len(kept)
    assert caplog.messages == ["here: 2000 without text left out, first 'T 1'"]


def test_a_smaller_choice_is_part_of_a_larger_one_however_it_is_made(tmp_path) -> None:
    rows = [(str(i), "", " " if i % 3 == 0 else f"text {i}", None) for i in range(2500)]
    write_articles(rows, tmp_path / "all", "here")
    chosen = []
    for most in (10, 400):
        write_articles(rows, tmp_path / "some", "here", most)
        chosen.append(read_articles(tmp_path / "some"))
        pd.testing.assert_frame_equal(read_articles(tmp_path / "all", most), chosen[-1])
    assert len(read_articles(tmp_path / "some", 399)) == 399
    small, large = ([int(i) for i in articles["id"]] for articles in chosen)
    assert len(small) == 10 and set(small) < set(large) and small == sorted(small)
    assert max(small) >= 1250  # from anywhere in a corpus, sorted or not


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "here: the corpus is empty"),
        ([("1", "A", " ", None)], "here: the corpus is empty"),
        ([("1", "A", "x", None), ("1", "B", "y", None)], "articles 1 and 2 have the same id '1'"),
    ],
)
def test_an_empty_corpus_and_repeated_ids_are_refused(tmp_path, rows, message) -> None:
    with pytest.raises(OnelayerError, match=message):
        write_articles(rows, tmp_path / "a", "here")
