"""Vocabulary short-lists."""
