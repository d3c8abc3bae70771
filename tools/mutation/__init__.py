"""Mutants of this project's own code: `python -m tools.mutation`."""
