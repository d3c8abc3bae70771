"""The stages of the pipeline, one typer command each."""
