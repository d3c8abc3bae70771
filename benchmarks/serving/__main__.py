"""Measures the HTTP service: `python -m benchmarks.serving`; docs/benchmarks.md tells what and how.

Each part is independent of the others, but for the capacity, which sets the rates.
"""

import json
import os
import shutil
import signal
import statistics
import tempfile
import time
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.harness.environment import ROOT, UnavailableError
from benchmarks.harness.machine import describe_run
from benchmarks.harness.options import choose, run, tell
from benchmarks.harness.report import MEBIBYTE, Verdict, judge, save_page, write_page
from benchmarks.harness.rounds import idle_seconds, others_share
from benchmarks.serving.fuzz import fuzz
from benchmarks.serving.load import percentile
from benchmarks.serving.pictures import draw
from benchmarks.serving.servers import (
    Load,
    Server,
    libretranslate,
    replace_model,
    service,
    start_load,
)
from transformer.files import read_json
from transformer.serving.card import load_card

NUM_CLIENTS = 32
SHARE = 0.8
OVERLOAD = 10


@dataclass
class Bench:
    """What the parts share, and what they found."""

    project: Path
    texts: list[str]
    # Of requests: the same texts.
    bodies: list[str]
    seconds: float
    soak_seconds: float
    num_requests: int
    folder: Path
    capacity: float | None = None
    figures: dict[str, Any] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def model(self) -> Path:
        """The translator."""
        return self.project / "models/translator"

    @property
    def log(self) -> Path:
        """Where servers write."""
        return self.folder / "servers.log"

    def service(self, *options: str, model: Path | None = None) -> Server:
        """A fresh service."""
        return service(model or self.model, self.log, *options)

    def library(self, batch_size: int) -> list[float]:
        """The library's own calls."""
        arguments = [str(self.model), str(batch_size), str(self.seconds)]
        times: list[float] = Load("benchmarks.serving.library", arguments, self.texts).result()
        return times

    def rate(self) -> float:
        """Requests a second that the service answers at most."""
        if self.capacity is None:
            with self.service() as server:
                self.capacity = _clients(self, server)
        return self.capacity


def one_client(bench: Bench) -> None:
    """What HTTP adds to a call."""
    alone = statistics.median(bench.library(1))
    with bench.service() as server:
        found = start_load([server.url], bench.bodies, bench.seconds, num_clients=1).result()
    added = 1000 * (statistics.median(found["latencies"]) - alone)
    bench.figures["one client: the library's median, ms"] = 1000 * alone
    bench.figures["one client: the service adds, ms"] = added
    bench.verdicts.append(judge("one client: ms over the library's call", added, 5, is_most=True))


def throughput(bench: Bench) -> None:
    """32 clients with single sentences."""
    batches = 32 / statistics.mean(bench.library(32))
    alone = 1 / statistics.mean(bench.library(1))
    capacity = bench.rate()
    bench.figures["sentences a second: library, batches of 32"] = batches
    bench.figures["sentences a second: library, one by one"] = alone
    bench.figures["sentences a second: service, 32 clients"] = capacity
    bench.verdicts += [
        judge("32 clients over the library in batches of 32", capacity / batches, 0.9),
        judge("32 clients over the library one by one", capacity / alone, 3),
    ]


def rival(bench: Bench) -> None:
    """LibreTranslate's own server, with our weights in CTranslate2 behind it."""
    folder = bench.folder / "libretranslate"
    latency = rate = None
    with bench.service() as server:
        ours = _ask(bench, server, "service")
    try:
        with libretranslate(bench.project, folder, bench.log) as server:
            theirs = _ask(bench, server, "LibreTranslate")
    except UnavailableError as error:
        bench.figures["LibreTranslate"] = str(error)
    else:
        latency, rate = ours[0] / theirs[0], ours[1] / theirs[1]
    bench.verdicts += [
        judge("one client's median over LibreTranslate's", latency, 1, is_most=True),
        judge("32 clients over LibreTranslate", rate, 1),
    ]


def tail(bench: Bench) -> None:
    """The slowest hundredth, below the capacity."""
    rate = SHARE * bench.rate()
    with bench.service() as server:
        found = start_load([server.url], bench.bodies, bench.seconds, rate=rate).result()
    bench.figures["80 % of capacity: median and 99th percentile, s"] = [
        percentile(found["latencies"], share) for share in (0.5, 0.99)
    ]
    bench.figures["80 % of capacity: statuses"] = found["statuses"]
    slow = percentile(found["latencies"], 0.99)
    bench.verdicts.append(
        judge("99th percentile at 80 % of capacity, seconds", slow, 1, is_most=True)
    )


def overload(bench: Bench) -> None:
    """Ten times what it can do, and the time after it."""
    rate = bench.rate()
    with bench.service() as server:
        start_load([server.url], bench.bodies, 3, rate=rate / 2).result()
        before = server.memory_bytes
        load = start_load([server.url], bench.bodies, bench.seconds, rate=OVERLOAD * rate)
        time.sleep(0.8 * bench.seconds)
        growth = (server.memory_bytes - before) / MEBIBYTE
        found = load.result()
        time.sleep(5)
        after = start_load([server.url], bench.bodies, 5, rate=rate / 2).result()
    made = sum(found["statuses"].values()) / found["seconds"] / rate
    bench.figures["overload: times the capacity that the load made"] = made
    bench.figures["overload: statuses"] = found["statuses"]
    bench.figures["overload: memory's growth, MiB"] = growth
    bench.figures["overload: 99th percentile of the answered, s"] = percentile(
        found["latencies"], 0.99
    )
    others = sum(n for status, n in found["statuses"].items() if status not in ("200", "429"))
    bench.verdicts += [
        judge("overload: neither answered nor 429", others, 0, "{:.0f}", is_most=True),
        judge("overload: memory's growth, MiB", growth, 100, "{:.0f}", is_most=True),
        judge("overload: slowest answer, s", found["longest"], 30, is_most=True),
        judge(
            "5 s after it: 99th percentile at half the capacity, s",
            percentile(after["latencies"], 0.99),
            1,
            is_most=True,
        ),
    ]


def soak(bench: Bench) -> None:
    """Saturation for a long time."""
    rate, memory = bench.rate(), []
    with bench.service() as server:
        load = start_load([server.url], bench.bodies, bench.soak_seconds, num_clients=NUM_CLIENTS)
        begin = time.monotonic()
        while (now := time.monotonic() - begin) < bench.soak_seconds - 1:
            time.sleep(min(5.0, bench.soak_seconds / 10))
            memory.append((now, server.memory_bytes / MEBIBYTE))
        found = load.result()
    settled = memory[len(memory) // 4 :]
    slope = statistics.linear_regression(*zip(*settled, strict=True)).slope * 3600
    errors = sum(n for status, n in found["statuses"].items() if status != "200")
    bench.figures["soak: seconds, requests, errors"] = [
        bench.soak_seconds,
        sum(found["statuses"].values()),
        errors,
    ]
    bench.figures["soak: memory by time, MiB"] = memory
    bench.figures["soak: memory's slope, MiB an hour"] = slope
    bench.figures["soak: of the capacity"] = len(found["latencies"]) / found["seconds"] / rate
    bench.verdicts.append(judge("soak: errors", errors, 0, "{:.0f}", is_most=True))


def faults(bench: Bench) -> None:
    """Replicas that die, TERM with requests in flight, 20 new versions."""
    with bench.service() as one, bench.service() as two:
        urls = [one.url, two.url]
        load = start_load(urls, bench.bodies, 20, num_clients=NUM_CLIENTS, retries=3)
        time.sleep(5)
        two.kill()
        start = time.monotonic()
        two.start()
        back = time.monotonic() - start
        found = load.result()
    lost = sum(n for status, n in found["statuses"].items() if status != "200")
    bench.figures["kill -9 of one of two replicas: seconds until it was back"] = back
    bench.verdicts.append(
        judge("kill -9 of one of two replicas, retries: lost", lost, 0, "{:.0f}", is_most=True)
    )
    with bench.service() as server:
        load = start_load([server.url], bench.bodies, 6, num_clients=NUM_CLIENTS)
        time.sleep(4)
        code = server.kill(signal.SIGTERM)
        found = load.result()
    bench.figures["TERM: exit code, statuses (0: connection refused, -1: closed)"] = [
        code,
        found["statuses"],
    ]
    broken = sum(n for status, n in found["statuses"].items() if status not in ("0", "200"))
    bench.verdicts.append(judge("TERM: errors", broken + found["wrong"], 0, "{:.0f}", is_most=True))
    folder = bench.folder / "swapped"
    shutil.copytree(bench.model, folder)
    with bench.service(model=folder) as server:
        load = start_load([server.url], bench.bodies, 40, num_clients=NUM_CLIENTS)
        statuses = []
        for number in range(20):
            replace_model(folder, _stamped(bench, number))
            statuses.append(server.post("/admin/reload"))
        found = load.result()
    lost = sum(n for status, n in found["statuses"].items() if status != "200")
    bench.figures["20 swaps under load: reloads, statuses"] = [statuses, found["statuses"]]
    bench.verdicts += [
        judge("20 swaps under load: done", statuses.count(200), 20, "{:.0f}"),
        judge("20 swaps under load: lost", lost, 0, "{:.0f}", is_most=True),
    ]


def fuzzing(bench: Bench) -> None:
    """Requests made from the description, and by malice."""
    with bench.service("--deadline-seconds", "10") as server:
        found = fuzz(server.url, bench.num_requests, bench.folder)
        is_there = server.is_ready()
    traces = bench.log.read_text().count("Traceback (most recent call last)")
    bench.figures["fuzz"] = found
    bench.verdicts += [
        judge("fuzz: requests", found["requests"], bench.num_requests, "{:.0f}"),
        judge("fuzz: answers of 500", found["broken"], 0, "{:.0f}", is_most=True),
        judge("fuzz: hangs", found["hangs"], 0, "{:.0f}", is_most=True),
        judge("fuzz: tracebacks in the log", traces, 0, "{:.0f}", is_most=True),
        judge("fuzz: the service is there after it", float(is_there), 1, "{:.0f}"),
    ]


PARTS: dict[str, Callable[[Bench], None]] = {
    "one-client": one_client,
    "throughput": throughput,
    "rival": rival,
    "tail": tail,
    "overload": overload,
    "faults": faults,
    "fuzz": fuzzing,
    "soak": soak,
}


def _ask(bench: Bench, server: Server, name: str) -> tuple[float, float]:
    # The median of one client, in seconds, and what many get, in sentences a second.
    start_load([server.url], bench.bodies, 3, num_clients=NUM_CLIENTS).result()
    alone = start_load([server.url], bench.bodies, bench.seconds).result()
    median, rate = statistics.median(alone["latencies"]), _clients(bench, server)
    bench.figures[f"one client: {name}, median, ms"] = 1000 * median
    bench.figures[f"sentences a second: {name}, 32 clients"] = rate
    return median, rate


def _clients(bench: Bench, server: Server) -> float:
    found = start_load([server.url], bench.bodies, bench.seconds, num_clients=NUM_CLIENTS).result()
    return float(len(found["latencies"]) / found["seconds"])


def _stamped(bench: Bench, number: int) -> Path:
    # The same translator with another card, and so another version.
    from transformer.serving.card import load_card, save_card

    folder = bench.folder / f"version-{number}"
    shutil.copytree(bench.model, folder)
    card = load_card(folder)
    save_card(folder, card.model_copy(update={"num_test_sentences": 1000 + number}))
    return folder


def _read_texts(project: Path) -> list[str]:
    import pyarrow.parquet as pq

    texts: list[str] = pq.read_table(project / "data/raw/test.parquet")["source"].to_pylist()
    return texts


def _bodies(project: Path, texts: Sequence[str]) -> list[str]:
    card = load_card(project / "models/translator")
    pair = {"source": card.source_language, "target": card.target_language}
    return [json.dumps({"q": text} | pair) for text in texts]


def _page(record: Mapping[str, Any]) -> str:
    parts, verdicts = [], []
    for name in (name for name in PARTS if name in record):
        part = record[name]
        lines = [
            f"- {figure}: {json.dumps(_short(value), ensure_ascii=False)}"
            for figure, value in part["figures"].items()
            if "by time" not in figure
        ]
        note = f"Other processes took {part['others_share']:.0%} of the cores meanwhile."
        parts += [f"## {name}", f"{part['run']} {note}", "\n".join(lines)]
        verdicts += [Verdict(**verdict) for verdict in part["verdicts"]]
    return write_page("The HTTP service", "serving", parts, verdicts)


def _short(value: Any) -> Any:
    if isinstance(value, list):
        return [_short(one) for one in value]
    return float(f"{value:.3g}") if isinstance(value, float) else value


def main(
    project: Annotated[Path, typer.Option(help="With models/ and data/raw.")] = ROOT,
    parts: Annotated[str, typer.Option(help="Comma-separated.")] = ",".join(PARTS),
    seconds: Annotated[float, typer.Option(min=1, help="Of each measurement.")] = 30,
    soak_seconds: Annotated[float, typer.Option(min=5)] = 1200,
    requests: Annotated[int, typer.Option(min=1, help="Of the fuzzer.")] = 10_000,
    output: Annotated[
        Path | None,
        typer.Option(help="The page; JSON and picture beside it. Other parts stay as they were."),
    ] = None,
) -> None:
    """Measure the HTTP service; about 35 minutes of an idle machine, 20 of them the soak."""
    chosen = choose(parts, PARTS, "--parts")
    project = project.resolve()
    texts = _read_texts(project)
    record: dict[str, Any] = {}
    if output is not None and output.with_suffix(".json").exists():
        record = read_json(output.with_suffix(".json"))
    with tempfile.TemporaryDirectory() as temporary:
        bodies = _bodies(project, texts)
        bench = Bench(
            project, texts, bodies, seconds, soak_seconds, requests, folder=Path(temporary)
        )
        for name in chosen:
            tell(name)
            started, idle, used = time.perf_counter(), idle_seconds(), sum(os.times()[:4])
            bench.figures, bench.verdicts = {}, []
            PARTS[name](bench)
            used = sum(os.times()[:4]) - used  # with those of children that have ended
            record[name] = {
                "run": describe_run(f"{seconds:g} s a measurement"),
                "others_share": others_share(started, idle, used),
                "figures": bench.figures,
                "verdicts": [asdict(verdict) for verdict in bench.verdicts],
            }
            if output is not None:  # what comes later may fail
                save_page(output, _page(record), json.dumps(record, indent=1) + "\n")
    typer.echo(_page(record))
    if output is not None:
        figures = [part["figures"] for part in record.values()]
        draw(output.with_suffix(".png"), dict(ChainMap(*figures)))


if __name__ == "__main__":
    run(main)
