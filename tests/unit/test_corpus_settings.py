"""Claims about the settings of corpora: files of folders, and what names no corpus."""

import pytest

from onelayer.settings.corpus import CorpusSettings

WHEEL = {"package": "p", "version": "1", "member": "m", "sha256": "0" * 64}
HUB = {"dataset": "tiny/corpus", "revision": "a" * 40}


def corpus(source: dict, **parse: object) -> CorpusSettings:
    return CorpusSettings(source=source, parse=parse, credit="nobody")


def test_a_folder_is_its_files_in_order_of_their_paths(tmp_path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/1.jsonl", "a.json", "c.txt", ".hidden"):
        (tmp_path / name).write_text('{"text": "x"}')
    source = {"paths": [str(tmp_path)]}
    expected = [str(tmp_path / name) for name in ("a.json", "b/1.jsonl")]
    assert corpus(source, format="json").paths == expected
    assert corpus(WHEEL, format="json").paths == corpus(HUB, format="json").paths == []
    (tmp_path / "d.json").symlink_to("/etc/hostname")
    with pytest.raises(ValueError, match=r"d\.json is a link out of its folder"):
        corpus(source, format="json")


@pytest.mark.parametrize(
    ("source", "parse", "message"),
    [
        (HUB | {"revision": "main"}, {"format": "json"}, "40 hexadecimal digits of a commit"),
        ({"dataset": "tiny/corpus"}, {"format": "json"}, "40 hexadecimal digits of a commit"),
        (HUB | {"dataset": "corpus"}, {"format": "json"}, "source.hub.dataset"),
        (HUB | {"splt": "x"}, {"format": "json"}, "unknown key 'splt' .did you mean 'split'"),
        (WHEEL, {"format": "text", "columns": {"text": "a"}}, "format text has no columns to name"),
        ({"paths": ["/a", "/a"]}, {"format": "json"}, "a file is named twice"),
        ({"paths": ["/proc/sys"]}, {"format": "csv"}, "no file of /proc/sys ends in .csv"),
        ({"paths": ["/a/{x}"]}, {"format": "json"}, "a path is one line, not empty, and without"),
    ],
)
def test_settings_that_name_no_corpus_are_refused(source, parse, message) -> None:
    with pytest.raises(ValueError, match=message):
        corpus(source, **parse)
