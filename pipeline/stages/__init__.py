"""One file for each stage of dvc.yaml."""
