"""`ui`: the MLflow interface on this project's runs."""

import os
import sys
from typing import Annotated

import typer


def ui(port: Annotated[int, typer.Option(help="Where to listen, on this machine.")] = 5000) -> None:
    """Compare runs in MLflow's browser interface."""
    from pipeline.tracking.place import prepare_database

    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_SERVER_ENABLE_JOB_EXECUTION", "false")
    uri, artifacts = prepare_database()
    typer.echo(f"MLflow on http://127.0.0.1:{port}, reading {uri}", err=True)
    arguments = ["ui", "--backend-store-uri", uri, "--workers", "1", "--port", str(port)]
    if artifacts is not None:
        arguments += ["--default-artifact-root", artifacts]
    os.execv(sys.executable, [sys.executable, "-m", "mlflow", *arguments])
