"""One package per paper; papers never import each other."""
