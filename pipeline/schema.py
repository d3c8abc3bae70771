"""The whole params file: every section, then what holds between sections."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.params import read_params
from transformer.config import ConfigError, parse_section
from transformer.evaluation.config import EvaluateConfig
from transformer.export.config import ExportConfig
from transformer.machine import check_threads, count_cores, memory_bytes
from transformer.model.config import ModelConfig
from transformer.pretraining.config import PretrainConfig
from transformer.search.options import SearchConfig
from transformer.synthesis.config import SynthesisConfig
from transformer.text.clean_config import CleanConfig
from transformer.text.corpus_config import CorpusConfig
from transformer.text.vocab_config import PretrainedSpec, TokenizeConfig, VocabConfig
from transformer.training.config import TrainConfig
from transformer.training.size import check_memory

SECTIONS: dict[str, Any] = {
    "corpus": CorpusConfig,
    "synthesize": SynthesisConfig,
    "clean": CleanConfig,
    "vocab": VocabConfig,
    "tokenize": TokenizeConfig,
    "model": ModelConfig,
    "pretrain": PretrainConfig,
    "train": TrainConfig,
    "search": SearchConfig,
    "evaluate": EvaluateConfig,
    "export": ExportConfig,
}


# No GPU has more memory, in bytes. `train` asks the one that is there.
_ANY_GPU = 2**40


def check_params(path: Path) -> None:
    """Checks a params file.

    Raises:
        ConfigError: every problem of every section, and of sections that don't go together.
    """
    check_values(read_params(path), str(path))


def check_values(values: dict[str, Any], where: str) -> None:
    """Checks params already read; `where` names them in the message. Raises as `check_params`."""
    problems = [
        f"{name}: unknown section; the sections are {', '.join(SECTIONS)}"
        for name in values
        if name not in SECTIONS
    ]
    sections: dict[str, Any] = {}
    for name, section_type in SECTIONS.items():
        if name not in values:
            problems.append(f"{name}: this section is missing")
            continue
        sections[name], wrong = parse_section(section_type, name, values[name])
        problems += wrong
    problems += _check_together(sections)
    if problems:
        raise ConfigError(problems, where)


def _check_together(sections: Mapping[str, Any]) -> list[str]:
    vocab: VocabConfig | None = sections.get("vocab")
    tokenize: TokenizeConfig | None = sections.get("tokenize")
    model: ModelConfig | None = sections.get("model")
    search: SearchConfig | None = sections.get("search")
    train: TrainConfig | None = sections.get("train")
    problems = []
    # Two ready-made tokenizers may give the same ids.
    is_ready_made = vocab and vocab.source and vocab.source.kind == "pretrained"
    is_separate = vocab and vocab.joint is None and not is_ready_made
    if is_separate and model and model.tie_embeddings == "all":
        problems.append(
            "model.tie_embeddings = 'all': needs vocab.joint, but vocab has a tokenizer per side; "
            "allowed are 'none' and 'output'"
        )
    if tokenize and model and tokenize.max_tokens > model.max_positions:
        problems.append(
            f"tokenize.max_tokens = {tokenize.max_tokens}: longer than model.max_positions = "
            f"{model.max_positions}; lower it to that, or raise model.max_positions"
        )
    joint = vocab.joint if vocab else None
    if search and joint and joint.kind != "pretrained" and 2 * search.beam_size > joint.size:
        problems.append(
            f"search.beam_size = {search.beam_size}: at most half of vocab.joint.size = "
            f"{joint.size}"
        )
    if vocab and model:
        source, target = (
            0 if spec is None or isinstance(spec, PretrainedSpec) else spec.size
            for spec in (vocab.joint or vocab.source, vocab.joint or vocab.target)
        )
        is_elsewhere = train is not None and train.device == "cuda"
        try:
            check_memory(model, source, target, _ANY_GPU if is_elsewhere else memory_bytes())
        except ValueError as error:
            problems.append(f"model: {error}")
    if train and train.num_threads is not None:
        try:
            check_threads(train.num_threads)
        except ValueError as error:
            problems.append(f"train.{error}")
    # How many GPUs there are is told by `train`: to ask here would take PyTorch.
    if train and train.device != "cuda" and train.num_processes > count_cores():
        problems.append(
            f"train.num_processes = {train.num_processes}: this machine has {count_cores()} cores; "
            "lower it to that, or set train.device to 'cuda' where it trains on as many GPUs"
        )
    return problems
