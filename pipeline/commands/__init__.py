"""Commands that are no stage."""
