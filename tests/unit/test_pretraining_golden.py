"""Portable trainings of the five architectures have the weights of version 0.2.0, to the last bit.

`tests/golden/pretraining.csv` was written by commit 53484313 on the same made-up articles, its
held-out rows when held-out inputs became the same for all seeds and sizes. The
numbers of every table on models trained here rest on these draws.
"""

import hashlib
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest

from onelayer.portable import SWITCHES
from tests.conftest import ROOT

GOLDEN = ROOT / "tests/golden/pretraining.csv"


def main() -> None:
    """Print the same table of trainings by this house; switches are set before Python starts."""
    import torch

    from onelayer import portable
    from onelayer.text.pretraining.training import train
    from tests.tiny_text import task

    torch.set_num_threads(1)
    portable.start()
    parts = []
    for family in ("albert", "bart", "bert", "electra", "roberta"):
        with tempfile.TemporaryDirectory() as folder:
            settings, objective, *texts = task(Path(folder), family)
            history = train(objective, *texts, settings)
        digest = hashlib.sha256()
        for name, parameter in objective.model.named_parameters():
            digest.update(name.encode() + parameter.detach().numpy().tobytes())
        history["value"] = history["value"].map("{:.9g}".format)
        last = {"tokens": history["tokens"].max(), "quantity": "weights"}
        weights = pd.DataFrame([last | {"value": digest.hexdigest()}])
        parts.append(pd.concat([history, weights]).assign(family=family))
    sys.stdout.write(pd.concat(parts).to_csv(index=False))


@pytest.fixture(scope="module")
def both() -> pd.DataFrame:
    """Every golden row with its value now."""
    command = [sys.executable, "-m", "tests.unit.test_pretraining_golden"]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = os.environ | SWITCHES | {"PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    new, old = (pd.read_csv(table, dtype=str) for table in (io.StringIO(done.stdout), GOLDEN))
    keys = ["family", "tokens", "split", "quantity"]
    return old.merge(new, how="left", on=keys, suffixes=("_old", ""))


def test_weights_are_the_same_to_the_last_bit(both):
    weights = both[both["quantity"] == "weights"]
    assert len(weights) == 5
    assert weights["value"].tolist() == weights["value_old"].tolist()


def test_losses_are_the_same(both):
    losses = both[both["quantity"] != "weights"]
    assert len(losses) == 5
    assert losses["value"].tolist() == losses["value_old"].tolist()


if __name__ == "__main__":
    main()
