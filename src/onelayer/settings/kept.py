"""The settings of a run as they were used, overlays resolved: `results/settings.json`.

They are an overlay by themselves: `--configfile settings.json` asks for the same run again.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from onelayer.errors import OnelayerError

SETTINGS = "settings.json"


def keep_settings(config: Mapping[str, object], results: Path) -> None:
    """Write them where the run's results lie, whole or not at all.

    Args:
        config: `config.yaml` with all overlays on top, in its order, which tables follow.
        results: the folder, which is made where it is missing.
    """
    results.mkdir(parents=True, exist_ok=True)
    part = results / f".part-{SETTINGS}"
    part.write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(results / SETTINGS)


def kept_settings(results: Path) -> dict:
    """The settings that were kept.

    Raises:
        OnelayerError: there are none, or they are no JSON object.
    """
    place = results / SETTINGS
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise OnelayerError(
            f"{place} does not exist: the command that made this run writes it, run again"
        ) from None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise OnelayerError(f"{place}: not the settings of a run")
    return found
