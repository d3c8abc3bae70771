"""Bad input of every kind, thrown at the pipeline: what is told, and what breaks."""
