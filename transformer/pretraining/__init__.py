"""Learning from text without translations, before training on pairs."""
