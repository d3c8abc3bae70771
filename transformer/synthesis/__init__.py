"""Training pairs that an exported translator makes."""
