"""Programs that make the project's documents; not installed."""
