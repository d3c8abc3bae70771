"""The learning rate as a pure function of the step."""

from transformer.training.config import TrainConfig


def learning_rate(config: TrainConfig, d_model: int, num_steps: int, step: int) -> float:
    """The rate of optimizer step `step`, counted from 1, out of `num_steps`.

    - noam: learning_rate · d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5)
      (2017, equation 3, with learning_rate as a factor);
    - every other: learning_rate · step / warmup_steps up to the step `warmup_steps`, then
      - inverse_sqrt: max(minimum, learning_rate · sqrt(warmup_steps / step)),
      - linear: learning_rate · (num_steps + 1 - step) / (num_steps + 1 - warmup_steps), so that
        the last step still moves the weights and the one after it would not,
      - constant: learning_rate.
    """
    schedule, peak, warmup = config.schedule, config.learning_rate, config.schedule.warmup_steps
    if schedule.kind == "noam":
        return float(peak * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
    if step <= warmup:
        return peak * step / warmup
    if schedule.kind == "inverse_sqrt":
        return float(max(schedule.minimum, peak * (warmup / step) ** 0.5))
    if schedule.kind == "linear":
        return peak * (num_steps + 1 - step) / (num_steps + 1 - max(warmup, 1))
    return peak


def check_warmup(config: TrainConfig, num_steps: int) -> None:
    """Refuses a warm-up that a training of `num_steps` would not finish.

    Raises:
        ValueError: with both numbers. `TrainConfig` sees max_steps only; the epochs' length in
            steps is known once there is data.
    """
    warmup = config.schedule.warmup_steps
    if warmup >= num_steps:
        raise ValueError(
            f"train.schedule.warmup_steps = {warmup}, but this corpus gives {num_steps} optimizer "
            f"steps in train.max_epochs = {config.max_epochs}: the learning rate would never reach "
            "its peak; lower warmup_steps or the size of a batch, or raise max_epochs"
        )
