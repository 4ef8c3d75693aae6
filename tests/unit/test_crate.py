"""The crate of a run: valid, whole, and with the sums of its files."""

import io
import json
import os
import subprocess
import zipfile

import pytest
import requests.adapters
import urllib3
from requests_cache import CachedSession
from rocrate_validator import services
from rocrate_validator.models import ValidationSettings

from onelayer.crate import crate
from tests.conftest import ROOT

CONTEXT = ROOT / "tests/data/ro-crate-1.1.jsonld"


class FromFile(requests.adapters.HTTPAdapter):
    """Answers with the context of RO-Crate 1.1, and asks nobody."""

    def send(self, request, **_):
        body, headers = io.BytesIO(CONTEXT.read_bytes()), {"Content-Type": "application/ld+json"}
        url = {"preload_content": False, "request_url": request.url}
        return self.build_response(request, urllib3.HTTPResponse(body, headers, 200, **url))


@pytest.fixture
def unpacked(tmp_path):
    results = tmp_path / "results"
    for name in ("tables/p/a b.csv", "figures/p/f.png", "index.md", "settings.yaml"):
        (results / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).write_text(name)
    os.utime(results / "index.md", (0, 0))
    said = crate(results)
    assert said.startswith(f"{tmp_path}/results.crate.zip: 4 files of the run")
    with zipfile.ZipFile(tmp_path / "results.crate.zip") as archive:
        archive.extractall(tmp_path / "crate")
    return tmp_path / "crate"


def test_the_crate_is_a_valid_workflow_run_crate(unpacked, tmp_path):
    session = CachedSession(str(tmp_path / "cache"))
    session.mount("https://", FromFile())
    session.get("https://w3id.org/ro/crate/1.1/context")
    session.close()
    found = services.validate(
        ValidationSettings(
            rocrate_uri=unpacked,
            profile_identifier="workflow-run-crate",
            offline=True,
            cache_path=tmp_path / "cache",
            skip_availability_check=True,
        )
    )
    assert found.passed(), [issue.message for issue in found.get_issues()]
    assert len(found.executed_checks) > 50


def test_the_crate_holds_code_and_results_with_their_sums(unpacked):
    for name in ("Snakefile", "config.yaml", "scripts/scoreboard.py", "results/tables/p/a b.csv"):
        assert (unpacked / name).is_file()
    assert not [*unpacked.rglob("__pycache__")]
    [about] = [
        one
        for one in json.loads((unpacked / "ro-crate-metadata.json").read_text())["@graph"]
        if one["@id"] == "#run"
    ]
    assert about["startTime"] == "1970-01-01T00:00:00+00:00" < about["endTime"]
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=unpacked, check=True)
