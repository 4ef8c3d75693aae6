"""Claims about reading corpora."""

import bz2
import json

import pandas as pd
import pytest

from onelayer.corpus.articles import (
    article_table,
    count_articles_and_words,
    read_articles,
    subset,
    tokens,
    words,
)
from onelayer.corpus.lead_sections import read_lead_sections
from onelayer.corpus.mediawiki import read_dump
from onelayer.errors import OnelayerError
from onelayer.papers.topic_structure.corpora import readable, summarise
from onelayer.settings.corpus import CorpusSettings

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
    table = read_dump(path)
    assert table["id"].tolist() == ["10"]
    text = table["text"][0]
    assert text.startswith("Frogs are amphibians.")
    assert "Life" in text
    assert not set("=[]{}'") & set(text)


def test_a_dump_that_breaks_off_is_refused(tmp_path) -> None:
    path = dump(tmp_path, ("Frog", 0, 10, "word " * 5000))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(OnelayerError, match="not a complete MediaWiki dump"):
        read_dump(path)


def test_lead_sections_keep_human_topics(tmp_path) -> None:
    path = tmp_path / "leads.json"
    entry = {"title": "A", "extract": "Text.", "description": "", "topic": "Arts"}
    other = {**entry, "title": "B", "topic": "Uncategorized"}
    path.write_text(json.dumps({"A": entry, "B": other}))
    table = read_lead_sections(path)
    assert table["label"].tolist()[0] == "Arts"
    assert table["label"].isna().tolist() == [False, True]


@pytest.mark.parametrize("text", ["{", "[]", '{"A": {"title": "A"}}', '{"A": 3}'])
def test_a_file_that_holds_no_lead_sections_is_refused(tmp_path, text) -> None:
    path = tmp_path / "leads.json"
    path.write_text(text)
    with pytest.raises(OnelayerError, match=r"leads\.json"):
        read_lead_sections(path)


def test_an_empty_corpus_and_repeated_ids_are_refused() -> None:
    with pytest.raises(OnelayerError, match="corpus is empty"):
        article_table([("1", "A", "  ", None)], "here")
    with pytest.raises(OnelayerError, match="'1'"):
        article_table([("1", "A", "x", None), ("1", "B", "y", None)], "here")


def test_a_smaller_subset_is_part_of_a_larger_one() -> None:
    table = pd.DataFrame({"id": [str(i) for i in range(100)], "text": "x"})
    small, large = subset(table, 10), subset(table, 40)
    assert len(small) == 10
    assert set(small["id"]) < set(large["id"])
    assert small["id"].astype(int).is_monotonic_increasing
    assert small["id"].astype(int).max() >= 50  # from anywhere in a corpus, sorted or not
    assert subset(table, None) is table


def test_articles_without_a_column_are_refused(tmp_path) -> None:
    pd.DataFrame({"id": ["1"], "title": ["A"], "text": ["x"]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(OnelayerError, match="no column label"):
        read_articles(tmp_path / "a.parquet")


def test_the_table_of_corpora_counts_each_corpus_under_its_own_name() -> None:
    source = {"package": "p", "version": "1", "member": "m", "sha256": "0" * 64}
    settings = {
        name: CorpusSettings(
            source=source, parse={"format": "lead-sections"}, credit=f"credit of {name}"
        )
        for name in ("zebra", "ant")
    }
    articles = {
        "zebra": article_table([("1", "A", "one two", "X"), ("2", "B", "three", None)], "z"),
        "ant": article_table([("1", "A", "one", None)], "a"),
    }
    counted = {
        name: count_articles_and_words(table["text"], table["label"])
        for name, table in articles.items()
    }
    shown = readable(summarise(counted, settings))
    assert shown["corpus"].tolist() == ["zebra", "ant"]
    assert shown["articles"].tolist() == ["2", "1"]
    assert shown["words"].tolist() == ["3", "1"]
    assert shown["labelled articles"].tolist() == ["1", "0"]
    assert shown["credit"].tolist() == ["credit of zebra", "credit of ant"]
