"""Settings of Local to Global that make no sense are named in one line, before anything runs."""

import pytest

from onelayer.errors import OnelayerError
from onelayer.settings.root import load_settings
from tests.unit.test_settings import changed

ABOVE, BELOW = {"p": 0.9, "q": 0.9}, {"p": 0.1, "q": 0.1}
FLOW, TRANSFORMER = "local_to_global.flow", "local_to_global.transformer"
VARIANTS = "local_to_global.ablation.variants"
OPEN = "local_to_global.open_problems"


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (f"{TRANSFORMER}.chain.p", 0, [f"{TRANSFORMER}.chain.p", "greater than 0"]),
        (f"{TRANSFORMER}.chain.q", 1.0, [f"{TRANSFORMER}.chain.q", "less than 1"]),
        (
            f"{TRANSFORMER}.chain",
            {"p": 0.2, "q": 0.8},
            [f"{TRANSFORMER}.chain", "p = 0.2, q = 0.8", "p + q = 1", "below or above 1"],
        ),
        (
            f"{FLOW}.chains",
            [BELOW, {"p": 0.5, "q": -0.5}],
            [f"{FLOW}.chains.1.q", "greater than 0", "-0.5"],
        ),
        (f"{FLOW}.chains", [BELOW, {"p": 0.3, "q": 0.7}], [f"{FLOW}.chains.1", "p + q = 1"]),
        (f"{FLOW}.chains", [ABOVE, {"p": 0.8, "q": 0.7}], [FLOW, "at least one with p + q < 1"]),
        (f"{FLOW}.chains", [BELOW, ABOVE, BELOW], [FLOW, "p = 0.1, q = 0.1 is given twice"]),
        (f"{FLOW}.sigmas", [0.5, 0.02], [FLOW, "sigmas", "ascending"]),
        (f"{FLOW}.sigmas", [0.0, 1.0], [f"{FLOW}.sigmas.0", "greater than 0"]),
        (f"{FLOW}.tolerance", 0, [f"{FLOW}.tolerance", "greater than 0"]),
        (f"{TRANSFORMER}.snapshots", [1, 900], [TRANSFORMER, "snapshots", "900", "500"]),
        (f"{TRANSFORMER}.training.embedding_rows", 2, [TRANSFORMER, "embedding_rows", "one row"]),
        (
            VARIANTS,
            [{"name": "x"}, {"name": "x", "lr": 1.0}],
            ["local_to_global.ablation", "x is given twice"],
        ),
        (
            VARIANTS,
            [{"name": "x", "initialisation": "rank_one", "embedding_rows": 2}],
            [f"{VARIANTS}.0", "embedding_rows", "one row"],
        ),
        (
            OPEN,
            {"sources": [{"name": "x", "transitions": [[0.5, 0.6], [0.5, 0.5]]}]},
            [f"{OPEN}.sources.0", "[0.5, 0.6]", "2 probabilities that sum to 1"],
        ),
        (
            OPEN,
            {"sources": [{"name": "x", "transitions": [[0.5, 0.5]] * 3}]},
            [f"{OPEN}.sources.0", "3 rows", "2 rows, or 4"],
        ),
        (
            OPEN,
            {"sources": [{"name": "x", "transitions": [[0.5, 0.5]] * 2}] * 2},
            [OPEN, "x is given twice"],
        ),
        (
            "local_to_global.attention_flow",
            {"independent": [1.0]},
            ["attention_flow.independent.0", "less than 1"],
        ),
        (VARIANTS, [{"name": "x", "weightdecay": 0.1}], ["did you mean 'weight_decay'"]),
    ],
)
def test_what_makes_no_sense_is_named_with_what_is_allowed(path, value, words) -> None:
    with pytest.raises(OnelayerError) as caught:
        load_settings(changed(path, value))
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message
