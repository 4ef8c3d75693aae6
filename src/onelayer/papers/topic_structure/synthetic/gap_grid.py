"""The optimal gap over v, T, p_m, p_c and tau, and over the size of the embeddings: closed forms.

Li, Li & Risteski (2023), both theorems' 1 / (v (1 - (1 - p_c) p_m)); d < D is the paper's usual
case, about which its theorem says nothing.
"""

from collections.abc import Iterator

import pandas as pd

from onelayer.papers.topic_structure.synthetic import closed_form
from onelayer.papers.topic_structure.synthetic.data import Vocabulary, draw
from onelayer.settings.topic_structure_synthetic import GapGridSettings, TopicModelSettings

BASE = "base"  # the setting from which the others differ in one number


def gap_grid(words: TopicModelSettings, grid: GapGridSettings) -> pd.DataFrame:
    """Gaps of W_V and E at their optima without weight decay, for every setting and seed.

    Of the words and their masking one number is changed at a time to those of the grid.

    Returns:
        Rows `parameter` (W_V or E), `varied` (`base`, or what differs from it), `v`, `T`, `p_m`,
        `p_c`, `tau`, `d` (rows of W_E; D for W_V), `selection`, `seed`, `gap`, `theory` (the
        theorems'), `expected` (the exact one for documents of this length, or embeddings of this
        size).
    """
    gaps = []
    for varied, model, tau in _settings(words, grid):
        vocabulary = Vocabulary(model.T, model.v)
        setting = {"expected": closed_form.gap_at_length(model, tau, grid.N)}
        setting |= {"varied": varied, "tau": tau, "selection": model.selection}
        setting |= {name: getattr(model, name) for name in ("v", "T", "p_m", "p_c")}
        setting["theory"] = closed_form.theory_gap(model)
        for seed in range(grid.seeds):
            rows = draw(model, grid.documents, grid.N, "gap grid", tau=tau, seed=seed)
            moments, D = closed_form.moments(rows), vocabulary.size
            optima = {("W_V", D): closed_form.ridge_value(moments, 0.0)}
            # As many dimensions as E has in the theorem: more only fit the noise of finite
            # documents.
            for d in dict.fromkeys([model.T] + grid.d * (varied == BASE)):
                if d < D:
                    optima["E", d] = closed_form.ridge_embedding(moments, 0.0, d)
            for (parameter, d), optimum in optima.items():
                gap = float(closed_form.gap(vocabulary, optimum))
                row = setting | {"seed": seed, "parameter": parameter, "d": d, "gap": gap}
                if d not in (model.T, D):
                    expected = closed_form.theory_gap_of_rank(model, d)
                    row |= {"varied": "d", "expected": expected}
                gaps.append(row)
    return pd.DataFrame(gaps)


def _settings(
    model: TopicModelSettings, grid: GapGridSettings
) -> Iterator[tuple[str, TopicModelSettings, int]]:
    """What differs, the words and their masking, tau; masked as the paper defines it but once."""
    base = as_defined(model)
    yield BASE, base, grid.tau
    for name in ("v", "T", "p_m", "p_c"):
        for value in getattr(grid, name):
            yield name, base.model_copy(update={name: value}), grid.tau
    for tau in grid.taus:
        yield "tau", base, tau
    yield "selection", model.model_copy(update={"selection": "independent"}), grid.tau


def as_defined(model: TopicModelSettings) -> TopicModelSettings:
    """The same words, of which exactly the proportion p_m is selected, as the paper defines it."""
    return model.model_copy(update={"selection": "proportion"})
