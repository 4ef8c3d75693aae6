"""The settings of a run as they were used, overlays resolved: `results/settings.json`.

They are an overlay by themselves: `--configfile settings.json` asks for the same run again. No step
makes them, so that their sum stands beside them: an edit would speak of a run that nobody made.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from onelayer.errors import OnelayerError

SETTINGS, SETTINGS_SUM = "settings.json", "settings.sha256"
_AGAIN = "the command that made this run, with --forcerun and one of its targets, writes it again"


def keep_settings(config: Mapping[str, object], results: Path) -> None:
    """Write them and their sum where the run's results lie, each whole or not at all.

    `config` is `config.yaml` with all overlays on top, in its order, which tables follow.
    """
    results.mkdir(parents=True, exist_ok=True)
    content = (json.dumps(config, indent=1, ensure_ascii=False) + "\n").encode()
    for name, kept in ((SETTINGS, content), (SETTINGS_SUM, _sum(content))):
        part = results / f".part-{name}"
        part.write_bytes(kept)
        part.replace(results / name)


def kept_settings(results: Path) -> dict:
    """The settings that were kept.

    Raises:
        OnelayerError: there are none, they were edited, or they are no JSON object.
    """
    place = results / SETTINGS
    try:
        content, digest = place.read_bytes(), (results / SETTINGS_SUM).read_bytes()
        settings = json.loads(content)
    except FileNotFoundError as error:
        raise OnelayerError(f"{error.filename} does not exist: {_AGAIN}") from None
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise OnelayerError(f"{place}: not the settings of a run")
    if digest != _sum(content):
        raise OnelayerError(f"{place}: edited since the run kept it: {_AGAIN}")
    return settings


def _sum(content: bytes) -> bytes:
    """As `sha256sum --check` reads it."""
    return f"{hashlib.sha256(content).hexdigest()}  {SETTINGS}\n".encode()
