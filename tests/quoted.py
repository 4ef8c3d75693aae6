"""What a text quotes of findings."""

import re

_QUOTED = re.compile(r"<!-- finding: ([a-z0-9_/]+) -->(.*?)<!-- end -->", re.DOTALL)


def quotes(text: str) -> list[tuple[str, str]]:
    """All (name, sentence) that a text quotes, line breaks as spaces; of another run `run/name`."""
    return [(name, " ".join(sentence.split())) for name, sentence in _QUOTED.findall(text)]
