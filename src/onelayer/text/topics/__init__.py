"""From articles to topics: bag of words, LDA, its quality, and the ambiguity filter."""
