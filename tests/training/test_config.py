import pytest

from transformer.config import parse_section
from transformer.training.config import TrainConfig

OPTIMIZERS = {
    "adamw": {"kind": "adamw", "beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9, "weight_decay": 0.0},
}
OPTIMIZERS["muon"] = OPTIMIZERS["adamw"] | {"kind": "muon", "momentum": 0.95}


@pytest.mark.parametrize(
    "changes", [{"validate_every_steps": 1}, {"log_every_steps": 1}, {"num_threads": 1}]
)
def test_the_least_values_are_taken(train_config, changes):
    section, problems = parse_section(TrainConfig, "train", train_config().model_dump() | changes)
    assert section is not None
    assert problems == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"schedule": {"kind": "noam", "warmup_steps": 12}},
            r"warmup_steps = 12 .* max_steps = 12",
        ),
        (
            {"schedule": {"kind": "inverse_sqrt", "warmup_steps": 2, "minimum": 0.1}},
            r"schedule.minimum = 0.1 is above learning_rate = 0.001",
        ),
        ({"validate_every_steps": 13}, r"validate_every_steps = 13 is above max_steps = 12"),
        ({"batch_sentences": 32}, r"batch_tokens = 128, batch_sentences = 32: set one of them"),
        ({"batch_tokens": None}, r"batch_tokens = null, batch_sentences = null: set one"),
        ({"schedule": {"kind": "cosine"}}, r"train.schedule.kind = 'cosine': allowed are 'noam'"),
        ({"learning_rate": "1e-5"}, r"train.learning_rate = '1e-5'"),
        ({"learning_rate": 0.0}, r"train.learning_rate = 0.0: .* greater than 0"),
        ({"ema_decay": 0.0}, r"train.ema_decay = 0.0: .* greater than 0"),
        ({"ema_decay": 1.0}, r"train.ema_decay = 1.0: .* less than 1"),
        ({"precision": "float16"}, r"train.precision = 'float16'.*'bfloat16'"),
        ({"warmup": 3}, r"train.warmup = 3: unknown key"),
        *(
            ({"optimizer": OPTIMIZERS[kind] | {name: value}}, rf"{name} = {value}: input should be")
            for kind, name, value in [
                *(("adamw", name, value) for name in ("beta1", "beta2") for value in (-0.1, 1.0)),
                ("adamw", "epsilon", 0.0),
                ("adamw", "weight_decay", -0.1),
                *(("muon", name, value) for name in ("beta1", "beta2") for value in (-0.1, 1.0)),
                ("muon", "momentum", -0.1),
                ("muon", "momentum", 1.0),
                ("muon", "epsilon", 0.0),
                ("muon", "weight_decay", -0.1),
            ]
        ),
    ],
)
def test_what_can_not_be_is_refused_with_field_value_and_what_is_allowed(
    train_config, changes, message
):
    values = train_config().model_dump() | changes
    section, problems = parse_section(TrainConfig, "train", values)
    assert section is None
    with pytest.raises(ValueError, match=message):
        raise ValueError("; ".join(problems))
