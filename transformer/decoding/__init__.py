"""Decoding: search as pure tensor steps, corpus scores."""
