"""Benchmarks: our decoding beside that of others, on our own trained weights."""
