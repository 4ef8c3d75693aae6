"""Text: articles, their topics, models that read them, and small models pretrained on them."""
