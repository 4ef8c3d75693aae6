"""The papers that are reproduced here, as works to cite; `CITATION.cff` names the same."""

from dataclasses import dataclass


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


WORKS = {
    "topic_structure": Work(
        "li2023topic",
        "paper",
        "How Do Transformers Learn Topic Structure: Towards a Mechanistic Understanding",
        ("Li, Yuchen", "Li, Yuanzhi", "Risteski, Andrej"),
        "2023",
        "ICML 2023, arXiv 2303.04245",
        "https://arxiv.org/abs/2303.04245",
    ),
    "scan_snap": Work(
        "tian2023scan",
        "paper",
        "Scan and Snap: Understanding Training Dynamics and Token Composition in 1-layer "
        "Transformer",
        ("Tian, Yuandong", "Wang, Yiping", "Chen, Beidi", "Du, Simon S."),
        "2023",
        "NeurIPS 2023, arXiv 2305.16380",
        "https://arxiv.org/abs/2305.16380",
    ),
    "decision_lists": Work(
        "decisionlists",
        "paper",
        "Provable Gradient-Descent-Based Learning of Decision Lists by Transformers",
        note="anonymous",
    ),
    "local_to_global": Work(
        "makkuva2024local",
        "paper",
        "Local to Global: Learning Dynamics and Effect of Initialization for Transformers",
        (
            "Makkuva, Ashok Vardhan",
            "Bondaschi, Marco",
            "Ekbote, Chanakya",
            "Girish, Adway",
            "Nagle, Alliot",
            "Kim, Hyeji",
            "Gastpar, Michael",
        ),
        "2024",
        "NeurIPS 2024, arXiv 2406.03072",
        "https://arxiv.org/abs/2406.03072",
    ),
}
