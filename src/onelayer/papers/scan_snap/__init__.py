"""Scan and Snap (Tian, Wang, Chen & Du 2023): training dynamics of a one-layer transformer.

Only token counts matter to the paper's model, so that all runs of a sweep train as one ensemble:
`model`, `simulation` and `measures`. The language model of its figure 7 is in `language_model` and
`text_training`.
"""
