"""Training: batches, objective, schedule, loop, checkpoints."""
