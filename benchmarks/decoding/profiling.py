"""Where an exported graph spends its time, by onnxruntime's own profiler."""

import json
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from benchmarks.decoding.engines import Device, OnnxEngine
from benchmarks.decoding.work import Work, prepare
from benchmarks.harness.report import markdown_table

T = TypeVar("T")

NUM_NODES = 15
_SUFFIX = "_kernel_time"


class NodeTime(NamedTuple):
    """One run of one node; what ran within it, such as a loop's body, is not counted."""

    name: str
    operator: str
    seconds: float


def profile(
    graph: Path,
    work: Work,
    plan: Sequence[Sequence[int]],
    beam_size: int,
    threads: int,
) -> str:
    """Translates a plan with the profiler on; tables of operator types and of the dearest nodes.

    The profiler itself takes time for every node, so that cheap ones look dearer than they are.
    """
    from transformer.serving.session import open_session

    def run(session: Any) -> float:
        engine = OnnxEngine(session, work)
        batches = [prepare(engine, work, rows) for rows in plan]
        started = time.perf_counter()
        for batch in batches:
            engine.run(batch, beam_size)
        return time.perf_counter() - started

    plain, _ = open_session(graph, "cpu", threads)
    run(plain)
    seconds = run(plain)
    with_profiler, nodes = profile_nodes(graph, run, "cpu", threads)
    summary = f"{seconds:.3f} s without the profiler, {with_profiler:.3f} s with it."
    return f"{summary}\n\n{describe(nodes)}"


def profile_nodes(
    graph: Path, run: Callable[[Any], T], device: Device, num_threads: int | None
) -> tuple[T, list[NodeTime]]:
    """Gives what a function of the graph's session gives, and the nodes that ran meanwhile."""
    import onnxruntime

    from transformer.serving.session import PROVIDERS

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    options.intra_op_num_threads = num_threads or 0
    options.enable_cpu_mem_arena = num_threads != 1
    options.enable_profiling = True
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = str(Path(folder) / "profile")
        # As `transformer.serving.session` opens it, which has no way in for a profiler, and whose
        # session beside this one has told the allocator what to keep.
        session = onnxruntime.InferenceSession(
            graph,
            options,
            providers=[PROVIDERS[name] for name in dict.fromkeys((device, "cpu"))],
            disabled_optimizers=["SkipLayerNormFusion"],
        )
        result = run(session)
        events = json.loads(Path(session.end_profiling()).read_text())
    return result, node_times(events)


def node_times(events: Iterable[dict[str, Any]]) -> list[NodeTime]:
    """The nodes among a profile's events, each less the nodes that ran within it."""
    nodes = [
        event for event in events if event.get("cat") == "Node" and event["name"].endswith(_SUFFIX)
    ]
    # One runs after another, or within another: the outer one first, then by time.
    nodes.sort(key=lambda event: (event["ts"], -event["dur"]))
    own = [float(event["dur"]) for event in nodes]
    open_nodes: list[int] = []
    for index, event in enumerate(nodes):
        while open_nodes and _end(nodes[open_nodes[-1]]) <= event["ts"]:
            open_nodes.pop()
        if open_nodes:
            own[open_nodes[-1]] -= event["dur"]
        open_nodes.append(index)
    return [
        NodeTime(
            event["name"].removesuffix(_SUFFIX),
            event.get("args", {}).get("op_name", "?"),
            max(0.0, microseconds) / 1e6,
        )
        for event, microseconds in zip(nodes, own, strict=True)
    ]


def describe(times: Sequence[NodeTime]) -> str:
    """Two tables: time by operator type, time by node."""
    total = sum(one.seconds for one in times) or 1.0
    operators = _dearest((((one.operator,), one.seconds) for one in times), total)
    nodes = _dearest((((one.name, one.operator), one.seconds) for one in times), total)
    numbers = ["seconds", "share", "runs", "µs a run"]
    return "\n\n".join(
        [
            markdown_table(["operator", *numbers], operators, num_text_columns=1),
            markdown_table(["node", "operator", *numbers], nodes[:NUM_NODES], num_text_columns=2),
        ]
    )


def _dearest(timed: Iterable[tuple[tuple[str, ...], float]], total: float) -> list[list[str]]:
    # A row per key, the one with the longest sum of seconds first.
    seconds: defaultdict[tuple[str, ...], float] = defaultdict(float)
    runs: Counter[tuple[str, ...]] = Counter()
    for key, value in timed:
        seconds[key] += value
        runs[key] += 1
    return [
        [*key, f"{s:.3f}", f"{s / total:.1%}", str(runs[key]), f"{s / runs[key] * 1e6:.1f}"]
        for key, s in sorted(seconds.items(), key=lambda item: -item[1])
    ]


def _end(event: dict[str, Any]) -> float:
    return float(event["ts"] + event["dur"])
