"""Articles as token numbers for the language model of Fig. 7: vocabulary, training, held out."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from onelayer.errors import OnelayerError
from onelayer.seeds import generator
from onelayer.settings.scan_snap import LanguageModelSettings
from onelayer.text.corpus.articles import tokens

UNKNOWN, END = "<unk>", "<eos>"  # ids 0 and 1; an article ends with END
MARK = "\ufffd"  # of one token: WikiText's own UNKNOWN would be three
FIRST_RANKS = 1, 11, 101, 1001  # of frequency bins, by rank in the training part


@dataclass(frozen=True, eq=False)
class Text:
    """A corpus as token ids."""

    vocabulary: list[str]  # by id: UNKNOWN, END, then from frequent to rare in the training part
    training: np.ndarray  # ids of the training articles, one after the other
    held_out: np.ndarray  # [sequences, length + 1], windows of articles not trained on

    @property
    def shown(self) -> np.ndarray:
        """The held-out window that maps show, [length]: the first with fewest unknown tokens."""
        inputs = self.held_out[:, :-1]
        return inputs[(inputs == 0).sum(axis=1).argmin()]

    @property
    def bins(self) -> list[str]:
        """Ranges of frequency ranks, the most frequent first; then UNKNOWN, all rarer tokens."""
        known = len(self.vocabulary) - 2
        first = [rank for rank in FIRST_RANKS if rank <= known]
        last = [*(rank - 1 for rank in first[1:]), known]
        return [*(f"{a}–{b}" for a, b in zip(first, last, strict=True)), UNKNOWN]

    @property
    def bin_of(self) -> np.ndarray:
        """The place in `bins` of each id, [vocabulary]; -1 for END."""
        ranks = np.arange(1, len(self.vocabulary) - 1)
        return np.r_[len(self.bins) - 1, -1, np.searchsorted(FIRST_RANKS, ranks, side="right") - 1]


def encode(articles: pd.DataFrame, settings: LanguageModelSettings) -> Text:
    """Split articles, count tokens, and number them; `OnelayerError` if they are too short."""
    texts = [tokens(text.lower().replace(UNKNOWN, MARK)) for text in articles["text"]]
    order = generator("scan and snap held-out articles").permutation(len(texts))
    held = set(order[: max(1, round(settings.held_out_share * len(texts)))].tolist())
    training = [text for place, text in enumerate(texts) if place not in held]
    counts = Counter(token for text in training for token in text if token != MARK)
    kept = sorted(counts, key=lambda token: (-counts[token], token))[: settings.vocabulary - 2]
    names = [UNKNOWN, END, *kept]
    index = {name: place for place, name in enumerate(names)}
    trained_on, unseen = (
        np.array([index.get(token, 0) for text in part for token in (*text, END)])
        for part in (training, [texts[place] for place in sorted(held)])
    )
    length, sequences = settings.length, settings.held_out_sequences
    for key, asked, part in (
        ("held_out_sequences", sequences, unseen),
        ("batch", settings.batch, trained_on),
    ):
        if asked > len(part) // (length + 1):
            raise OnelayerError(
                f"scan_snap.language_model.{key}: {asked}; the articles have {len(part)} tokens, "
                f"too few for so many sequences of {length} and the next"
            )
    starts = np.linspace(0, len(unseen) - length - 1, sequences).astype(np.int64)
    return Text(names, trained_on, unseen[starts[:, None] + np.arange(length + 1)])
