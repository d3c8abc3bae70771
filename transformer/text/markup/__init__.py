"""Text as it comes: structure, tags and placeholders kept while the words are translated."""
