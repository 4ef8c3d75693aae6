"""Claims of all papers measured again as on other machines; the one package that imports them."""

# What every claim is called: its paper, and in words.
CLAIM = ["paper", "claim"]
