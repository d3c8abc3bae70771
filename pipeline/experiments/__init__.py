"""Trained models side by side: what was changed, what it did, what a change would run."""
