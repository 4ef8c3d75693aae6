"""Claims about corpora in rows: Parquet, JSON lines, CSV, text, folders; WikiText's lines."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from datasets import ClassLabel, Dataset, Features, Value

from onelayer.errors import OnelayerError
from onelayer.settings.corpus import ENDINGS, CorpusSettings, RowSettings
from onelayer.text.corpus.formats import articles_of, parse, whole
from onelayer.text.corpus.storage import read_articles, subset, write_articles, write_rows
from tests.conftest import ROOT, clean_environment

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
ROWS = {
    "id": ["007", "1e3", "c"],
    "title": ["Pond, the", 'The "B"', ""],
    "text": ["frog\ntoad", "NA", "née"],
    "label": ["Life", "Arts", None],
}
ARTICLES = list(zip(*ROWS.values(), strict=True))


def parquet(path: Path, **columns: Iterable) -> Path:
    pd.DataFrame(columns).to_parquet(path, row_group_size=3)
    return path


def lines(path: Path, *rows: str) -> Path:
    return parquet(path, text=rows)


def json_lines(path: Path, *rows: dict) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(*paths: Path, format: str = "parquet", columns: dict | None = None) -> list:
    settings = RowSettings(format=format, columns=columns or {})
    return list(articles_of(whole(paths), settings, paths[0].parent / "scratch"))


def test_every_format_has_the_same_articles(tmp_path) -> None:
    table = pd.DataFrame(ROWS)
    table.to_parquet(tmp_path / "a.parquet")
    table.to_csv(tmp_path / "a.csv", index=False)
    json_lines(
        tmp_path / "a.jsonl", *table.astype(object).where(table.notna(), None).to_dict("records")
    )
    (tmp_path / "list.json").write_text(json.dumps(json.loads(table.to_json(orient="records"))))
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    write_rows(Dataset.from_pandas(table), tmp_path / "a.arrow")
    assert read(tmp_path / "a.parquet") == ARTICLES
    assert read(tmp_path / "a.csv", format="csv") == ARTICLES
    for name in ("a.jsonl", "list.json", "a.jsonl.gz"):
        assert read(tmp_path / name, format="json") == ARTICLES
    for format in ("parquet", "csv", "json"):  # as it was fetched from a hub
        assert read(tmp_path / "a.arrow", format=format) == ARTICLES


def test_text_is_a_file_or_a_line_an_article(tmp_path) -> None:
    (tmp_path / "frog.txt").write_text("A frog.\n\nIt jumps.\n")
    (tmp_path / "née.txt").write_text("Née.", encoding="utf-8")
    paths = [tmp_path / "frog.txt", tmp_path / "née.txt"]
    assert read(*paths, format="text") == [
        ("0", "frog", "A frog.\n\nIt jumps.\n", None),
        ("1", "née", "Née.", None),
    ]
    assert read(*paths, format="lines") == [
        ("0-0", "", "A frog.", None),
        ("0-1", "", "", None),  # left out when they are written
        ("0-2", "", "It jumps.", None),
        ("1-0", "", "Née.", None),
    ]


@pytest.mark.parametrize("format", ["text", "lines"])
def test_the_mark_that_begins_a_file_in_utf8_is_no_part_of_its_text(tmp_path, format) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffA frog.".encode())
    [article] = read(tmp_path / "a.txt", format=format)
    assert article[2] == "A frog."


@pytest.mark.parametrize("row", ['{"a":' * 100_000, '{"text": "x", "a": ' + "[" * 100_000])
def test_rows_that_nest_without_end_are_refused_before_a_reader_dies_of_them(tmp_path, row) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n' + row)
    with pytest.raises(OnelayerError, match=r"a\.jsonl: line 2 nests more than 256 levels"):
        read(tmp_path / "a.jsonl", format="json")


@pytest.mark.parametrize("more", range(3))
def test_a_long_line_is_one_and_its_texts_are_no_levels(tmp_path, more) -> None:
    # What is cut after 64 kB is a text, at any of its characters, or ends one.
    text = "x" * more + '\\"[' * 20_000 + "[" * 100_000
    json_lines(tmp_path / "a.jsonl", {"text": text})
    assert read(tmp_path / "a.jsonl", format="json")[0][2] == text
    deep = '{"text": "x", "a": ' + "[" * 10_000
    (tmp_path / "b.jsonl").write_text(json.dumps({"text": text}) + "\n" + deep)
    with pytest.raises(OnelayerError, match=r"b\.jsonl: line 2 nests more than 256 levels"):
        read(tmp_path / "b.jsonl", format="json")


def test_brackets_of_a_text_are_no_levels(tmp_path) -> None:
    text = "[{" * 2000 + '"'
    json_lines(tmp_path / "a.jsonl", {"text": text})
    assert read(tmp_path / "a.jsonl", format="json")[0][2] == text


@pytest.mark.parametrize(
    ("format", "content", "byte"),
    [
        ("text", b"abc\xff", 4),
        ("lines", b"a" * ((1 << 20) - 1) + "é\n".encode() + b"\xff", (1 << 20) + 3),
        ("lines", b"abc\n\xc3", 5),
        ("csv", b"id,text\n1,\xff\n", 11),
        ("json", b'{"text": "\xff"}\n', 11),
        ("lead-sections", b'{"\xff": 1}', 3),
    ],
)
def test_what_is_not_utf8_is_said_so(tmp_path, format, content, byte) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(OnelayerError, match=rf"a\.txt: not UTF-8 at byte {byte}$"):
        read(tmp_path / "a.txt", format=format)


@pytest.mark.parametrize("format", ["lines", "csv", "json"])
def test_an_empty_file_of_several_is_named(tmp_path, format) -> None:
    whole, empty = tmp_path / "a", tmp_path / "b"
    whole.write_text('{"text": "x"}' if format == "json" else "text\nx")
    empty.touch()
    with pytest.raises(OnelayerError, match=rf"b: not a whole {format} file \(it is empty\)$"):
        read(whole, empty, format=format)


@pytest.mark.parametrize("name", ["notes [2026]*.jsonl", "a b", "frog", "?", "née#%20.txt"])
def test_a_file_may_have_any_name_and_lie_anywhere(tmp_path, monkeypatch, name) -> None:
    json_lines(tmp_path / name, {"text": "x"})
    assert read(tmp_path / name, format="json") == [("0-0", "", "x", None)]
    monkeypatch.chdir(tmp_path)
    assert read(Path(name), format="json") == [("0-0", "", "x", None)]


def test_rows_become_articles_file_by_file(tmp_path) -> None:
    first = parquet(tmp_path / "b", id=["1", "2"], url=["u", "v"], title="A", text=["x", None])
    other = parquet(tmp_path / "a", label=["Arts"], text=["z"], title=["C"], id=[7])
    assert read(first, other) == [
        ("1", "A", "x", None),
        ("2", "A", "", None),
        ("7", "C", "z", "Arts"),
    ]


def test_columns_may_have_other_names_and_labels_may_be_numbers(tmp_path) -> None:
    features = Features({"content": Value("string"), "topic": ClassLabel(names=["Arts", "Life"])})
    rows = {"content": ["x", "y", "z"], "topic": [1, 0, None]}
    Dataset.from_dict(rows, features=features).to_parquet(tmp_path / "a")
    found = read(tmp_path / "a", columns={"text": "content", "label": "topic"})
    assert found == [("0-0", "", "x", "Life"), ("0-1", "", "y", "Arts"), ("0-2", "", "z", None)]
    number = parquet(tmp_path / "b", text=["x"], label=[0])
    assert read(number) == [("0-0", "", "x", "0")]


def test_a_folder_is_its_files_in_order_of_their_paths(tmp_path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/1.jsonl", "a.json", "c.txt", ".hidden"):
        json_lines(tmp_path / name, {"text": name})
    corpus = {"source": {"paths": [str(tmp_path)]}, "credit": "nobody"}
    settings = CorpusSettings(**corpus, parse={"format": "json"})
    assert settings.files("") == [str(tmp_path / name) for name in ("a.json", "b/1.jsonl")]
    with pytest.raises(ValueError, match=rf"no file of {tmp_path} ends in \.parquet"):
        CorpusSettings(**corpus, parse={"format": "parquet"})
    assert all(ending.startswith(".") for endings in ENDINGS.values() for ending in endings)


def test_a_job_of_too_many_files_is_refused_and_parts_share_them(tmp_path) -> None:
    for place in range(1001):
        (tmp_path / f"{place:04}.txt").touch()
    corpus = {
        "source": {"paths": [str(tmp_path)]},
        "parse": {"format": "text"},
        "credit": "nobody",
    }
    with pytest.raises(ValueError, match="1001 files, a job reads 1000 at most; give 2 parts"):
        CorpusSettings(**corpus)
    settings = CorpusSettings(**corpus, parts=2)
    files = [settings.files_of_part("", name) for name in settings.part_names()]
    assert [len(part) for part in files] == [501, 501]  # the middle one is named in both


def test_wikitext_is_split_at_titles_alone(tmp_path) -> None:
    articles = read(lines(tmp_path / "a", *VALKYRIA, *TOWER), format="wikitext")
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
    one = lines(tmp_path / "whole", *VALKYRIA, *TOWER)
    parts = [
        lines(tmp_path / "0", *VALKYRIA[:cut], *[""][cut:]),
        lines(tmp_path / "1", *VALKYRIA[cut:], *TOWER),
    ]
    assert read(*parts, format="wikitext") == read(one, format="wikitext")


def test_lines_before_the_first_title_are_left_out(tmp_path) -> None:
    path = lines(tmp_path / "a", " the end of another article . \n", "", *TOWER)
    assert [article[1] for article in read(path, format="wikitext")] == ["Tower Building"]


def test_repeated_titles_of_wikitext_are_counted(tmp_path) -> None:
    path = lines(tmp_path / "a", *TOWER, *TOWER)
    assert [article[0] for article in read(path, format="wikitext")] == [
        "Tower Building",
        "Tower Building (2)",
    ]


@pytest.mark.parametrize("most", [None, 1, 7, 40, 41, 60])
def test_what_is_kept_is_the_subset_of_the_whole(tmp_path, most) -> None:
    texts = [" " if i % 3 == 0 else f"text {i}" for i in range(60)]
    source = parquet(tmp_path / "source", id=map(str, range(60)), text=texts)
    settings, place = RowSettings(format="parquet"), tmp_path / "kept.arrow"
    counted = parse(whole([source]), settings, place, most=most)
    write_articles(articles_of(whole([source]), settings, tmp_path), tmp_path / "whole.arrow", "")
    kept, all_of_it = (read_articles([tmp_path / f"{name}.arrow"]) for name in ("kept", "whole"))
    assert kept.to_list() == subset(all_of_it, most).to_list()
    assert len(kept) == counted["articles"].item() == min(most or 40, 40)


# Bad input: one line, with the file's name.


def test_a_file_without_a_column_is_refused_by_name(tmp_path) -> None:
    path = parquet(tmp_path / "a", id=["1"], body=["x"])
    message = r"a: no column text; its columns: id, body \(`parse.columns` names others\)"
    with pytest.raises(OnelayerError, match=message):
        read(path)
    with pytest.raises(OnelayerError, match="a: no column topic"):
        read(path, columns={"text": "body", "label": "topic"})
    with pytest.raises(OnelayerError, match="a: no column text"):
        read(path, format="wikitext")
    with pytest.raises(OnelayerError, match="a: column text holds int64, not text"):
        read(parquet(path, text=[1]))
    with pytest.raises(OnelayerError, match="a: column text holds list, not text"):
        read(parquet(path, text=[["x"]]))


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
def test_a_file_that_is_none_of_its_kind_is_refused_by_name(tmp_path, format, content) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(
        OnelayerError, match=r"a: (not a whole|no column text|not UTF-8)"
    ) as refused:
        read(path, format=format)
    assert "\n" not in str(refused.value)


def test_a_file_that_breaks_off_is_refused_by_name(tmp_path) -> None:
    path = lines(tmp_path / "a", *TOWER)
    content = path.read_bytes()
    path.write_bytes(content[:-9])
    with pytest.raises(OnelayerError, match="a: not a whole wikitext file"):
        read(path, format="wikitext")
    path.write_bytes(content[:4] + b"\xff" * 60 + content[64:])
    with pytest.raises(OnelayerError, match="a: not a whole wikitext file"):
        read(path, format="wikitext")


def test_of_many_text_files_the_one_that_is_none_is_named(tmp_path) -> None:
    paths = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]
    for path in paths:
        path.write_text("text")
    paths[1].write_bytes(b"\xff\xfe")
    for format in ("text", "lines"):
        with pytest.raises(OnelayerError, match=r"b\.txt: not UTF-8 at byte 1$"):
            read(*paths, format=format)


def test_a_full_disk_is_not_taken_for_a_bad_file(tmp_path, monkeypatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pa.RecordBatchStreamWriter, "write_table", full, raising=False)
    monkeypatch.setattr("datasets.arrow_writer.ArrowWriter.write_table", full)
    with pytest.raises(OSError, match="No space left"):
        read(parquet(tmp_path / "a", text=["x"]))


def test_nothing_is_written_into_the_home_of_a_user(tmp_path) -> None:
    source = json_lines(tmp_path / "a.jsonl", {"text": "x"})
    (home := tmp_path / "home").mkdir()
    environment = clean_environment(PYTHONPATH=str(ROOT / "src"), HOME=str(home))
    environment = {k: v for k, v in environment.items() if not k.startswith(("HF_", "XDG_"))}
    out = tmp_path / "out"
    run = subprocess.run(
        [
            *(sys.executable, "scripts/parse_articles.py", "--source", source),
            *("--articles", out / "articles.arrow", "--summary", out / "summary.parquet"),
            *("--settings", '{"parse": {"format": "json"}}'),
        ],
        cwd=ROOT,
        env=environment,
        check=True,
    )
    assert run.returncode == 0
    assert list(home.rglob("*")) == []
    assert sorted(path.name for path in out.iterdir()) == ["articles.arrow", "summary.parquet"]


def test_ids_of_several_kinds_are_named_as_such(tmp_path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "text": "one"}\n{"id": "b", "text": "two"}\n')
    with pytest.raises(OnelayerError, match=r"a\.jsonl: column id holds values of several kinds"):
        read(path, format="json")
