"""`save-marian`: the checkpoint as a MarianMT folder."""

from pathlib import Path
from typing import Annotated

import typer


def save_marian(
    folder: Annotated[Path, typer.Argument(help="Where to; it must not be there yet.")],
) -> None:
    """Write the checkpoint as MarianMT, which `transformers` loads, where its shape allows."""
    from pipeline.params import load_sections
    from pipeline.paths import CHECKPOINT, TOKENIZER
    from transformer.marian.folder import write_folder
    from transformer.model.checkpoint import load_with_tokenizers
    from transformer.search.options import SearchConfig
    from transformer.text.corpus_config import CorpusConfig

    if folder.exists():
        raise ValueError(f"{folder} is there already; remove it, or name another folder")
    search, corpus = load_sections(("search", SearchConfig), ("corpus", CorpusConfig))
    model, _, tokenizers = load_with_tokenizers(CHECKPOINT, TOKENIZER)
    languages = {"source": corpus.source_language, "target": corpus.target_language}
    write_folder(folder, model, tokenizers, search, languages)
    typer.echo(f"`transformers.MarianMTModel.from_pretrained` loads it. -> {folder}")
