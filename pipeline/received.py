"""What a download brought, held against what would pin it and against what came before."""

from pipeline.params import read_params
from pipeline.paths import RAW
from pipeline.tracking.digests import dvc_digest
from pipeline.tracking.dvc_lock import read_lock
from transformer.text.corpus_config import CorpusConfig, HubCorpus, TabularCorpus
from transformer.text.manifest import Manifest


def find_doubts(config: CorpusConfig, manifest: Manifest) -> list[str]:
    """What to tell of `data/raw` as it has just come from the network; nothing for local text."""
    doubts = []
    if isinstance(config, TabularCorpus) and config.url is not None:
        if config.sha256 is None:
            (received,) = manifest.origin_sha256.values()
            doubts.append(
                "corpus.sha256 = null takes whatever the URL gives; set it to what came now, "
                f"{received}, and another file is refused"
            )
    elif isinstance(config, HubCorpus) and config.dataset is not None:
        if config.revision is None or config.revision != manifest.revision:
            now = f", {manifest.revision}," if manifest.revision is not None else ""
            doubts.append(
                f"corpus.revision = {config.revision or 'null'} may name another commit tomorrow; "
                f"set it to the one of now{now} and the same text comes again"
            )
    else:
        return []
    before = read_lock().get("download")
    is_same = before is not None and before.params.get("corpus") == read_params()["corpus"]
    if before is not None and is_same and before.outs.get(str(RAW)) != dvc_digest(RAW):
        doubts.append(
            f"{RAW} is not the one of dvc.lock, though the section `corpus` is the same: the "
            "source has changed since, or the code that reads it. `git checkout dvc.lock && dvc "
            "pull` brings the earlier text back, where a remote or the cache has it"
        )
    return doubts
