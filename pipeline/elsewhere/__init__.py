"""Training on a machine without DVC and MLflow, whose results are taken over as if made here."""
