"""What the stages tell MLflow: one run for each trained model, found by the model's hash.

Tracking never stops a stage: what MLflow refuses is told once as a warning and the stage goes on;
`python -m pipeline sync` catches up. It writes no DVC output, so a change here reruns nothing.
"""
