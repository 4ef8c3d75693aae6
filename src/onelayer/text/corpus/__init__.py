"""From files to articles: identifier, title, text and, where known, a human topic."""
