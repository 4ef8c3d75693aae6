"""What a checkpoint was published as: read from its configuration."""

import json
from pathlib import Path


def published_bare(folder: Path) -> str:
    """Why a checkpoint has no head that predicts words; empty where it may have one.

    An encoder-decoder needs none of its own: it writes with its word embeddings.

    Args:
        folder: where `config.json` lies.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    name = (config.get("architectures") or [""])[0]
    bare = name.endswith("Model") and not name.endswith("HeadModel")  # as GPT2LMHeadModel
    bare = bare and not config.get("is_encoder_decoder", False)
    return f"published as a bare {name}, without a head that predicts words" if bare else ""
