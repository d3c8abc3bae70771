"""Evaluation: scores with signatures and intervals, tables, pictures."""
