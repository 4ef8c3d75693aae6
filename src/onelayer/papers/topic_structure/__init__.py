"""Li, Li & Risteski (2023): How Do Transformers Learn Topic Structure.

The theory, on documents of a topic model, is in `synthetic`; the probe of trained transformers on
Wikipedia is in `wikipedia`. What the probe reads, articles, topic models, checkpoints and small
models pretrained here, is made in `onelayer.text`.
"""
