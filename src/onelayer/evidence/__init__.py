"""What a result is: tables, figures, intervals, verdicts, claims and their sentences."""
