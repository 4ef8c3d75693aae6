"""The command `onelayer`, and the package's public names."""

import subprocess
import sys

import pytest

import onelayer
from onelayer.__main__ import main
from tests.tiny_models import save_tiny


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "nowhere"], "onelayer: nowhere: no tables here; `make results` makes them"),
        (["crate", "nowhere"], "onelayer: nowhere/index.md does not exist; `make results` makes"),
        (["probe", "nowhere"], "onelayer: nowhere: there is no such folder"),
        (["probe", "a/b@main"], "onelayer: revision: a revision is the 40 hexadecimal digits"),
        (["probe", "nowhere", "nowhere"], "onelayer: a checkpoint is named twice"),
        (["probe", ".", "nowhere"], "onelayer: config.json of folder .: there is no such file"),
        (["probe", "mine", "--results", "nowhere"], "onelayer: nowhere: no topics of vital-art"),
    ],
)
def test_what_is_wrong_is_one_line(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_tiny("bert", tmp_path / "mine")
    capsys.readouterr()  # a bar of the library's
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(said) and printed.err.count("\n") == 1


def test_public_names_load_when_they_are_asked_for():
    code = "import sys, onelayer; print('torch' in sys.modules); onelayer.OnelayerError"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "False"
    assert {"probe_topic_structure", "Ensemble", "OnelayerError"} <= set(dir(onelayer))
    with pytest.raises(AttributeError, match="nothing"):
        onelayer.nothing  # noqa: B018
