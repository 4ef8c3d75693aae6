"""onelayer: reproduces, with one command, papers on how one-layer transformers learn."""
