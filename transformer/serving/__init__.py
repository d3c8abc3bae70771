"""Serving: an exported translator, text in, text out. No torch."""
