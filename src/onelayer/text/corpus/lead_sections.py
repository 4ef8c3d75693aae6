"""Lead sections of Wikipedia's vital articles, from one JSON file with human topics."""

import json
from pathlib import Path

from onelayer.errors import OnelayerError
from onelayer.text.corpus.articles import Article

UNLABELLED = "Uncategorized"


def read_lead_sections(path: Path) -> list[Article]:
    """Read `{title: {title, extract, description, topic}}`.

    Raises:
        OnelayerError: the file is no such JSON.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return [
            (_text(title), _text(entry["title"]), _text(entry["extract"]), _label(entry["topic"]))
            for title, entry in entries.items()
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise OnelayerError(
            f"{path}: not a JSON file of lead sections, "
            f"{{title: {{title, extract, topic}}}}: {type(error).__name__} {error}"
        ) from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} in place of text")
    value.encode()  # JSON can hold halves of characters, which are no text
    return value


def _label(topic: str | None) -> str | None:
    return None if topic in (None, "", UNLABELLED) else _text(topic)
