"""Every table, figure and animation of the workflow, each registered where its rule declares it.

From the one declaration follow a result's files, its caption, its place in the report, the target
that makes it, and its lines in the index and the crate.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import get_args

from onelayer.errors import OnelayerError
from onelayer.evidence.declarations import Declaration, read_declarations, usual_target
from onelayer.papers import PAPERS
from onelayer.run.provenance import REPOSITORY
from onelayer.settings.topics import Overlap

# Where results are shown: under their paper, or under what is said of all of them.
FOLDERS = {**PAPERS, "all_papers": "All papers", "stability": "Stability"}


class Registry:
    """All results that rules declare, beside the folder of their captions, `workflow/report`."""

    def __init__(self, captions: Path) -> None:
        self.captions = captions
        self.declared: dict[str, Declaration] = {}
        self._patterns: list[Declaration] = []
        self._left_out: set[str] = set()

    def declare(
        self,
        kind: str,
        name: str,
        section: str,
        label: str,
        *,
        caption: str = "",
        target: str = "",
        made: bool = True,
        **wildcards: Iterable[str],
    ) -> Declaration:
        """Register a result, and return it as declared, wildcards and all.

        Args:
            kind, name, section, label: as of `Declaration`; a kind of `FORMS`.
            caption, target: where they are not `<kind>_<name>`.
            made: whether it is among all results under these settings.
            **wildcards: values of every wildcard in the name.

        Raises:
            OnelayerError: no such paper, declared before, or there is no such caption.
        """
        folder = name.partition("/")[0]
        if folder not in FOLDERS:
            raise OnelayerError(f"{kind} {name}: no paper {folder}, only {', '.join(FOLDERS)}")
        target = target or usual_target(kind, name)
        shown = {"caption": caption or target, "target": target}
        pattern = Declaration(kind, name, section, label, **shown)
        described = self.captions / f"{pattern.caption}.rst"
        if not described.is_file():
            raise OnelayerError(f"{kind} {name}: no caption; write {described}")
        self._patterns.append(pattern)
        for values in itertools.product(*wildcards.values()):
            chosen = dict(zip(wildcards, values, strict=True))
            named = {"name": name.format(**chosen), "target": target.format(**chosen)}
            result = replace(pattern, **named)
            if result.base in self.declared:
                raise OnelayerError(f"{kind} {result.name}: declared twice")
            self.declared[result.base] = result
            if not made:
                self._left_out.add(result.base)
        return pattern

    def check(self) -> None:
        """Compare with the captions once every rule has been read.

        Raises:
            OnelayerError: two results have one target, or a caption describes no result.
        """
        targets = [result.target for result in self.declared.values()]
        if twice := sorted({target for target in targets if targets.count(target) > 1}):
            raise OnelayerError(f"target {twice[0]}: two results have it; name one of them")
        written = {path.stem for path in self.captions.glob("*.rst")} - {"workflow"}
        if unused := sorted(written - {pattern.caption for pattern in self._patterns}):
            raise OnelayerError(
                f"{self.captions}: no result uses the caption {', '.join(unused)}; remove it"
            )

    def made(self, kind: str) -> list[Declaration]:
        """Every result of a kind that a whole run makes, in the order of declaration."""
        results = (r for base, r in self.declared.items() if base not in self._left_out)
        return [result for result in results if result.kind == kind]

    def names(self, kind: str) -> list[str]:
        """Names of all results of a kind as rules declare them, also of those that are not made."""
        return [pattern.name for pattern in self._patterns if pattern.kind == kind]

    def targets(self) -> Mapping[str, list[str]]:
        """Files of every named target: one of each result, of each paper and of its parts."""
        files: dict[str, list[str]] = defaultdict(list)
        for base, result in self.declared.items():
            files[result.target] += result.files
            for group in result.groups if base not in self._left_out else []:
                files[group] += result.files
        return dict(files)


def targets() -> dict[tuple[str, str], dict[str, str]]:
    """Every target with the first sentence of its caption.

    By the target and title of the paper, or part of one, that it belongs to; what is declared in a
    rule alone, and not at a function, comes last, under ("", "").
    """
    captions = (REPOSITORY / "workflow/report").glob("*_*.rst")
    shown = {path.stem: summary(path) for path in captions}
    lines: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for one in sorted(read_declarations(), key=_place):
        target = one.target or usual_target(one.kind, one.name)
        part, colon, _ = one.section.partition(":")
        group, title, line = one.groups[-1], FOLDERS[one.folder], shown.pop(one.rule)
        title += f": {part}" if colon else ""
        overlaps = get_args(Overlap) if one.wildcards else [""]
        lines[group, title] |= {target.format(overlap=overlap): line for overlap in overlaps}
    return {**lines, ("", ""): shown}


def _place(one: Declaration) -> tuple[int, str, bool]:
    """By paper and section, tables first."""
    return list(FOLDERS).index(one.folder), one.section, one.kind == "figure"


def main() -> str:
    """Every table, figure and animation by its target, with the first sentence of its caption."""
    by_group = targets()
    lines = {target: line for group in by_group.values() for target, line in group.items()}
    groups = FOLDERS | {name: title for name, title in by_group if name}
    ordered = [*sorted(lines.items()), ("", ""), *((g, f"all of {of}") for g, of in groups.items())]
    return "\n".join(f"{target:<42} {line}".rstrip() for target, line in ordered)


def summary(caption: Path) -> str:
    """The first paragraph of a report caption, which says in a sentence what the result shows.

    Raises:
        OnelayerError: it does not end as a sentence does.
    """
    first = caption.read_text("utf-8").strip().partition("\n\n")[0]
    line = " ".join(first.replace("``", "`").split())
    if not line.endswith((".", "?")):
        raise OnelayerError(
            f"{caption}: the first paragraph ends in '{line[-20:]}'; it is the line of the index: "
            "a sentence, and an empty line after it"
        )
    return line
