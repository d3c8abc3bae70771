"""What a translator's card tells of where it comes from."""

from transformer.model.checkpoint import CheckpointInfo
from transformer.serving.card import BaseModel, Corpus, Normalization, Provenance, SideSpecialIds
from transformer.text.clean_config import CleanConfig
from transformer.text.manifest import Manifest
from transformer.text.synthetic_share import SyntheticShare


def collect_provenance(
    manifest: Manifest,
    clean: CleanConfig,
    info: CheckpointInfo,
    model_hash: str,
    base_model: BaseModel | None = None,
    synthetic: SyntheticShare | None = None,
) -> Provenance:
    """Out of the corpus's manifest, the section `clean`, the checkpoint, its hash and origins."""
    return Provenance(
        source_language=manifest.source_language,
        target_language=manifest.target_language,
        special_ids=SideSpecialIds(source=info.source, target=info.target),
        normalization=Normalization(source=clean.source, target=clean.target),
        tokenizer_sha256=info.tokenizer_sha256,
        model_hash=model_hash,
        corpus=Corpus(
            name=manifest.name,
            license=manifest.license,
            origin=manifest.origin,
            revision=manifest.revision,
            sha256=dict(manifest.sha256),
        ),
        base_model=base_model,
        synthetic=synthetic,
    )
