"""Where parallel text comes from, one module per kind of corpus."""
