"""Whatever lies where a corpus should be is read, or refused in one line with its name."""

import bz2
import gzip
import io
import json
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from onelayer.errors import OnelayerError
from onelayer.fetching.unpacking import unpack
from onelayer.settings.corpus import Slice
from onelayer.settings.root import load_settings
from onelayer.text.corpus.mediawiki import read_dump
from tests.faults.generated import GENERATED, Cases, check_ended, run_in_process, spoiled
from tests.workflow.conftest import merged_config

HEAD = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><siteinfo></siteinfo>'
LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;">]>'
DEEP = 100_000


def page(title: str = "A", text: str = "some words", number: str = "1", space: str = "0") -> str:
    return (
        f"<page><title>{title}</title><ns>{space}</ns><id>{number}</id>"
        f"<revision><id>9</id><text>{text}</text></revision></page>"
    )


def xml(*pages: str, before: str = "", coding: str = "utf-8") -> bytes:
    return bz2.compress(f"{before}{HEAD}{''.join(pages)}</mediawiki>".encode(coding))


def parquet(**columns: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def archive(kind: str) -> bytes:
    file = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as packed:
            packed.writestr("a.csv", "text\na b")
    else:
        with tarfile.open(fileobj=file, mode="w") as packed:
            packed.addfile(tarfile.TarInfo("../a.csv"))
    return file.getvalue()


def lead(title: object = "A", extract: object = "some words", topic: object = "Arts") -> bytes:
    return json.dumps({"a": {"title": title, "extract": extract, "topic": topic}}).encode()


ROWS = parquet(text=["some words"] * 40, id=[str(i) for i in range(40)])
LINES = b'{"text": "some words", "id": "1"}\n{"text": "more words", "id": "2"}\n'
WHOLE = {
    "lead-sections": lead(),
    "mediawiki-xml": xml(page()),
    "parquet": ROWS,
    "json": LINES,
    "csv": b"id,text\n1,some words\n2,more words\n",
    "text": "some words, größer".encode(),
    "lines": "some words\ngrößer\n".encode(),
    "wikitext": parquet(text=["", " = A = ", "", "some words"]),
}
SPOILED = {
    "lead-sections": [
        *(lead(title=5), lead(extract=None), lead(extract="\ud800"), lead(topic={"x": 1})),
        *(lead(title=None), lead(topic=["a"]), b"[" * DEEP, b'{"a":' * DEEP, b"null", b"1", b""),
        *(b'{"a": null}', b'{"a": NaN}', b"\xef\xbb\xbf{}", b"\xff", lead(extract=" ")),
    ],
    "mediawiki-xml": [
        *(xml(), xml("<page></page>"), xml("<page><title>A</title><ns>0</ns><id>1</id></page>")),
        *(xml(page(), page()), xml(page(title="")), xml(page(number="")), xml(page(space=""))),
        *(xml(page(text="{{" * 3000)), xml(page(text="[[" * 3000)), xml(page(text="&none;"))),
        *(xml(page(text="&b;"), before=LAUGHS), xml(page(text="&#0;")), xml("<page>" * 999)),
        *(xml(page(), coding="utf-16"), xml(page(text="é"), coding="latin-1"), xml(page()) * 2),
        *(xml(page(text="&b;"), before="<!-- a -->" + LAUGHS), bz2.compress(b""), b"", b"BZh9"),
        *(bz2.compress(b"<html><page></page></html>"), bz2.compress(b" " * 10**6)),
        xml(page()).replace(b"BZh9", b"BZh0"),
    ],
    "parquet": [
        *(b"", b"PAR1", b"PAR1" * 4, b"\0" * 10, ROWS[4:], ROWS[:-4], archive("zip"), b"PK\3\4"),
        *(parquet(body=["x"]), parquet(text=[1]), parquet(text=[["a"]]), parquet(text=[None])),
        *(parquet(text=["a", "b"], id=["1", "1"]), parquet(text=["a b"], id=[[1]])),
        *(parquet(text=["a b"], id=[None]), parquet(text=["a b"], title=[{"x": 1}])),
        *(parquet(text=pa.array([], pa.string())), parquet(text=pa.array([b"\xff"], pa.binary()))),
    ],
    "json": [
        *(b"", b"null", b"[null]", b'{"text": "a"}\nnull', b"5", b"[]", b"{}", b'{"text": "a"'),
        *(b'{"text": 5}', b'{"text": ["a"]}', b'{"text": {"a": 1}}', b'{"text": "\\ud800"}'),
        *(
            b"[" * DEEP,
            b"\xff\xfe",
            LINES + LINES,
            b'{"body": "x"}',
            b'{"text": "\xff"}',
            b'{"text": "a"}\n[1]',
        ),
        *(gzip.compress(LINES)[:-9], gzip.compress(b""), archive("zip"), archive("tar")),
    ],
    "csv": [
        *(b"", b"\n", b"text\n", b'text\n"a', b"a,b\n1,2", b"text,text\na,b", b"text\n\xff"),
        *(b"text,id\na,1\nb,1", b"text\n\0", b'"text', b"text,\na,", b"text\n" + b"a" * 10**6),
        *(gzip.compress(b"text\na b")[:-6], archive("zip"), archive("tar")),
    ],
    "text": [b"", b" \n", b"\xff\xfe\0", b"\xed\xa0\x80", b"word", b"\0", archive("tar")],
    "lines": [b"", b"\n\n", b"\xff\xfe", b"word", b"a\rb\r\nc", gzip.compress(b"a")[:-8]],
    "wikitext": [
        *(parquet(text=[" = A = ", "x"]), parquet(text=["x"]), parquet(text=[1]), b"", ROWS[:-4]),
        *(parquet(line=["a"]), parquet(text=[None, " = A = ", None, "x"]), parquet(text=[None])),
    ],
}


@pytest.fixture
def parse(tmp_path, monkeypatch):
    """Parse a file that holds these bytes, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "source"
    outputs = [tmp_path / "out" / name for name in ("articles.arrow", "summary.parquet")]

    def run(content: bytes, format: str) -> int:
        source.write_bytes(content)
        for path in outputs:
            path.unlink(missing_ok=True)
        arguments = ("--source", source, "--articles", outputs[0], "--summary", outputs[1])
        settings = json.dumps({"parse": {"format": format}})
        ended = run_in_process("parse_articles", *arguments, "--settings", settings)
        check_ended(ended, outputs, source)
        return ended.code

    return run


@pytest.mark.parametrize("format", WHOLE)
def test_what_is_no_corpus_is_refused_by_name_and_nothing_is_written(format, parse, request):
    assert parse(WHOLE[format], format) == 0
    refused = sum(parse(content, format) for content in SPOILED[format])
    assert refused >= 4
    Cases(request.node).count(len(SPOILED[format]))


@pytest.mark.parametrize("format", WHOLE)
def test_a_damaged_corpus_is_read_or_refused_by_name(format, parse, request):
    cases = Cases(request.node)

    @settings(GENERATED, max_examples=8)
    @given(spoiled(WHOLE[format]))
    def tried(content: bytes) -> None:
        parse(content, format)
        cases.count()

    tried()


@pytest.mark.parametrize("pages", [[LAUGHS, page(text="&b;")], [page(text="&b;")]])
def test_no_entity_of_a_dump_is_ever_expanded(pages, tmp_path):
    before = pages[0] if len(pages) == 2 else ""
    (tmp_path / "dump").write_bytes(xml(pages[-1], before=before))
    with pytest.raises(OnelayerError, match=r"declares no entities|undefined entity"):
        list(read_dump(tmp_path / "dump", Slice.whole(0)))


@pytest.mark.parametrize("opened", [gzip, bz2])
def test_a_bomb_is_not_unpacked_to_its_end(opened, tmp_path, little):
    bomb, kind = tmp_path / "a.csv", opened.__name__
    bomb.write_bytes(opened.compress(bytes(1 << 24)))
    with pytest.raises(OnelayerError, match=r"a\.csv: .* bytes unpack to more than"):
        unpack(bomb, kind, tmp_path / "out")
    assert (tmp_path / "out").stat().st_size < 1 << 22


@pytest.mark.parametrize("numbers", [False, True])
def test_rows_that_are_announced_without_end_are_not_read(numbers, parse, little):
    # So many times the same text, or number, take two kilobytes.
    content = parquet(text=["some words"] * 200_000)
    if numbers:
        content = parquet(text=["some words"], other=[[7] * 200_000])
    assert len(content) < 4000
    assert parse(content, "parquet") == 1


@pytest.mark.parametrize("nested", [False, True])
def test_one_text_in_many_rows_is_refused_before_it_is_written_as_often(nested, parse, little):
    # It is held once, and the file says nothing of what it unpacks to.
    long = "some words " * 1000
    content = parquet(text=[long] * 2000)
    if nested:
        content = parquet(text=["a"] * 2000, other=[[long]] * 2000)
    assert len(content) < 20_000
    assert parse(content, "parquet") == 1


def test_links_out_of_a_folder_of_text_are_refused_and_named(tmp_path):
    folder, outside = tmp_path / "texts", tmp_path / "secret.txt"
    folder.mkdir()
    outside.write_text("secret")
    (folder / "a.txt").write_text("some words")
    (folder / "b.txt").symlink_to(outside)
    config = merged_config(None)
    corpus = {"source": {"paths": [str(folder)]}, "parse": {"format": "text"}, "credit": "me"}
    config["corpora"]["mine"] = corpus
    with pytest.raises(OnelayerError) as refused:
        load_settings(config)
    assert "config: corpora.mine: paths: " in str(refused.value)
    assert "b.txt is a link out of its folder, to " in str(refused.value)
    (folder / "b.txt").unlink()
    (folder / "b.txt").symlink_to(folder / "a.txt")
    load_settings(config)
    corpus["source"]["paths"] = [str(outside)]
    load_settings(config)
