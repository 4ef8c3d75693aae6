"""A corpus in parts through the real rules: the same numbers, and no finished part is repeated."""

import numpy as np
import pandas as pd
import pytest
import yaml
from gensim.test.utils import datapath

from onelayer.text.topics.bag_of_words import read_bag_of_words
from tests.conftest import SMOKE, snakemake
from tests.workflow.conftest import executed, plan

pytestmark = pytest.mark.workflow

EXCERPT = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
TOPICS = "results/topics/dump"


def test_a_dump_in_parts_has_the_words_of_the_whole_and_repeats_no_part(fresh):
    overlay = {
        "corpora": {
            "dump": {
                "source": {"paths": [datapath(EXCERPT)]},
                "parse": {"format": "mediawiki-xml"},
                "credit": "nobody",
            }
        },
        "topics": {"words": {"single_piece_in": []}},
    }
    (fresh / "whole.yaml").write_text(yaml.safe_dump(overlay))
    overlay["corpora"]["dump"]["parts"] = 3
    (fresh / "parts.yaml").write_text(yaml.safe_dump(overlay))
    run = ("--cores", "2", *SMOKE)
    done = snakemake(fresh, *run, "whole.yaml", "--", f"{TOPICS}/counts.npz")
    assert executed(done.stdout) == {"parse_articles", "count_words"}, done.stdout
    names = [f"{part}-of-3" for part in range(3)]
    files = [f"{TOPICS}/counts/{name}.safetensors" for name in names]
    whole = read_bag_of_words(
        fresh / TOPICS / "vocabulary.parquet", [fresh / TOPICS / "counts.npz"]
    )

    done = snakemake(fresh, *run, "parts.yaml", "--", *files)
    steps = {"parse_part", "list_part_words", "merge_words", "count_part_words"}
    assert executed(done.stdout) == steps, done.stdout
    bag = read_bag_of_words(fresh / TOPICS / "vocabulary.parquet", [fresh / f for f in files])
    pd.testing.assert_frame_equal(bag.vocabulary, whole.vocabulary)
    pairs = zip(bag.documents(), whole.documents(), strict=True)
    assert all(np.array_equal(*pair) for pair in pairs)

    (fresh / files[1]).unlink()
    again = plan(fresh, "parts.yaml", "--", *files)
    assert again.jobs == {"count_part_words": 1}
