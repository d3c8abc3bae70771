"""Pretraining as training on pairs: the right labels, the right states, and something is learnt."""

import numpy as np
import pytest
import torch

from transformer.pretraining.config import CausalModeling, MaskedModeling, SpanCorruption
from transformer.pretraining.in_memory_dataset import Example
from transformer.pretraining.span_corruption import Corruption
from transformer.pretraining.tasks import Text, make_task
from transformer.text.ids import IdsMeta
from transformer.text.special_tokens import SpecialIds
from transformer.training.batching import make_batch
from transformer.training.config import TrainConfig
from transformer.training.trainer import Trainer

SIZE = 20
SPECIAL = SpecialIds(pad_id=0, unk_id=1, bos_id=2, eos_id=3)
JOINT = IdsMeta(SIZE, SIZE, SPECIAL, SPECIAL, True, "<u2", 16, "abc", {}, {})
TRAIN = {
    "initialize_from": None, "initial_embeddings": "random",
    "seed": 1, "device": "cpu", "precision": "float32",
    "num_processes": 1, "num_threads": None, "compile": False, "deterministic": False,
    "batch_tokens": 256,
    "batch_sentences": None, "gradient_accumulation": 1, "max_epochs": 40, "max_steps": None,
    "learning_rate": 0.01,
    "schedule": {"kind": "linear", "warmup_steps": 10},
    "optimizer": {
        "kind": "adam", "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9, "weight_decay": 0.0,
    },
    "max_grad_norm": 1.0, "label_smoothing": 0.0, "r_drop": 0.0,
    "segmentation": None, "ema_decay": None, "validate_every_steps": None,
    "early_stopping_patience": None, "average_checkpoints": 1, "accuracy_steps": None,
    "log_every_steps": 100, "save_every_seconds": 60.0,
}  # fmt: skip
COMMON = {"text": {"source": None, "target": None}, "train": TRAIN}
SPANS = {
    "kind": "spans",
    "noise_density": 0.3,
    "mean_span_length": 2.0,
    "num_sentinels": 4,
    "dupe_factor": 2,
    "seed": 1,
}
MASKED = {
    "kind": "masked",
    "mask_probability": 0.3,
    "next_sentence": False,
    "dupe_factor": 2,
    "seed": 1,
}


def sentences(number, seed):
    """Each repeats one token, so that what is hidden can be told from what is not."""
    generator = np.random.default_rng(seed)
    return [np.full(generator.integers(4, 9), generator.integers(4, SIZE)) for _ in range(number)]


TEXT = Text(sentences(60, 1), sentences(50, 2))
VALID = Text(sentences(20, 3), sentences(20, 4))


def config(kind, **changes):
    values = {"spans": SPANS, "masked": MASKED, "causal": {"kind": "causal"}}[kind]
    types = {"spans": SpanCorruption, "masked": MaskedModeling, "causal": CausalModeling}
    return types[kind].model_validate(values | COMMON | changes)


def task_of(kind, model_config, meta=JOINT, text=TEXT, **changes):
    return make_task(config(kind, **changes), meta, text, VALID, model_config)


@pytest.fixture(scope="module")
def model_config(model_maker):
    return model_maker(tie_embeddings="all", d_model=32).config.model_copy(
        update={"dropout": 0.0, "attention_dropout": 0.0}
    )


@pytest.fixture
def model(model_maker):
    def make(task):
        meta = task.ids.meta
        sizes = {"source_vocab_size": meta.source_vocab_size}
        return model_maker(**sizes, target_vocab_size=meta.target_vocab_size, with_biases=True)

    return make


def pairs_of(split):
    for index in range(len(split)):
        source = slice(*split.source_offsets[index : index + 2])
        target = slice(*split.target_offsets[index : index + 2])
        at = None if split.label_positions is None else split.label_positions[target]
        yield Example(split.source_ids[source], split.target_ids[target], at)


def batch_of(task, indices):
    return make_batch(task.ids.train, np.array(indices), 0, 0, 2)


def test_spans_of_both_sides_are_cut_out_each_time_anew(model_config, restore_spans):
    task = task_of("spans", model_config)
    pairs = list(pairs_of(task.ids.train))
    originals = [*TEXT.source, *TEXT.target] * 2
    assert len(pairs) == len(originals)
    sentinels = np.arange(SIZE, SIZE + 4)
    for (source, target, _), ids in zip(pairs, originals, strict=True):
        assert source[-1] == target[-1] == SPECIAL.eos_id
        assert restore_spans(Corruption(source[:-1], target[:-1]), sentinels).tolist() == [*ids]
    first, second = pairs[:110], pairs[110:]
    assert any(a[0].tolist() != b[0].tolist() for a, b in zip(first, second, strict=True))
    assert task.ids.meta.source_vocab_size == SIZE + 4


def test_masked_labels_are_the_tokens_that_stood_where_the_encoder_is_asked(model_config, model):
    task = task_of("masked", model_config)
    pairs = list(pairs_of(task.ids.train))
    for (source, labels, asked), ids in zip(pairs, TEXT.source * 2, strict=True):
        assert len(set(asked)) == round(0.3 * len(ids))
        assert labels.tolist() == ids[asked].tolist()
        kept = np.setdiff1d(np.arange(len(source)), asked)
        assert source[kept].tolist() == np.append(ids, SPECIAL.eos_id)[kept].tolist()

    batch, net = batch_of(task, [0, 1, 5]), model(task)
    hidden = task.forward(net, batch)
    memory = net.encode(batch.source, batch.source_mask)
    expected = [
        memory[row, at] for row, pair in enumerate((0, 1, 5)) for at in pairs[pair].label_positions
    ]
    torch.testing.assert_close(hidden, torch.stack(expected))
    assert len(hidden) == len(batch.labels)


def test_answers_on_following_sentences_stand_at_the_start_token(model_config):
    lines = [np.array([4 + n, 4 + n, 4 + n]) for n in range(12)]
    text = Text(lines, lines)
    task = task_of("masked", model_config, text=text, next_sentence=True)
    follows, does_not = SIZE + 1, SIZE + 2
    answers = []
    for source, labels, asked in pairs_of(task.ids.train):
        assert source[0] == SPECIAL.bos_id
        middle, end = np.flatnonzero(source == SPECIAL.eos_id)
        assert (middle, end, len(source)) == (4, 8, 9)
        first, second = source[1:4], source[5:8]
        assert asked[0] == 0
        for part, at, label in zip((first, second), asked[1:] - [1, 5], labels[1:], strict=True):
            assert set(np.delete(part, at)) == {label}
        known = [set(part.tolist()) - {SIZE} for part in (first, second)]
        if labels[0] == follows and all(len(part) == 1 for part in known):
            (a,), (b,) = known
            assert b == a + 1
        answers.append(int(labels[0]))
    assert sorted(set(answers)) == [follows, does_not]
    assert answers.count(follows) == pytest.approx(len(answers) / 2, abs=2)


def test_answers_are_counted_as_one_by_one_at_the_start_token(model_config, model):
    task = task_of("masked", model_config, next_sentence=True)
    follows, does_not = SIZE + 1, SIZE + 2
    net = model(task).eval()
    right = []
    for source, labels, _ in pairs_of(task.ids.valid):
        logits = net.output_projection(net.encode(torch.tensor(source[None]).long(), None)[0, 0])
        right.append((logits[follows] > logits[does_not]).item() == (labels[0] == follows))
    assert 0 < sum(right) < len(right)
    assert task.measure(net) == {"next_sentence_accuracy": round(np.mean(right), 6)}
    assert task_of("masked", model_config).measure(net) == {}


def test_causal_states_are_those_of_the_decoder_alone(model_config, model):
    task = task_of("causal", model_config)
    for (source, target, _), ids in zip(pairs_of(task.ids.train), TEXT.target, strict=True):
        assert source.tolist() == [SPECIAL.eos_id]
        assert target.tolist() == [*ids, SPECIAL.eos_id]
    batch, net = batch_of(task, [0, 1, 2, 3]), model(task)
    hidden = task.forward(net, batch)
    states = net.decode(batch.target, None)
    lengths = task.ids.train.target_lengths[:4]
    expected = torch.cat([states[row, :length] for row, length in enumerate(lengths)])
    torch.testing.assert_close(hidden, expected)


@pytest.mark.parametrize(("kind", "accuracy"), [("spans", 0.7), ("masked", 0.7), ("causal", 0.6)])
def test_something_is_learnt(model_config, kind, accuracy):
    """A repeated token is told from its neighbours; where a sentence ends can't be known."""
    task = task_of(kind, model_config)
    settings = TrainConfig.model_validate(TRAIN)
    result = Trainer(settings, model_config, task.ids, forward=task.forward).run()
    assert result.summary["valid_accuracy"] > accuracy


def test_only_what_learns_is_handed_on(model_config, model_maker):
    for tie, kind, expected in (
        ("none", "masked", {"source_embedding", "encoder", "encoder_norm"}),
        ("none", "causal", {"target_embedding", "decoder", "decoder_norm", "output_projection"}),
        ("all", "causal", {"source_embedding", "decoder", "decoder_norm"}),
    ):
        tied = model_config.model_copy(update={"tie_embeddings": tie})
        task = task_of(kind, tied)
        meta = task.ids.meta
        net = model_maker(
            source_vocab_size=meta.source_vocab_size,
            target_vocab_size=meta.target_vocab_size,
            tie_embeddings=tie,
            output_bias=tie == "none",
        )
        names = [name for name, _ in net.named_parameters() if task.is_handed_on(name)]
        assert {name.split(".")[0] for name in names} == expected
        assert not [name for name in names if "cross_attention" in name]


def test_sentences_that_are_empty_or_too_long_are_left_out(model_config):
    short = model_config.model_copy(update={"max_positions": 6})
    text = Text([np.array([4] * n) for n in (0, 5, 6)], [np.array([4] * n) for n in (0, 5, 6)])
    assert len(task_of("masked", short, text=text, dupe_factor=1).ids.train) == 1
    assert len(task_of("causal", short, text=text).ids.train) == 1
    with pytest.raises(ValueError, match="no sentence to pretrain on"):
        task_of("causal", short, text=Text([], [np.array([], dtype=np.int64)]))


def test_spans_need_a_joint_vocabulary(model_config):
    apart = IdsMeta(SIZE, SIZE, SPECIAL, SPECIAL, False, "<u2", 16, "abc", {}, {})
    with pytest.raises(ValueError, match=r"pretrain.kind = 'spans' .* needs vocab.joint"):
        task_of("spans", model_config, meta=apart)


def test_pretraining_begins_anew_in_one_process():
    with pytest.raises(ValueError, match=r"num_processes = 2: pretraining runs in one process"):
        config("causal", train=TRAIN | {"num_processes": 2})
    with pytest.raises(ValueError, match=r"initialize_from = 'pretrained': .* set it to null"):
        config("causal", train=TRAIN | {"initialize_from": "pretrained"})
