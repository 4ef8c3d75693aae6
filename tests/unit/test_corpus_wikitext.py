"""Claims about WikiText: its articles, from lines of text or of Parquet, in one file or several."""

from pathlib import Path

import pandas as pd
import pytest

from onelayer.settings.corpus import CorpusSettings, ParseSettings
from onelayer.text.corpus.formats import read_corpus

VALKYRIA = [
    "",
    " = Valkyria Chronicles III = ",
    "",
    " A well @-@ received game of 2 @,@ 011 ; it sold 1 @.@ 5 million . ",
    " = = Gameplay = = ",
    "",
    " As in x = 2 = y , turns matter . ",
    " = 5 = ",
    " = begins like a title",
    " = = = Battles = = = ",
    " They end . ",
    "",
]
TOWER = [" = Tower Building = ", "", " A house . ", ""]


def plain(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read(*paths: Path) -> list:
    return list(read_corpus(paths, ParseSettings(format="wikitext")))


def test_wikitext_is_split_at_titles_alone(tmp_path) -> None:
    articles = read(plain(tmp_path / "a", VALKYRIA + TOWER))
    assert [title for _, title, _, _ in articles] == ["Valkyria Chronicles III", "Tower Building"]
    assert articles[0][2].splitlines() == [
        "A well-received game of 2,011 ; it sold 1.5 million .",
        "Gameplay",
        "As in x = 2 = y , turns matter .",
        "5",
        "= begins like a title",
        "Battles",
        "They end .",
    ]


@pytest.mark.parametrize(
    "line",
    [" = foo", " = foo =", "= foo = ", "x = y", " = = foo = = ", " = = foo = ", " = foo = = "],
)
def test_a_line_that_is_no_whole_title_is_text(tmp_path, line) -> None:
    found = read(plain(tmp_path / "a", [*TOWER, line, "", "more", ""]))
    assert len(found) == 1 and "more" in found[0][2]


@pytest.mark.parametrize("around", [["", "text"], ["text", ""]])
def test_a_formula_that_looks_like_a_title_has_text_beside_it(tmp_path, around) -> None:
    before, after = around
    lines = [*TOWER, before, " = 2 = ", after, ""]
    assert [title for _, title, *_ in read(plain(tmp_path / "a", lines))] == ["Tower Building"]


def test_wikitext_is_the_same_as_parquet_and_cut_anywhere_into_files(tmp_path) -> None:
    whole = read(plain(tmp_path / "whole", VALKYRIA + TOWER + TOWER))
    assert [article_id for article_id, *_ in whole][1:] == ["Tower Building", "Tower Building (2)"]
    rows = pd.DataFrame({"text": [line and line + "\n" for line in VALKYRIA + TOWER + TOWER]})
    rows.to_parquet(tmp_path / "rows", row_group_size=3)
    assert read(tmp_path / "rows") == whole
    for cut in range(1, len(VALKYRIA)):
        parts = [
            plain(tmp_path / "0", VALKYRIA[:cut]),
            plain(tmp_path / "1", VALKYRIA[cut:] + TOWER + TOWER),
        ]
        assert read(*parts) == whole


def test_lines_before_the_first_title_are_left_out(tmp_path) -> None:
    path = plain(tmp_path / "a", [" the end of another article . ", "", *TOWER])
    assert [title for _, title, _, _ in read(path)] == ["Tower Building"]


def test_words_that_the_tokenised_files_leave_out_stay_as_their_mark(tmp_path) -> None:
    [(_, _, text, _)] = read(plain(tmp_path / "a", [*TOWER, " a species of <unk> lobster ", ""]))
    assert text.splitlines()[-1] == "a species of <unk> lobster"


def test_a_folder_gives_the_files_that_people_have(tmp_path) -> None:
    for name in ("wiki.train.tokens", "wiki.valid.raw", "wikitext.txt", "README.md"):
        plain(tmp_path / name, TOWER)
    corpus = {"parse": {"format": "wikitext"}, "credit": "nobody"}
    found = CorpusSettings(source={"paths": [str(tmp_path)]}, **corpus).paths
    assert [Path(path).name for path in found] == [
        "wiki.train.tokens", "wiki.valid.raw", "wikitext.txt"
    ]  # fmt: skip
    assert len(read(*map(Path, found))) == 3
