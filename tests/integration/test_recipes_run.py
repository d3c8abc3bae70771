"""Every recipe runs from end to end, shrunk by `--set` alone, in one process."""

import json
import random
import re
import shutil
from pathlib import Path

import pytest

from pipeline.recipes import list_recipes, make_params

ROOT = Path(__file__).parents[2]
TEXT_STAGES = ["download", "synthesize", "clean", "vocab", "tokenize"]
STAGES = [*TEXT_STAGES, "pretrain", "train", "evaluate", "export"]
WORDS = {
    "fr": ["le chat", "la fille", "mon frère", "mange", "voit", "aime", "le pain", "l'eau", "."],
    "en": ["the cat", "the girl", "my brother", "eats", "sees", "loves", "bread", "water", "."],
    "de": ["die Katze", "das Kind", "mein Bruder", "isst", "sieht", "mag", "Brot", "Wasser", "."],
    "zh": ["猫", "女孩", "我哥哥", "吃", "看见", "喜欢", "面包", "水", "。"],
}
SMALL_MODEL = [
    "model.num_encoder_layers=1",
    "model.num_decoder_layers=1",
    "model.d_model=16",
    "model.num_heads=2",
    "model.d_ff=32",
]
BRIEF = [
    "train.max_epochs=9",
    "train.max_steps=4",
    "train.validate_every_steps=2",
    "train.schedule.warmup_steps=2",
    "evaluate.num_bootstrap=40",
    "evaluate.num_attention_plots=0",
    "export.precisions=[float32]",
]
TABULAR = [
    "corpus.url=null",
    "corpus.path=pairs.tsv",
    "corpus.split.valid_pairs=10",
    "corpus.split.test_pairs=10",
]
HUB = ["corpus.dataset=null", "corpus.path=hub"]
WMT = [*HUB, "corpus.config=null"]
SMALL_BPE = "{kind: bpe, size: 300, min_frequency: 1, mark_case: false}"
SMALL_SIDES = [f"vocab.source={SMALL_BPE}", f"vocab.target={SMALL_BPE}"]
LANGUAGES = ["corpus.source_language=de", "corpus.target_language=en"]
# What makes each recipe small. The toy is as small as it gets.
CHANGES = {
    "anki-en-zh": [*SMALL_MODEL, *BRIEF, *TABULAR, *SMALL_SIDES],
    "anki-en-zh-character": [*SMALL_MODEL, *BRIEF, *TABULAR],
    "anki-fr-en": [*SMALL_MODEL, *BRIEF, *TABULAR, "vocab.joint.size=300"],
    "anki-fr-en-2017": [*SMALL_MODEL, *BRIEF, *TABULAR, "train.accuracy_steps=1"],
    "fine-tune": [],  # tests/pipeline/test_finished_model.py runs it
    "localization-de-en": [
        *SMALL_MODEL,
        *BRIEF,
        *TABULAR,
        "corpus.source_column=2",
        "corpus.target_column=1",
        "corpus.origin_column=null",
        "corpus.split.origin_pattern=null",
        "vocab.joint.size=300",
    ],
    "marian": [],  # tests/marian/test_import.py runs it
    "multi30k-de-en": [*SMALL_MODEL, *BRIEF, *HUB, "vocab.joint.size=300"],
    "multi30k-de-en-small": [*SMALL_MODEL, *BRIEF, *HUB, "vocab.joint.size=300"],
    # Distillation: tests/pipeline/test_synthesize.py.
    "multi30k-de-en-student": [
        *SMALL_MODEL,
        *BRIEF,
        *HUB,
        "vocab.joint.size=300",
        "synthesize={kind: none}",
    ],
    "phrasebook": [*SMALL_MODEL, *BRIEF, "corpus.num_pairs=1200", "vocab.joint.size=600"],
    "pre-norm-notebook": [
        *SMALL_MODEL,
        *BRIEF,
        *TABULAR,
        "evaluate.sets={typos: {kind: noise, noise: typo, seed: 1}}",
    ],
    "small-corpus": [*SMALL_MODEL, *BRIEF, "corpus.path=.", *LANGUAGES],
    "toy-en-zh": [],
    "wmt14-de-en": [*SMALL_MODEL, *BRIEF, *WMT, f"vocab.joint={SMALL_BPE}"],
    "wmt14-de-en-modern": [*SMALL_MODEL, *BRIEF, *WMT, f"vocab.joint={SMALL_BPE}"],
    "wmt14-de-en-pretrained": [
        *SMALL_MODEL,
        *BRIEF,
        *WMT,
        f"vocab.joint={SMALL_BPE}",
        "pretrain.train.max_steps=4",
        "pretrain.train.validate_every_steps=2",
        "pretrain.train.schedule.warmup_steps=2",
    ],
}


# An export takes most of a run's time. These two have shapes that no other test exports; the
# others' are exported in tests/export, and the phrasebook's in test_pipeline.py.
EXPORTED = ("pre-norm-notebook", "toy-en-zh")


def sentences(language: str) -> list[str]:
    """Distinct sentences, the same ones in each language, shuffled alike."""
    words, space = WORDS[language], "" if language == "zh" else " "
    found = [
        space.join((words[a], words[b], words[c])) + words[-1]
        for a in range(3)
        for b in range(3, 6)
        for c in range(6, 8)
    ]
    both = [f"{one}{space}{two}" for one in found for two in found]
    random.Random(0).shuffle(both)
    return both[:200]


def write_corpora(folder: Path, source: str, target: str) -> None:
    """The same text in the layouts of manythings.org/anki and of a Hub dataset."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pairs = {language: sentences(language) for language in (source, target)}
    columns = [pairs["en"], pairs[source if target == "en" else target]]
    lines = ["\t".join(row) + "\tCC-BY" for row in zip(*columns, strict=True)]
    for name, language in (("source.txt", source), ("target.txt", target)):
        (folder / name).write_text("\n".join(pairs[language]) + "\n", encoding="utf-8")
    (folder / "pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [dict(zip(pairs, row, strict=True)) for row in zip(*pairs.values(), strict=True)]
    for name, part in (("train", rows[20:]), ("validation", rows[:10]), ("test", rows[10:20])):
        columns = {language: [row[language] for row in part] for language in pairs}
        (folder / "hub").mkdir(exist_ok=True)
        table = pa.table(columns | {"translation": part})
        pq.write_table(table, folder / f"hub/{name}-00000-of-00001.parquet")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """An empty place to run stages in; MLflow is nowhere, which stops no stage."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nowhere://")
    for name in ("phrasebook", "toy"):
        shutil.copytree(ROOT / "data" / name, tmp_path / "data" / name)
    return tmp_path


def run_recipe(name: str, changes: list[str], stages: list[str]) -> None:
    text = make_params(name, changes)
    Path("params.yaml").write_text(text, encoding="utf-8")
    run_stages(stages)


def run_stages(names: list[str]) -> None:
    from importlib import import_module

    for name in names:
        getattr(import_module(f"pipeline.stages.{name}"), name)()


def test_each_recipe_has_its_small_form():
    assert list(CHANGES) == [name for name, _ in list_recipes()]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in CHANGES if CHANGES[name]])
def test_a_recipe_runs_from_end_to_end(project, name):
    from transformer.serving.translator import Translator

    languages = make_params(name, CHANGES[name]).split("\n")
    source, target = (
        next(line.split(": ")[1] for line in languages if line.startswith(f"  {side}_language: "))
        for side in ("source", "target")
    )
    write_corpora(project, source, target)
    run_recipe(name, CHANGES[name], STAGES if name in EXPORTED else STAGES[:-1])
    values = json.loads(Path("reports/evaluate.json").read_text())
    assert values["num_sentences"] == {"phrasebook": 48, "small-corpus": 40}.get(name, 10)
    if name in EXPORTED:
        ((answer,),) = Translator("models/translator").translate([sentences(source)[0]])
        assert answer.score <= 0
        typos = json.loads(Path("reports/export.json").read_text())["sets"]["typos"]
        assert typos["sha256"] == values["sets"]["typos"]["sha256"]
        assert typos["pytorch_bleu"] == pytest.approx(values["sets"]["typos"]["bleu"], abs=0.01)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_toy_learns_its_sentence_and_tells_how_it_translates_it(project, capsys):
    from pipeline.commands.translate import translate
    from transformer.text.manifest import read_manifest

    run_recipe("toy-en-zh", [], STAGES)
    assert read_manifest(Path("data/raw")).counts == {"train": 1, "valid": 1, "test": 1}
    values = json.loads(Path("reports/evaluate.json").read_text())
    assert (values["exact_match_share"], values["chrf"]) == (1, 100)
    capsys.readouterr()
    translate(["i love you"], trace=True)
    told = capsys.readouterr().out.split("\n")
    assert told[0] == "source  ▁i ▁love ▁you </s>"
    states = [line.removeprefix("state   ") for line in told if line.startswith("state")]
    assert states == ["<s>", "<s> 我", "<s> 我 爱", "<s> 我 爱 你", "<s> 我 爱 你 </s>"]
    assert told[-2] == "answer  我爱你"

    config = Path("models/checkpoint/config.json")
    config.write_text(config.read_text() + "\n")
    with pytest.raises(ValueError, match="was made from another model"):
        translate(["i love you"], trace=True)


PRETRAIN_TRAIN = (
    "{initialize_from: null, initial_embeddings: random, seed: 1, device: cpu, precision: float32, "
    "num_processes: 1, num_threads: 1, compile: false, deterministic: false, batch_tokens: 512, "
    "batch_sentences: null, "
    "gradient_accumulation: 1, "
    "max_epochs: 9, max_steps: 6, learning_rate: 1e-3, schedule: {kind: linear, warmup_steps: 2}, "
    "optimizer: {kind: adamw, beta1: 0.9, beta2: 0.98, epsilon: 1e-9, weight_decay: 0.01}, "
    "max_grad_norm: 1.0, label_smoothing: 0.0, r_drop: 0.0, "
    "segmentation: null, ema_decay: null, validate_every_steps: 3, "
    "early_stopping_patience: null, "
    "average_checkpoints: 1, accuracy_steps: null, log_every_steps: 2, save_every_seconds: 60}"
)
PRETRAINING = {
    "spans": "noise_density: 0.15, mean_span_length: 3, num_sentinels: 8, dupe_factor: 2, seed: 1",
    "masked": "mask_probability: 0.15, next_sentence: true, dupe_factor: 1, seed: 1",
    "causal": "",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PRETRAINING)
def test_training_begins_with_what_was_pretrained(project, capsys, kind):
    from safetensors.numpy import load_file

    from pipeline.stages.pretrain import pretrain
    from pipeline.stages.train import train

    lines = [f"Le chat numéro {n} dort.\n" for n in range(60)]
    Path("data/monolingual").mkdir(parents=True, exist_ok=True)
    Path("data/monolingual/more.fr").write_text("".join(lines), encoding="utf-8")
    settings = f"kind: {kind}, {PRETRAINING[kind]}{', ' if PRETRAINING[kind] else ''}"
    section = f"{{{settings}text: {{source: more.fr, target: null}}, train: {PRETRAIN_TRAIN}}}"
    changes = [*CHANGES["phrasebook"], f"pretrain={section}", "train.initialize_from=pretrained"]
    text = make_params("phrasebook", changes)
    Path("params.yaml").write_text(text, encoding="utf-8")
    run_stages(TEXT_STAGES)
    pretrain()
    weights = load_file("models/pretrained/model.safetensors")
    first = Path("models/pretrained/model.safetensors").read_bytes()
    capsys.readouterr()
    train()
    printed = capsys.readouterr().out
    assert "Weights from models/pretrained:" in printed
    assert "tensors taken whole" in printed
    if kind == "spans":
        assert not [
            name
            for name in load_file("models/checkpoint/model.safetensors")
            if f"{name}: 0 of" in printed
        ]
    else:
        other = {"masked": "decoder", "causal": "encoder"}[kind]
        told = rf"^{other}: 0 of [\d,]+ values \(the other model has none\)$"
        assert re.search(told, printed, re.MULTILINE)
        assert not [name for name in weights if name.startswith(f"{other}.")]
    pretrain()
    assert Path("models/pretrained/model.safetensors").read_bytes() == first


def test_pretraining_that_is_switched_off_leaves_a_manifest_alone(project):
    from pipeline.stages.pretrain import pretrain
    from pipeline.training.start import start_from_pretrained

    Path("params.yaml").write_text(make_params("phrasebook", []), encoding="utf-8")
    pretrain()
    assert [path.name for path in Path("models/pretrained").iterdir()] == ["manifest.json"]
    with pytest.raises(ValueError, match=r"pretrain.kind = 'none', but .* asks for them"):
        start_from_pretrained(None, is_told=True)
