"""From articles to topics: bag of words, online LDA, its quality, and the ambiguity filter."""
