"""Texts with tags and placeholders: what is kept, and what it costs."""
