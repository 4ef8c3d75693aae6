"""Claims of the papers measured again as on other machines; the room that imports all papers."""

# What every claim is called: its paper, and in words.
CLAIM = ["paper", "claim"]
