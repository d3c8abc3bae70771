"""An imported MarianMT model against optimum, transformers and CTranslate2, on the same weights.

python -m benchmarks.import_marian --help

The weights are random, in the shape of opus-mt-de-en by default, and never end a sentence: every
engine takes the same number of steps. Each engine runs in a process of its own.
"""

import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.harness.environment import (
    Environment,
    UnavailableError,
    ensure_environment,
    project_environment,
    run_command,
)
from benchmarks.harness.machine import describe_run
from benchmarks.harness.options import run as run_main
from benchmarks.harness.report import markdown_table, save_page, write_page, write_record

# optimum takes older versions of what else is here.
OPTIMUM = Environment(
    "optimum",
    (
        *("optimum==2.1.0", "optimum-onnx==0.1.0", "transformers==4.57.6"),
        *("huggingface-hub==0.36.0", "tokenizers==0.22.1"),
    ),
    shares_ours=True,
)
CTRANSLATE2 = Environment(
    "ctranslate2-marian",
    (
        *("ctranslate2==4.8.5", "transformers==4.57.6"),
        *("huggingface-hub==0.36.0", "tokenizers==0.22.1"),
    ),
    shares_ours=True,
)
ENGINES = {
    "ours float32": None,
    "ours int8": None,
    "transformers": None,
    "optimum": OPTIMUM,
    "CTranslate2 float32": CTRANSLATE2,
    "CTranslate2 int8": CTRANSLATE2,
}
BATCHES, BEAMS = (1, 32), (1, 4)
# Sources and beam size -> the target tokens of the first one.
Generate = Callable[[list[list[int]], int], list[int]]


def main(
    folder: Annotated[Path, typer.Option(help="Where it works; made, and kept.")],
    output: Annotated[Path, typer.Option(help="The page; a JSON file stands beside it.")],
    layers: Annotated[int, typer.Option(min=1)] = 6,
    width: Annotated[int, typer.Option(min=8)] = 512,
    vocabulary: Annotated[int, typer.Option(min=100)] = 58_101,
    steps: Annotated[int, typer.Option(min=1, help="Target tokens of each sentence.")] = 32,
    repeats: Annotated[int, typer.Option(min=1)] = 5,
    threads: Annotated[int, typer.Option(min=1)] = 2,
) -> None:
    """Measure load, peak memory and tokens per second of each engine; write a page."""
    if not (folder / "marian/config.json").is_file():
        _make_folder(folder / "marian", layers, width, vocabulary)
    _export(folder)
    rows = []
    for name, environment in ENGINES.items():
        typer.echo(name)
        try:
            python = sys.executable if environment is None else str(ensure_environment(environment))
            arguments = [name, str(folder), str(steps), str(repeats), str(threads)]
            module = [python, "-m", "benchmarks.import_marian", "worker"]
            if environment is not None:
                run_command([*module, "--convert", *arguments])
            done = subprocess.run(
                [*module, *arguments],
                env=project_environment() | {"OMP_NUM_THREADS": str(threads)},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise UnavailableError(done.stderr.strip().split("\n")[-1])
            rows.append({"engine": name} | json.loads(done.stdout.strip().split("\n")[-1]))
        except UnavailableError as error:
            rows.append({"engine": name, "failed": str(error)})
    theirs: list[int] = next(
        (row.get("tokens", []) for row in rows if row["engine"] == "transformers"), []
    )
    header = ["engine", "equal tokens", "load, s", "peak, MB"]
    header += [f"batch {b}, beam {k}" for b in BATCHES for k in BEAMS]
    table = markdown_table(
        header,
        [
            [row["engine"], *_shown(row, theirs)] if "failed" not in row
            else [row["engine"], row["failed"], *["–"] * (len(header) - 2)]
            for row in rows
        ],
        num_text_columns=1,
    )  # fmt: skip
    about = (
        f"{layers} + {layers} layers, width {width}, {vocabulary:,} tokens, random weights; "
        f"20 source tokens, {steps} target tokens; target tokens a second, the median of "
        f"{repeats}; {threads} threads"
    )
    page = write_page("Imported MarianMT models", "import_marian", [describe_run(about), table])
    save_page(output, page, write_record({"about": about}, "rows", rows))


def _shown(row: dict[str, Any], theirs: list[int]) -> list[str]:
    # transformers forces an end token at the end.
    equal = sum(one == other for one, other in zip(row["tokens"], theirs[:-1], strict=False))
    speeds = [row[f"{batch} {beam}"] for batch in BATCHES for beam in BEAMS]
    return [
        f"{equal} of {max(len(theirs) - 1, 0)}",
        f"{row['load_seconds']:.2f}",
        f"{row['peak_megabytes']:.0f}",
        *(f"{speed:.0f}" for speed in speeds),
    ]


def _make_folder(folder: Path, layers: int, width: int, vocabulary: int) -> None:
    import torch

    from pipeline.recipes import load_recipe
    from transformer.marian.folder import write_folder
    from transformer.marian.sentencepiece import SentencePieces, to_tokenizer
    from transformer.model.config import ModelConfig
    from transformer.model.transformer import Transformer
    from transformer.search.options import SearchConfig
    from transformer.text.tokenizer import TokenizerPair

    draw, scores = random.Random(1), {"▁": -3.0}
    while len(scores) < vocabulary - 3:
        scores["".join(draw.choices("▁abcdefghijklmnop", k=5))] = -draw.uniform(5, 15)
    ids = {piece: id for id, piece in enumerate(["</s>", "<unk>", *scores, "<pad>"])}
    tokenizer = to_tokenizer(SentencePieces(scores, "identity", b"", False), ids, "benchmark")
    recipe = load_recipe("marian")
    shape = {"num_encoder_layers": layers, "num_decoder_layers": layers}
    shape |= {"d_model": width, "d_ff": 4 * width}
    torch.manual_seed(1)
    model = Transformer(ModelConfig(**recipe["model"] | shape), vocabulary, vocabulary).eval()
    with torch.no_grad():
        model.output_projection.bias.zero_()
        model.output_projection.bias[0] = -1000.0  # no sentence ends
        model.target_embedding.tokens.weight[-1] = 0.0  # as OPUS-MT's: what opens a target is zero
    pair = TokenizerPair(tokenizer, tokenizer)
    languages = {"source": "de", "target": "en"}
    write_folder(folder, model, pair, SearchConfig(**recipe["search"]), languages)


def _export(folder: Path) -> None:
    from transformer.export.graph import build_graphs, serialize
    from transformer.marian.folder import read_folder

    found = read_folder(folder / "marian")
    graphs = build_graphs(
        found.model,
        source_pad=found.info.source.pad_id,
        special=found.info.target,
        attention="fused",
        precisions=["float32", "int8"],
    )
    for precision, graph in graphs:
        (folder / f"ours {precision}.onnx").write_bytes(serialize(graph.model))


def worker(
    engine: str, folder: Path, steps: int, repeats: int, threads: int, convert: bool = False
) -> None:
    """Run one engine, in its environment; print its figures as JSON."""
    vocabulary = json.loads((folder / "marian/vocab.json").read_text(encoding="utf-8"))
    if convert:
        _convert(engine, folder)
        return
    start = time.perf_counter()
    generate = _load(engine, folder, steps, threads, vocabulary)
    figures: dict[str, Any] = {"load_seconds": time.perf_counter() - start}
    draw = random.Random(2)
    for batch in BATCHES:
        rows = [[*(draw.randrange(2, len(vocabulary) - 1) for _ in range(20)), 0]] * batch
        for beam in BEAMS:
            tokens = generate(rows, beam)
            figures.setdefault("tokens", tokens)  # by greedy search
            seconds = []
            for _ in range(repeats):
                start = time.perf_counter()
                generate(rows, beam)
                seconds.append(time.perf_counter() - start)
            figures[f"{batch} {beam}"] = batch * steps / statistics.median(seconds)
    # Of this process alone: what getrusage tells counts the parent's memory at the fork.
    status = Path("/proc/self/status").read_text(encoding="utf-8").split()
    kibibytes = int(status[status.index("VmHWM:") + 1])
    print(json.dumps(figures | {"peak_megabytes": kibibytes * 1.024 / 1000}))


def _convert(engine: str, folder: Path) -> None:
    if (folder / engine).is_dir():
        return
    if engine == "optimum":
        from optimum.onnxruntime import ORTModelForSeq2SeqLM

        ORTModelForSeq2SeqLM.from_pretrained(folder / "marian", export=True).save_pretrained(
            folder / engine
        )
        return
    from ctranslate2.converters import TransformersConverter

    converter = TransformersConverter(str(folder / "marian"))
    converter.convert(str(folder / engine), quantization=engine.split()[1])


def _load(
    engine: str, folder: Path, steps: int, threads: int, vocabulary: dict[str, int]
) -> Generate:
    if engine.startswith("ours"):
        return _load_ours(folder / f"{engine}.onnx", steps, threads, len(vocabulary) - 1)
    if engine.startswith("CTranslate2"):
        import ctranslate2

        names = {id: piece for piece, id in vocabulary.items()}
        translator = ctranslate2.Translator(str(folder / engine), intra_threads=threads)

        def translate(rows: list[list[int]], beam: int) -> list[int]:
            tokens = [[names[id] for id in row] for row in rows]
            found = translator.translate_batch(tokens, beam_size=beam, max_decoding_length=steps)
            return [vocabulary[piece] for piece in found[0].hypotheses[0]]

        return translate
    import torch

    torch.set_num_threads(threads)
    if engine == "optimum":
        from optimum.onnxruntime import ORTModelForSeq2SeqLM

        model = ORTModelForSeq2SeqLM.from_pretrained(folder / engine)
    else:
        from transformers import MarianMTModel

        model = MarianMTModel.from_pretrained(folder / "marian").eval()

    @torch.inference_mode()
    def generate(rows: list[list[int]], beam: int) -> list[int]:
        ids = torch.tensor(rows)
        mask = torch.ones_like(ids)
        found = model.generate(
            input_ids=ids, attention_mask=mask, num_beams=beam, max_new_tokens=steps
        )
        tokens: list[int] = found[0, 1:].tolist()
        return tokens

    return generate


def _load_ours(path: Path, steps: int, threads: int, pad_id: int) -> Generate:
    from transformer.search.options import SearchConfig
    from transformer.serving.session import open_session

    session, _ = open_session(path, "cpu", threads)

    def generate(rows: list[list[int]], beam: int) -> list[int]:
        search = SearchConfig(
            beam_size=beam, length_penalty=1.0, patience=None,
            max_length_factor=0.0, max_length_extra=steps,
        )  # fmt: skip
        inputs = search.options(512).graph_inputs(rows, pad_id)
        (target,) = session.run(["target"], inputs)
        tokens: list[int] = target[0, 0].tolist()
        return tokens

    return generate


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        sys.argv.pop(1)
        typer.run(worker)
    else:
        run_main(main)
