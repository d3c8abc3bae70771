"""The phrasebook corpus: a synchronous French-English grammar, expanded to sentence pairs."""
