"""What every benchmark stands on: processes that take turns, rounds, figures, pages."""
