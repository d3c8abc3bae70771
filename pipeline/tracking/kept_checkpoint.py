"""The trained weights of a promoted version, kept in the registry to be trained on."""

from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.paths import CHECKPOINT, PARAMS, TOKENIZER
from pipeline.tracking.backend import prepare_database, require_client
from pipeline.tracking.model_package import NAME, global_tracking_uri
from pipeline.tracking.versions import find_version
from transformer.model.checkpoint import model_hash

# The folder of artefacts of a version's run, which other versions may share.
_FOLDER = "trained/version-{}"


def keep_checkpoint(client: Any, number: str) -> bool:
    """Puts params, tokenizer and checkpoint beside a version's run; whether they are its model's.

    A version of a model that is not in `models/checkpoint` any more is left as it is.
    """
    version = client.get_model_version(NAME, number)
    if not CHECKPOINT.exists() or version.tags.get("model_hash") != model_hash(CHECKPOINT):
        return False
    for path in (PARAMS, TOKENIZER, CHECKPOINT):
        log = client.log_artifacts if path.is_dir() else client.log_artifact
        at = path if path.is_dir() else path.parent
        log(version.run_id, str(path), str(PurePosixPath(_FOLDER.format(number), at)))
    return True


def fetch_checkpoint(model: str, folder: Path) -> str:
    """Copies what `keep_checkpoint` kept into `folder`, laid out as in a project.

    Args:
        model: `models:/NAME/VERSION`, `models:/NAME@ALIAS`.
        folder: an empty one.

    Returns:
        The model's name with the version's number.

    Raises:
        ValueError: there is no such version, or nothing was kept of it.
    """
    from mlflow.artifacts import download_artifacts

    version = find_version(model)
    kept = _FOLDER.format(version.version)
    if not require_client().list_artifacts(version.run_id, kept):
        raise ValueError(
            f"version {version.version} of {version.name}: its weights are not in the registry; "
            "`promote` puts those of models/checkpoint there; or name the folder of its project"
        )
    with global_tracking_uri(prepare_database()[0]):
        fetched = download_artifacts(
            run_id=version.run_id, artifact_path=kept, dst_path=str(folder)
        )
    for path in Path(fetched).iterdir():
        path.rename(folder / path.name)
    return f"{version.name} version {version.version}"
