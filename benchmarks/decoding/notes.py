"""What a reader of the table must know of the run."""

from statistics import median, quantiles

from benchmarks.decoding.contenders import NAMES, SLOW
from benchmarks.decoding.findings import Findings
from benchmarks.decoding.project import ALL_BATCH_SIZE, Project, Subject, plan_name
from benchmarks.decoding.work import MAX_SECONDS, MIN_SECONDS, Work
from benchmarks.harness.machine import describe_commit, describe_gpu, describe_machine
from transformer.model.checkpoint import model_hash

ENGINES = {"onnx": "onnxruntime", "ctranslate2": "CTranslate2"}


def write_notes(
    findings: Findings,
    project: Project,
    subject: Subject,
    work: Work,
    rounds: int,
    device: str,
) -> list[str]:
    """Paragraphs for the report: model and test set, machine and versions, what was measured."""
    config, search = subject.info.model, subject.search
    sample = sum(map(len, work.plans[plan_name(findings.cells[0].batch_size)]))
    lengths = [len(ids) for ids in work.sources if ids]
    parts = {
        size: f"{sum(map(len, work.plans[plan_name(size, is_slow=True)]))} at batch {size}"
        for size in dict.fromkeys(cell.batch_size for cell in findings.cells)
    }
    versions = dict.fromkeys(
        f"{engine} {version}"
        for who, version in findings.versions.items()
        for engine in [ENGINES.get(who.partition("-")[0], "PyTorch")]
    )
    notes = [
        f"Model {model_hash(project.checkpoint)[:12]}: {config.num_encoder_layers} + "
        f"{config.num_decoder_layers} layers, d {config.d_model}, ff {config.d_ff}, "
        f"{config.num_heads} heads, {subject.model.num_parameters():,} parameters, "
        f"{subject.info.target_vocab_size:,} target tokens. Test set: {len(lengths)} sentences, "
        f"{median(lengths):.0f} source tokens in the middle of them, {max(lengths)} at most.",
        f"{describe_machine()}; {', '.join(versions)}; {describe_commit()}.",
        f"Speeds are target tokens per second, end marks included, medians of {rounds} "
        f"measurements of {MIN_SECONDS} to {MAX_SECONDS:g} s, on {sample} sentences evenly spaced "
        "over the test set; bold is a contender's best setting. "
        f"{_slow_note(findings, list(parts.values()))}"
        f"BLEU is that of the whole test set at batch {ALL_BATCH_SIZE}; length penalty "
        f"{search.length_penalty:g}, patience {search.patience_factor:g} (CTranslate2: its 1).",
    ]
    others = [one.others_share for one in findings.measurements if one.others_share is not None]
    if len(others) > 1:
        notes.append(
            f"Other processes took {median(others):.1%} of the cores during the median "
            f"measurement, {quantiles(others, n=10)[-1]:.1%} at the ninth decile."
        )
    notes.append("CUDA is not measured." if device == "cpu" else f"{describe_gpu()}.")
    return notes


def _slow_note(findings: Findings, parts: list[str]) -> str:
    names = [NAMES[who] for who in findings.versions if who in SLOW]
    if not names:
        return ""
    return f"The slow ones ({'; '.join(names)}) translate some of the same batches: " + (
        f"{', '.join(parts)} sentences. "
    )
