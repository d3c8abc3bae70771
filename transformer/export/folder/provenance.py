"""What a translator's card tells of where it comes from."""

from transformer.export.folder.card import Provenance
from transformer.model.checkpoint import CheckpointInfo
from transformer.text.clean_config import CleanConfig
from transformer.text.manifest import Manifest


def collect_provenance(
    manifest: Manifest, clean: CleanConfig, info: CheckpointInfo, model_hash: str
) -> Provenance:
    """Out of the corpus's manifest, the section `clean`, the checkpoint and its hash."""
    return Provenance(
        source_language=manifest.source_language,
        target_language=manifest.target_language,
        special_ids={
            side: {name.removesuffix("_id"): id for name, id in ids._asdict().items()}
            for side, ids in (("source", info.source), ("target", info.target))
        },
        normalization={"source": clean.source.model_dump(), "target": clean.target.model_dump()},
        tokenizer_sha256=info.tokenizer_sha256,
        model_hash=model_hash,
        corpus={
            "name": manifest.name,
            "license": manifest.license,
            "origin": manifest.origin,
            "revision": manifest.revision,
            "sha256": dict(manifest.sha256),
        },
    )
