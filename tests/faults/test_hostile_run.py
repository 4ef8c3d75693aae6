"""A whole small run whose free texts are hostile: they are texts in all that it makes.

`make test-faults` runs it, after a run of its own without them to compare with.
"""

import pandas as pd
import pytest
import yaml
from markdown_it import MarkdownIt

from tests.conftest import SMOKE, snakemake

pytestmark = [pytest.mark.workflow, pytest.mark.faults]

HOSTILE = (
    "{corpus} of {input}, {x </script><script>alert(1)</script> <img src=x onerror=alert(1)> "
    "$(touch pwned) `touch pwned`; touch pwned \\input{/etc/passwd} | & % $x$ "
    "[a](javascript:alert(1))"
)


def test_hostile_texts_are_texts_in_all_that_a_whole_run_makes(finished, smoke_run):
    groups = [{"topic": f"{n} {HOSTILE[:70]}", "words": ["frog", "toad"]} for n in range(2)]
    texts = {
        "corpora": {"vital-articles": {"credit": HOSTILE}},
        "models": {name: {"note": HOSTILE} for name in ("bart-here", "minilm", "random")},
        "topic_structure": {"wikipedia": {"word_groups": groups}},
    }
    (finished / "overlay.yaml").write_text(yaml.safe_dump(texts), encoding="utf-8")
    run = snakemake(finished, "--cores", "2", *SMOKE, "overlay.yaml")
    assert run.returncode == 0, run.stdout
    for rule in ("table_corpora", "table_wikipedia", "figure_word_groups", "write_crate"):
        assert f"(Rule: {rule})" in run.stdout
    table = pd.read_csv(finished / "results/tables/topic_structure/corpora.csv")
    assert set(table.loc[table["corpus"] == "vital-articles", "note"]) == {HOSTILE}
    assert list(finished.rglob("pwned")) == []
    seen = 0
    for path in sorted((finished / "results").rglob("*")):
        before = smoke_run / path.relative_to(finished)
        if path.suffix not in (".html", ".md", ".tex"):
            continue
        now, then = (one.read_text(encoding="utf-8") for one in (path, before))
        seen += "alert(1)" in now
        if path.suffix == ".md":
            now, then = (MarkdownIt("commonmark").enable("table").render(t) for t in (now, then))
        if path.suffix == ".tex":
            assert now.count("\\input") == 0 and now.count("\\input") == then.count("\\input")
            continue
        for word in ("<script", "</script", "<img", "onerror=alert(1)>", 'href="javascript'):
            assert now.count(word) == then.count(word), (path, word)
    assert seen > 3
