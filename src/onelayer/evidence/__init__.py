"""Evidence: tables, figures, intervals, and the verdicts on the papers' claims."""
