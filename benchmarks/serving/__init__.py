"""The HTTP service under load, beside the library's own calls."""
