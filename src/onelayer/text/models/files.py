"""The files of a checkpoint before any model is built: JSON, and which files hold the weights.

Weights are chosen as transformers chooses them: one file before shards, safetensors before
PyTorch's. What is not chosen is left alone, and said.
"""

import json
import logging
import zipfile
from collections.abc import Collection
from pathlib import Path

from safetensors import SafetensorError, safe_open

from onelayer.errors import OnelayerError
from onelayer.text.untrusted import LARGEST, check_growth

log = logging.getLogger("onelayer")

WEIGHTS, INDEX = "model.safetensors", ".index.json"
# In transformers' order.
CHOICES = (WEIGHTS, f"{WEIGHTS}{INDEX}", "pytorch_model.bin", f"pytorch_model.bin{INDEX}")
_OF_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".ot", INDEX)


def read_json(path: Path, source: object = None) -> dict:
    """The object in a checkpoint's JSON file, if it is bounded and asks for no remote code.

    Errors, all `OnelayerError`, name the checkpoint's `source`, or the file's path.
    """
    named = f"{path.name} of {source}" if source else path
    try:
        if (size := path.stat().st_size) > (most := LARGEST.get(path.name, 1 << 26)):
            raise OnelayerError(f"{named}: {size} bytes; at most {most} are read")
        values = dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise OnelayerError(f"{named}: there is no such file") from None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise OnelayerError(f"{named}: not a JSON object ({error})") from None
    if "auto_map" in values:
        raise OnelayerError(f"{named} asks for remote code (auto_map), which is refused")
    return values


def chosen_weights(names: Collection[str], source: object) -> str:
    """The file, or index of shards, that transformers reads; refused if there is none of them."""
    if chosen := next((name for name in CHOICES if name in names), None):
        return chosen
    others = ", ".join(sorted(name for name in names if name.endswith(_OF_WEIGHTS))[:3])
    raise OnelayerError(f"{source}: found {others or 'no weights'}; read are {', '.join(CHOICES)}")


def shards(chosen: Path, source: object) -> list[str]:
    """Names of the files that hold the weights: the chosen one, or those that an index names."""
    if not chosen.name.endswith(INDEX):
        return [chosen.name]
    weight_map = read_json(chosen, source).get("weight_map")
    names = list(weight_map.values()) if isinstance(weight_map, dict) else []
    if not names or any(not isinstance(name, str) or Path(name).name != name for name in names):
        raise OnelayerError(f"{chosen.name} of {source}: no map from weights to files beside it")
    return list(dict.fromkeys(names))


def weight_files(folder: Path, source: object) -> list[Path]:
    """The files that hold a checkpoint's weights; all are there, and their headers were read."""
    names = {path.name for path in folder.iterdir() if path.is_file()}
    chosen = chosen_weights(names, source)
    files = shards(folder / chosen, source)
    if missing := [name for name in files if name not in names]:
        raise OnelayerError(f"{source}: {missing[0]}, which {chosen} names, is missing")
    if left := sorted(n for n in names - {chosen, *files} if n.endswith(_OF_WEIGHTS)):
        log.info("%s: weights are read from %s; left alone: %s", source, chosen, ", ".join(left))
    for name in files:
        try:
            _read_header(folder / name, f"{name} of {source}")
        except (SafetensorError, OSError, zipfile.BadZipFile) as error:
            raise OnelayerError(f"{name} of {source}: no whole file of weights ({error})") from None
    return [folder / name for name in files]


def _read_header(path: Path, named: str) -> None:
    if path.suffix == ".safetensors":
        with safe_open(path, framework="numpy") as file:
            if not file.keys():
                raise OnelayerError(f"{named}: holds no weights")
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        check_growth(named, path.stat().st_size, unpacked)
