"""Lead sections of Wikipedia's vital articles, from one JSON file with human topics."""

import json
from pathlib import Path

from onelayer.corpus.articles import Article
from onelayer.errors import OnelayerError

UNLABELLED = "Uncategorized"


def read_lead_sections(path: Path) -> list[Article]:
    """Read `{title: {title, extract, description, topic}}`.

    Raises:
        OnelayerError: the file is no such JSON.
    """
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        return [
            (title, entry["title"], entry["extract"], _label(entry["topic"]))
            for title, entry in entries.items()
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise OnelayerError(
            f"{path}: not a JSON file of lead sections, "
            f"{{title: {{title, extract, topic}}}}: {type(error).__name__} {error}"
        ) from None


def _label(topic: str | None) -> str | None:
    return None if topic in (None, "", UNLABELLED) else topic
