"""Times the probe's statistics against matrix products over label indicators.

The authors' released code goes over pairs of words in Python; the plain loops of tests/oracle stand
for it.
"""

from collections.abc import Iterator

import numpy as np
import torch
from transformers import BertConfig, BertModel

from bench.case import Case, Numbers, Way, Work
from onelayer.papers.topic_structure.wikipedia.probe import similarity
from onelayer.papers.topic_structure.wikipedia.probe.labels import stack_labels
from onelayer.papers.topic_structure.wikipedia.probe.pairs import (
    DISTANCE_EDGES,
    Labels,
    PairCounter,
    PairSums,
)
from onelayer.text.models.checkpoints import forward
from tests.oracle import attention_loops, similarity_loops
from tests.oracle import cases as random_cases

TOPICS, VOCABULARY, REFERENCE = 50, 2500, 128
LOOPS = "a loop over pairs of words"


def cases(small: bool = False) -> Iterator[Case]:
    """Pair sums, alone, for many topic models and behind the forward pass; embeddings."""
    for tokens in (20,) if small else (128, 512):
        yield _attention(tokens)
    yield _topic_models(models=3 if small else 18, tokens=20 if small else 128)
    yield _document(small)
    yield _embeddings(words=60 if small else 5000)


def _attention(tokens: int, layers: int = 6, heads: int = 12) -> Case:
    """Top 10/20/50 words of 50 topics, disjoint and overlapping: six variants as in the paper."""
    rng = np.random.default_rng(tokens)
    attention = random_cases.attention(rng, layers, heads, tokens)
    return _pair_case(
        f"attention pairs, a document of {tokens} tokens", attention, nested_labels(rng), rng
    )


def _topic_models(models: int, tokens: int) -> Case:
    """Labels of many topic models in one pass."""
    rng = np.random.default_rng(tokens)
    words = tuple(f"word{word}" for word in range(VOCABULARY))
    parts = [
        Labels(words, np.eye(TOPICS + 1, TOPICS, dtype=bool)[topic][None])
        for topic in rng.integers(0, TOPICS + 1, size=(models, VOCABULARY))
    ]
    attention = random_cases.attention(rng, 6, 12, tokens)
    name = f"attention pairs, {models} topic models, a document of {tokens} tokens"
    return _pair_case(name, attention, stack_labels(parts), rng)


def _pair_case(name: str, attention: np.ndarray, labels: Labels, rng: np.random.Generator) -> Case:
    counter = PairCounter(labels, REFERENCE)
    document = _words(rng, attention.shape[-1])
    return Case(
        name=name,
        steps=(*("probe_attention_part", "probe_topic_models", "probe_choices", "measure_inputs"),),
        ours=Way("ours", lambda: _numbers(counter.pair_sums(attention, *document))),
        simple=Way(
            "numpy: matrix products over label indicators",
            lambda: simple_pair_sums(attention, *document, labels.membership),
        ),
        authors=Way(LOOPS, lambda: _looped(attention, document, labels)),
        count_work=lambda: _pair_work(attention, document, labels),
    )


def _document(small: bool) -> Case:
    """The whole probe of a document: a model of MiniLM's shape, and the sums."""
    tokens, shape = (20, (2, 24, 4, 96)) if small else (128, (6, 384, 12, 1536))
    layers, width, heads, hidden = shape
    config = BertConfig(
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=heads,
        intermediate_size=hidden,
        attn_implementation="eager",
    )
    torch.manual_seed(0)
    model, rng = BertModel(config).eval(), np.random.default_rng(0)
    labels, ids = nested_labels(rng), rng.integers(1000, 30_000, tokens).tolist()
    counter, document = PairCounter(labels, REFERENCE), _words(rng, tokens)

    def read() -> np.ndarray:
        with torch.no_grad():
            output = model(input_ids=torch.tensor([ids]), output_attentions=True)
        return torch.cat(output.attentions).numpy()

    def work() -> Work:
        sums = _pair_work(read(), document, labels)
        # A product takes two flops a weight and token, attention 4 T^2 d a layer.
        products = layers * (2 * tokens * (4 * width**2 + 2 * width * hidden))
        products += layers * 4 * tokens**2 * width
        return Work(
            flops=products + sums.flops,
            bytes=4 * layers * (4 * width**2 + 2 * width * hidden) + sums.bytes,
            rate="torch float32",
            formula="forward pass, 2 T (4 d^2 + 2 d h) + 4 T^2 d flops a layer, and the sums",
        )

    return Case(
        name=f"probe of a document of {tokens} tokens, MiniLM's shape",
        steps=(
            "probe_attention",
            "probe_attention_part",
            "probe_topic_models",
            "measure_snapshots",
        ),
        ours=Way("ours", lambda: _numbers(counter.pair_sums(forward(model, ids), *document))),
        simple=Way(
            "transformers' eager attention, then numpy as above",
            lambda: simple_pair_sums(read(), *document, labels.membership),
            tolerance=1e-6,
        ),
        authors=Way(
            f"transformers' eager attention, then {LOOPS}",
            lambda: _looped(read(), document, labels),
            tolerance=1e-6,
        ),
        count_work=work,
    )


def nested_labels(rng: np.random.Generator) -> Labels:
    """Top words of topics as the paper nests them; 50 topics, six variants."""
    overlapping = np.stack([rng.permutation(VOCABULARY) for _ in range(TOPICS)], axis=1)
    disjoint = np.full((VOCABULARY, TOPICS), VOCABULARY)
    owner = rng.integers(0, TOPICS, size=VOCABULARY)
    disjoint[np.arange(VOCABULARY), owner] = overlapping[np.arange(VOCABULARY), owner] // TOPICS
    ranks = ((rank, top) for rank in (disjoint, overlapping) for top in (10, 20, 50))
    membership = np.stack([rank < top for rank, top in ranks])
    return Labels(tuple(f"word{word}" for word in range(VOCABULARY)), membership)


def _words(rng: np.random.Generator, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """80% of the tokens are single-piece words, 75% of these in the vocabulary."""
    return random_cases.document(rng, tokens, VOCABULARY, share=0.8, known=0.75)


def _numbers(sums: PairSums) -> Numbers:
    pairs = sums.word_pairs
    return vars(sums) | {"pair_sums": pairs.sums, "pair_counts": pairs.counts}


def simple_pair_sums(
    attention: np.ndarray, positions: np.ndarray, words: np.ndarray, membership: np.ndarray
) -> Numbers:
    """Classes of all pairs as masks, a product a layer; bins and words by bincount."""
    layers, heads, tokens, S = *attention.shape[:3], len(positions)
    M = (membership[:, words] & (words >= 0)[:, None]).astype(np.float32)  # [variants, S, topics]
    labelled, same_word = M.any(axis=2), words[:, None] == words
    both = labelled[:, :, None] & labelled[:, None]
    shared = M @ M.transpose(0, 2, 1) > 0
    classes = np.where(both, np.where(same_word, 0, np.where(shared, 1, 2)), 3)
    off = ~np.eye(S, dtype=bool)
    classes = classes[:, off]  # [variants, pairs]
    masks = (classes[:, None] == np.arange(4)[:, None]).reshape(-1, off.sum()).astype(float)
    head_sums, mean = np.empty((layers, heads, len(masks))), np.zeros(off.sum())
    for layer in range(layers):
        weights = attention[layer][:, positions[:, None], positions][:, off].astype(float)
        head_sums[layer] = weights @ masks.T
        mean += weights.sum(axis=0)
    scale = tokens / REFERENCE
    mean *= scale / (layers * heads)
    distance = np.abs(positions[:, None] - positions)[off]
    bins = np.searchsorted(DISTANCE_EDGES, distance, side="right") - 1
    code = (np.arange(len(classes))[:, None] * 4 + classes) * len(DISTANCE_EDGES) + bins
    shape = (len(classes), 4, len(DISTANCE_EDGES))
    size = int(np.prod(shape))
    weights = np.broadcast_to(mean, code.shape).ravel()
    known = labelled.any(axis=0)
    distinct = np.unique(words[known])
    row = np.searchsorted(distinct, words)
    apart = (known[:, None] & known & ~same_word)[off]
    place = ((row[:, None] * len(distinct) + row)[off] * len(DISTANCE_EDGES) + bins)[apart]
    counts = np.bincount(place)
    return {
        "head_sums": scale * head_sums.transpose(2, 0, 1).reshape(-1, 4, layers, heads),
        "distance_sums": np.bincount(code.ravel(), weights, size).reshape(shape),
        "distance_counts": np.bincount(code.ravel(), minlength=size).reshape(shape),
        "pair_sums": np.bincount(place, mean[apart])[counts > 0],
        "pair_counts": counts[counts > 0],
    }


def _looped(attention: np.ndarray, document: tuple, labels: Labels) -> Numbers:
    positions, words = (array.tolist() for array in document)
    topics = [random_cases.topic_sets(variant) for variant in labels.membership]
    head_sums, _, distance_sums, distance_counts, _ = attention_loops.pair_sums(
        attention, positions, words, topics, REFERENCE
    )
    by_head = np.array(head_sums)
    return {
        "head_sums": by_head,
        "distance_sums": distance_sums,
        "distance_counts": distance_counts,
    }


def _pair_work(attention: np.ndarray, document: tuple, labels: Labels) -> Work:
    """Every weight is read once, and added once for each variant whose label both words have."""
    positions, words = document
    pairs, candidates = len(positions) ** 2, ((words >= 0).sum()) ** 2
    heads = attention.shape[0] * attention.shape[1]
    return Work(
        flops=heads * (pairs + candidates * len(labels.membership)),
        bytes=4 * attention.size,
        rate="numpy float64",
        formula="attention read once (4 bytes a weight); an addition a weight and variant",
    )


def labelled_vectors(
    words: int, topics: int, overlapping: bool
) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    """A generator, vectors [words, 384], and labels [words, topics]."""
    rng = np.random.default_rng(words)
    labels = random_cases.membership(rng, words, topics, overlapping, unlabelled=0.0, largest=3)
    return rng, rng.standard_normal((words, 384)), labels


def _embeddings(words: int, looped: int = 300) -> Case:
    _, vectors, membership = labelled_vectors(words, 50, overlapping=True)
    part = slice(min(looped, words))
    topics, lists = random_cases.topic_sets(membership[part]), vectors[part].tolist()

    def means(part: slice = slice(None)) -> Numbers:
        found = similarity.PairSimilarity(vectors[part], membership[part]).means()
        return {"same": found.same_mean, "different": found.different_mean}

    def loop() -> Numbers:
        same, different = similarity_loops.pair_means(lists, topics)[:2]
        return {"same": same, "different": different}

    return Case(
        name=f"embedding means, {words:,} words, d 384, overlapping",
        steps=("measure_embeddings", "measure_snapshots"),
        ours=Way("ours", means),
        simple=Way(
            "numpy: the words x words product and a mask", lambda: _gram(vectors, membership)
        ),
        authors=Way(LOOPS, loop, of=lambda _: means(part), share=(len(lists) / words) ** 2),
        count_work=lambda: Work(
            flops=3 * vectors.size,
            bytes=vectors.nbytes,
            rate="numpy float64",
            formula="vectors read once; 3 N d flops: sums and squares",
        ),
    )


def _gram(vectors: np.ndarray, membership: np.ndarray) -> Numbers:
    """Means over all pairs of different words."""
    products, M = vectors @ vectors.T, membership.astype(np.float32)
    shared = M @ M.T > 0
    np.fill_diagonal(products, 0)
    whole, same = products.sum(), products[shared].sum()
    pairs = shared.sum() - len(M)
    others = len(M) ** 2 - len(M) - pairs
    return {"same": same / pairs, "different": (whole - same) / others}
