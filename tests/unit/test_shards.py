"""Claims about corpora in Parquet files: Wikipedia's columns, WikiText's lines."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pytest

from onelayer.corpus.articles import article_table, read_articles, subset
from onelayer.corpus.shards import read_articles_parquet, read_wikitext, write_articles_of
from onelayer.errors import OnelayerError

VALKYRIA = [
    "",
    " = Valkyria Chronicles III = \n",
    "",
    " A well @-@ received game of 2 @,@ 011 ; it sold 1 @.@ 5 million . \n",
    " = = Gameplay = = \n",
    "",
    " As in x = 2 = y , turns matter . \n",
    " = 5 = \n",
    " = = = Battles = = = \n",
    " They end . \n",
    "",
]
TOWER = [" = Tower Building = \n", "", " A house . \n", ""]


def parquet(path: Path, **columns: Iterable) -> Path:
    pd.DataFrame(columns).to_parquet(path, row_group_size=3)
    return path


def lines(path: Path, *rows: str) -> Path:
    return parquet(path, text=rows)


def test_rows_become_articles_file_by_file(tmp_path) -> None:
    first = parquet(tmp_path / "b", id=["1", "2"], url=["u", "v"], title="A", text=["x", None])
    other = parquet(tmp_path / "a", label=["Arts"], text=["z"], title=["C"], id=[7])
    assert list(read_articles_parquet([first, other])) == [
        ("1", "A", "x", None),
        ("2", "A", "", None),
        ("7", "C", "z", "Arts"),
    ]


def test_wikitext_is_split_at_titles_alone(tmp_path) -> None:
    path = lines(tmp_path / "a", *VALKYRIA, *TOWER)
    articles = list(read_wikitext([path]))
    assert [title for _, title, _, _ in articles] == ["Valkyria Chronicles III", "Tower Building"]
    assert articles[0][2].splitlines() == [
        "A well-received game of 2,011 ; it sold 1.5 million .",
        "Gameplay",
        "As in x = 2 = y , turns matter .",
        "5",
        "Battles",
        "They end .",
    ]


@pytest.mark.parametrize("cut", range(len(VALKYRIA) + 1))
def test_an_article_of_wikitext_may_go_on_in_the_next_file(tmp_path, cut) -> None:
    whole = lines(tmp_path / "whole", *VALKYRIA, *TOWER)
    parts = [
        lines(tmp_path / "0", *VALKYRIA[:cut], *[""][cut:]),
        lines(tmp_path / "1", *VALKYRIA[cut:], *TOWER),
    ]
    assert list(read_wikitext(parts)) == list(read_wikitext([whole]))


def test_lines_before_the_first_title_are_left_out(tmp_path) -> None:
    path = lines(tmp_path / "a", " the end of another article . \n", "", *TOWER)
    assert [article[1] for article in read_wikitext([path])] == ["Tower Building"]


def test_repeated_titles_of_wikitext_are_counted(tmp_path) -> None:
    path = lines(tmp_path / "a", *TOWER, *TOWER)
    assert [article[0] for article in read_wikitext([path])] == [
        "Tower Building",
        "Tower Building (2)",
    ]


@pytest.mark.parametrize("most", [None, 1, 7, 40, 41, 60])
def test_what_is_written_piece_by_piece_is_the_subset_of_the_whole(tmp_path, most) -> None:
    rows = [(str(i), f"Title {i}", " " if i % 3 == 0 else f"text {i}", None) for i in range(60)]
    write_articles_of(lambda: iter(rows), most, tmp_path / "articles.parquet", "here")
    written = read_articles(tmp_path / "articles.parquet")
    whole = subset(article_table(rows, "here"), most)
    pd.testing.assert_frame_equal(written.fillna(""), whole.fillna(""), check_dtype=False)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "here: the corpus is empty"),
        ([("1", "A", " ", None)], "here: the corpus is empty"),
        ([("1", "A", "x", None), ("1", "B", "y", None)], "here: two articles have the id '1'"),
    ],
)
def test_an_empty_corpus_and_repeated_ids_are_refused(tmp_path, rows, message) -> None:
    with pytest.raises(OnelayerError, match=message):
        write_articles_of(lambda: iter(rows), None, tmp_path / "articles.parquet", "here")


def test_a_file_without_a_column_is_refused_by_name(tmp_path) -> None:
    path = parquet(tmp_path / "a", id=["1"], text=["x"])
    with pytest.raises(OnelayerError, match="a: no column title; its columns: id, text"):
        list(read_articles_parquet([path]))
    with pytest.raises(OnelayerError, match="a: no column text"):
        list(read_wikitext([parquet(path, id=["1"])]))


def test_a_file_that_breaks_off_is_refused_by_name(tmp_path) -> None:
    path = lines(tmp_path / "a", *TOWER)
    content = path.read_bytes()
    path.write_bytes(content[:-9])
    with pytest.raises(OnelayerError, match="a: not a whole Parquet file"):
        list(read_wikitext([path]))
    path.write_bytes(content[:4] + b"\xff" * 60 + content[64:])
    with pytest.raises(OnelayerError, match="a: not a whole Parquet file"):
        list(read_wikitext([path]))
