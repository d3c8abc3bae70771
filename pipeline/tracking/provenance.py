"""Tags that say which code, machine and packages a run belongs to."""

import os
import platform
from importlib import metadata

from pipeline.repository import run_git

_PACKAGES = ("torch", "numpy", "tokenizers", "sacrebleu", "onnxruntime", "dvc", "mlflow")
# Results, which a run changes itself.
_RESULTS = ("dvc.lock", "reports")


def provenance_tags() -> dict[str, str]:
    """Who, commit, whether files differ from it, DVC's experiment, versions of packages."""
    tags = version_tags()
    if user := run_git("config", "user.name"):
        tags["mlflow.user"] = user
    for variable in ("DVC_EXP_NAME", "DVC_EXP_BASELINE_REV"):
        if value := os.environ.get(variable):
            tags[variable.lower()] = value
    if commit := run_git("rev-parse", "HEAD"):
        tags["git_commit"] = commit
        tags["mlflow.source.git.commit"] = commit
        # An experiment is an edit of params.yaml, which the run's params show.
        aside = (*_RESULTS, "params.yaml") if "dvc_exp_name" in tags else _RESULTS
        changed = run_git("status", "--porcelain", "--", ".", *(f":!{name}" for name in aside))
        tags["git_dirty"] = str(bool(changed)).lower()
    return tags


def device_tag(name: str) -> str:
    """What training on the device `name` runs on: a GPU's name, or the processor and threads."""
    import torch

    from transformer.training.device import choose_device

    device = choose_device(name)
    if device.type == "cuda":
        return f"cuda: {torch.cuda.get_device_name(device)}"
    return f"cpu: {platform.machine()}, {torch.get_num_threads()} threads"


def version_tags() -> dict[str, str]:
    """Versions of Python and packages, without those that are not installed."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        for distribution in (name, f"{name}-gpu"):
            try:
                versions[name] = metadata.version(distribution)
            except metadata.PackageNotFoundError:
                continue
    return {f"version.{name}": version for name, version in versions.items()}
