"""CPU, memory and GPU while training runs, under MLflow's names but for the prefix.

MLflow's own monitors measure, when they are asked to between two steps. What its settings start,
`SystemMetricsMonitor`, can't be asked: it is a thread that samples by the clock while the training
computes, numbers its samples where the curves have steps, and writes past our tracker.
"""

import time
from contextlib import suppress
from typing import Any

# What the machine did, by a prefix that sorts after the model's curves. Under MLflow's own,
# `system/`, it would be the first that a run's page shows.
WORKLOAD = "workload."
# Often enough for a run of seconds, seldom enough for one of days.
_MIN_SECONDS, _SHARE_OF_RUN = 1.0, 0.01


class SystemSampler:
    """Measures when it is asked and enough time has passed: no thread disturbs the training.

    The CPU's use is its mean since the sample before.
    """

    def __init__(self) -> None:
        from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
        from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor

        self._monitors: list[Any] = [CPUMonitor()]
        with suppress(Exception):  # no GPU, no driver or no library for it
            self._monitors.append(GPUMonitor())
        self._start = time.monotonic()
        self.sample()  # the next one's CPU is that since now

    def sample_if_due(self) -> dict[str, float]:
        """The figures, or nothing if the last ones are recent."""
        now = time.monotonic()
        is_due = now - self._last >= max(_MIN_SECONDS, _SHARE_OF_RUN * (now - self._start))
        return self.sample() if is_due else {}

    def sample(self) -> dict[str, float]:
        """The figures now."""
        self._last = time.monotonic()
        figures: dict[str, float] = {}
        for monitor in self._monitors:
            monitor.collect_metrics()
            figures |= {WORKLOAD + k: float(v) for k, v in monitor.aggregate_metrics().items()}
            monitor.clear_metrics()
        return figures
