"""Claims about reading corpora."""

import bz2
import json

import pytest
from datasets import Dataset

from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.wikipedia.topic_tables import (
    corpora_table,
    readable_corpora,
)
from onelayer.settings.corpus import CorpusSettings, Slice
from onelayer.settings.topic_structure import NamedCorpus
from onelayer.text.corpus.articles import count_articles_and_words, tokens, words
from onelayer.text.corpus.formats import read_lead_sections
from onelayer.text.corpus.mediawiki import read_dump
from onelayer.text.corpus.storage import read_articles, subset, write_articles, write_rows

PAGE = """<page><title>{title}</title><ns>{ns}</ns><id>{id}</id><revision><id>1</id>
<text xml:space="preserve">{text}</text></revision></page>"""


def dump(tmp_path, *pages: tuple[str, int, int, str]):
    path = tmp_path / "dump.xml.bz2"
    body = "".join(PAGE.format(title=t, ns=n, id=i, text=x) for t, n, i, x in pages)
    xml = f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/">{body}</mediawiki>'
    path.write_bytes(bz2.compress(xml.encode()))
    return path


def test_words_are_lower_cased_runs_of_letters() -> None:
    assert words("The 20th-century Café, it's C3PO") == [
        "the", "th", "century", "café", "it", "s", "c", "po",
    ]  # fmt: skip


def test_tokens_keep_case_numbers_and_punctuation() -> None:
    assert tokens("It's 1901, Bach!") == ["It", "'", "s", "1901", ",", "Bach", "!"]


def test_a_dump_yields_articles_without_markup_redirects_or_talk_pages(tmp_path) -> None:
    path = dump(
        tmp_path,
        ("Frog", 0, 10, "'''Frogs''' are [[amphibian]]s.\n== Life ==\nThey {{citation}} jump."),
        ("Toad", 0, 11, "#REDIRECT [[Frog]]"),
        ("Talk:Frog", 1, 12, "Nice article."),
    )
    articles = [
        article for article in read_dump(path, Slice.whole(0)) if article[2]
    ]  # what is left out is empty
    [(article_id, title, text, label)] = articles
    assert (article_id, title, label) == ("10", "Frog", None)
    assert text.startswith("Frogs are amphibians.")
    assert "Life" in text
    assert not set("=[]{}'") & set(text)


def test_a_dump_that_breaks_off_is_refused(tmp_path) -> None:
    path = dump(tmp_path, ("Frog", 0, 10, "word " * 5000))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(OnelayerError, match="not a complete MediaWiki dump"):
        list(read_dump(path, Slice.whole(0)))


def test_lead_sections_keep_human_topics(tmp_path) -> None:
    path = tmp_path / "leads.json"
    entry = {"title": "A", "extract": "Text.", "description": "", "topic": "Arts"}
    other = {**entry, "title": "B", "topic": "Uncategorized"}
    path.write_text(json.dumps({"A": entry, "B": other}))
    assert [label for *_, label in read_lead_sections(path)] == ["Arts", None]


@pytest.mark.parametrize("text", ["{", "[]", '{"A": {"title": "A"}}', '{"A": 3}'])
def test_a_file_that_holds_no_lead_sections_is_refused(tmp_path, text) -> None:
    path = tmp_path / "leads.json"
    path.write_text(text)
    with pytest.raises(OnelayerError, match=r"leads\.json: not a JSON file of lead sections"):
        read_lead_sections(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "here: the corpus is empty"),
        ([("1", "A", " ", None)], "here: the corpus is empty"),
        (
            [("1", "A", "x", None), ("1", "B", "y", None)],
            "here: articles 1 and 2 have the same id '1'",
        ),
    ],
)
def test_an_empty_corpus_and_repeated_ids_are_refused(tmp_path, rows, message) -> None:
    with pytest.raises(OnelayerError, match=message):
        write_articles(rows, tmp_path / "articles.arrow", "here")


def test_articles_are_read_as_they_were_written_and_those_without_text_are_left_out(
    tmp_path, caplog
) -> None:
    rows = [
        (str(i), f"Title {i}", " " if i % 3 else f"tëxt {i}\n", "A" * (i % 2) or None)
        for i in range(3000)
    ]
    write_articles(rows, tmp_path / "articles.arrow", "here")
    kept = [row for row in rows if row[2].strip()]
    articles = read_articles([tmp_path / "articles.arrow"])
    assert [tuple(row.values()) for row in articles] == kept
    assert caplog.messages == ["here: 2000 without text left out, first 'Title 1'"]


def test_a_part_may_be_empty_and_a_corpus_of_parts_may_not(tmp_path) -> None:
    paths = [tmp_path / name for name in "ab"]
    for path in paths:
        write_articles([], path, "here", may_be_empty=True)
    with pytest.raises(OnelayerError, match=f"{paths[0]}: the corpus is empty"):
        read_articles(paths)
    write_articles([("1", "A", "x", None)], paths[1], "here")
    assert len(read_articles(paths)) == 1


def test_a_smaller_subset_is_part_of_a_larger_one() -> None:
    articles = Dataset.from_dict({"id": [str(i) for i in range(100)], "text": ["x"] * 100})
    small, large = ([int(i) for i in subset(articles, most)["id"]] for most in (10, 40))
    assert len(small) == 10
    assert set(small) < set(large)
    assert small == sorted(small)
    assert max(small) >= 50  # from anywhere in a corpus, sorted or not
    assert subset(articles, None) is articles


def test_articles_without_a_column_are_refused(tmp_path) -> None:
    rows = Dataset.from_dict({"id": ["1"], "title": ["A"], "text": ["x"]})
    write_rows(rows, tmp_path / "a.arrow")
    with pytest.raises(OnelayerError, match=r"a\.arrow: no column label; its columns: id,"):
        read_articles([tmp_path / "a.arrow"])


@pytest.mark.parametrize("content", [b"", b"no Arrow", b"\xff" * 99])
def test_articles_that_are_no_arrow_file_are_refused(tmp_path, content) -> None:
    (tmp_path / "a.arrow").write_bytes(content)
    with pytest.raises(OnelayerError, match=r"a\.arrow: not a whole Arrow dataset"):
        read_articles([tmp_path / "a.arrow"])


def test_the_table_of_corpora_counts_each_corpus_under_its_own_name() -> None:
    source = {"package": "p", "version": "1", "member": "m", "sha256": "0" * 64}
    settings = {
        name: CorpusSettings(
            source=source, parse={"format": "lead-sections"}, credit=f"credit of {name}"
        )
        for name in ("zebra", "ant")
    }
    counted = {
        "zebra": count_articles_and_words(["one two", "three"], ["X", None]),
        "ant": count_articles_and_words(["one"], [None]),
    }
    corpora = [NamedCorpus(name=name, settings=one) for name, one in settings.items()]
    shown = readable_corpora(corpora_table(list(counted.values()), corpora))
    assert shown["corpus"].tolist() == ["zebra", "ant"]
    assert shown["articles"].tolist() == ["2", "1"]
    assert shown["words"].tolist() == ["3", "1"]
    assert shown["labelled articles"].tolist() == ["1", "0"]
    assert shown["credit"].tolist() == ["credit of zebra", "credit of ant"]
