"""Masked documents as the settings ask for them.

Seeds of documents depend on what the documents are for and on nothing else, so that experiments
that ask for the same documents get them.
"""

from onelayer.compute.seeds import generator
from onelayer.papers.topic_structure.synthetic import data
from onelayer.settings.topic_structure_synthetic import TopicModelSettings


def vocabulary_of(settings: TopicModelSettings) -> data.Vocabulary:
    """The vocabulary that settings describe."""
    return data.Vocabulary(settings.T, settings.v)


def draw(
    settings: TopicModelSettings,
    documents: int,
    N: tuple[int, int],
    use: str,
    *,
    tau: int | None = None,
    concentration: float | None = None,
    masked_attended: bool = True,
    seed: int = 0,
) -> data.Rows:
    """Masked documents as counts: uniform over tau topics, or Dirichlet.

    Args:
        settings: words and masking.
        documents: how many.
        N: fewest and most words.
        use: what they are for; another use gives other documents.
        tau, concentration: one of the two.
        masked_attended: False as in the authors' code: START and END frame the words, and selected
            positions are no keys.
        seed: of the documents.
    """
    vocabulary = vocabulary_of(settings)
    rng = generator("topic documents", use, tau, seed)
    if tau is not None:
        weights = data.uniform_weights(rng, vocabulary.T, tau, documents)
    else:
        weights = data.dirichlet_weights(rng, vocabulary.T, concentration, documents)
    tokens = data.draw_documents(rng, vocabulary, weights, N, not masked_attended)
    shown, selected = data.mask_documents(rng, vocabulary, tokens, settings)
    return data.count_rows(vocabulary, tokens, shown, selected, masked_attended)
