"""Timings of the library beside a good user's short code, the authors' way, and a floor."""
