"""The papers that are reproduced here, as works to cite: `CITATION.cff` has them."""

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from onelayer.papers import PAPERS
from onelayer.run.provenance import REPOSITORY

# By which BibTeX knows the papers, in the order of both.
_BIBTEX_KEYS = ("li2023topic", "tian2023scan", "decisionlists", "makkuva2024local")


@dataclass(frozen=True)
class Work:
    """What a run rests on and whoever uses the run cites.

    Attributes:
        key: by which BibTeX knows it.
        kind: `paper`, `software`, `data` or `model`.
        title: its own, or what its declaration says of it.
        authors: family name first, as BibTeX takes them; none where nobody is named.
        year: of publication; empty where none is known.
        note: where it appeared, or what else its declaration says.
        address: where it is on the web; empty where it is nowhere.
        licences: identifiers of SPDX.
    """

    key: str
    kind: str
    title: str
    authors: tuple[str, ...] = ()
    year: str = ""
    note: str = ""
    address: str = ""
    licences: tuple[str, ...] = ()


def _paper(key: str, cited: Mapping) -> Work:
    """A paper as the Citation File Format has it; one without names is anonymous."""
    people = [author for author in cited["authors"] if "family-names" in author]
    return Work(
        key,
        "paper",
        cited["title"],
        tuple(f"{author['family-names']}, {author['given-names']}" for author in people),
        str(cited.get("year", "")),
        cited.get("notes", "") if people else "anonymous",
        cited.get("url", ""),
    )


_CITED = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))["references"]
WORKS = dict(zip(PAPERS, map(_paper, _BIBTEX_KEYS, _CITED), strict=True))
