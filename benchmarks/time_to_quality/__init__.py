"""How long a training takes to reach a score."""
