"""Text: corpora, cleaning, splitting, tokenizers. No torch."""
