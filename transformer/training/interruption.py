"""The end of a training before its time, on request."""


class TrainingStopped(Exception):  # noqa: N818 - nothing went wrong
    """Training was asked to stop, and did so between two steps."""

    def __init__(self, step: int, num_steps: int) -> None:
        self.step, self.num_steps = step, num_steps
        super().__init__(f"stopped after step {step} of {num_steps}")
