"""Pictures of MLflow's pages for docs/experiments.md: `python -m tools.screenshots`.

They show the runs that are there: run three or more quick experiments of one corpus first.
"""

import io
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from tools.browser import Page, find_browser, open_browser

_MAX_BYTES = 200_000
_START_SECONDS = 120
# MLflow's assistant opens itself on the first visit, and then never again.
_VISITED_BEFORE = {
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": "true",
    "mlflow.assistant.panelOpen_v1": "false",
}
_CURVES = "^(train_loss|valid_loss|perplexity|accuracy|learning_rate|gradient_norm)$"
# What a page shows to a mouse alone, says of this machine's folders, and offers of its makers.
_TIDY = """
document.querySelectorAll('.modebar').forEach(bar => bar.remove());
[...document.querySelectorAll('div, span')].filter(e => /^Path: file:/.test(e.innerText))
  .forEach(e => e.style.visibility = 'hidden');
[...document.querySelectorAll('button')]
  .filter(b => getComputedStyle(b).position == 'fixed' ||
               getComputedStyle(b.parentElement).position == 'fixed')
  .forEach(b => b.style.display = 'none');
"""
_CLOSE_NOTE = """
[...document.querySelectorAll('[role=alert] button, [data-testid*=alert] button')]
  .filter(b => !b.innerText.trim()).forEach(b => b.click())
"""
_FOLD = """
[...document.querySelectorAll('[role=button], button, h3, .ant-collapse-header')]
  .filter(e => e.innerText.trim() == 'Visualizations').slice(0, 1).forEach(e => e.click())
"""
# "Show diff only", of params and of metrics.
_DIFFERENCES = """
[...document.querySelectorAll('[role=switch]')]
  .filter(s => s.getAttribute('aria-checked') == 'false').forEach(s => s.click())
"""
_DRAWN = "document.querySelectorAll('.js-plotly-plot').length >= {}"


def main(
    experiment: Annotated[
        str, typer.Option(help="The corpus, as MLflow's experiment.")
    ] = "phrasebook",
    output: Annotated[Path, typer.Option(help="The folder.")] = Path("docs/images"),
) -> None:
    """Take the pictures; without Chromium, say so and take none."""
    browser = find_browser()
    if browser is None:
        typer.echo("No Chromium is installed, so no pictures are taken (Debian: chromium).")
        return
    number, runs, model = _find_runs(experiment)
    output.mkdir(parents=True, exist_ok=True)
    with _serve() as url, open_browser(browser) as page:
        page.remember(**_VISITED_BEFORE)
        for name, picture in _take(page, url, number, runs, model):
            path = output / f"mlflow-{name}.png"
            path.write_bytes(shrink(picture))
            typer.echo(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def _take(
    page: Page, url: str, number: str, runs: list[str], model: str
) -> Iterator[tuple[str, bytes]]:
    training = "workflowType=machine_learning"
    listed = f"{url}/#/experiments/{number}/runs?{training}&viewStateShareKey="
    page.open(f"{listed}quick", 1600, 520)
    page.wait("document.body.innerText.includes('quick_bleu')", settle_seconds=3)
    yield "runs", _picture(page)

    page.open(f"{listed}curves&compareRunsMode=CHART", 1500, 1000)
    page.wait(_DRAWN.format(4), settle_seconds=3)
    yield "charts", _picture(page)

    chosen = json.dumps(runs[:3], separators=(",", ":"))
    page.open(f'{url}/#/compare-runs?runs={chosen}&experiments=["{number}"]&{training}', 1500, 1060)
    page.wait(_DRAWN.format(1))
    page.evaluate(_FOLD)
    page.evaluate(_DIFFERENCES)
    time.sleep(1)
    yield "comparison", _picture(page)

    page.open(f"{url}/#/experiments/{number}/runs/{model}/model-metrics?{training}", 1500, 860)
    page.wait(_DRAWN.format(3))
    page.type("input[placeholder*='Search metric']", _CURVES)
    page.wait(_DRAWN.format(3), settle_seconds=3)
    yield "curves", _picture(page)

    best = f"{url}/#/experiments/{number}/runs/{runs[0]}"
    page.open(f"{best}?{training}", 1500, 860)
    page.wait("document.body.innerText.includes('bleu_low')", settle_seconds=3)
    yield "run", _picture(page)

    page.open(f"{best}/artifacts/evaluate/translations/translations.json?{training}", 1500, 760)
    page.wait("document.body.innerText.includes('reference')", settle_seconds=3)
    yield "artifacts", _picture(page)


def _picture(page: Page) -> bytes:
    page.evaluate(_CLOSE_NOTE)
    page.evaluate(_TIDY)
    time.sleep(0.5)
    return page.screenshot()


def _find_runs(experiment: str) -> tuple[str, list[str], str]:
    # The experiment's id, its quick evaluations, the best first, and the model of that one.
    from pipeline.tracking.backend import open_client
    from pipeline.tracking.runs import EVALUATION, KIND, PARENT

    client, _ = open_client()
    found = client.get_experiment_by_name(experiment)
    if found is None:
        raise ValueError(f"--experiment {experiment}: MLflow has none of this name")
    runs = client.search_runs(
        [found.experiment_id],
        f"tags.{KIND} = '{EVALUATION}' and metrics.quick_bleu >= 0",
        order_by=["metrics.quick_bleu DESC"],
    )
    if len(runs) < 3:
        raise ValueError(f"{experiment} has {len(runs)} quick evaluations; the pictures need three")
    ids = [run.info.run_id for run in runs]
    return found.experiment_id, ids, runs[0].data.tags[PARENT]


@contextmanager
def _serve() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "pipeline", "ui", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, server)
        yield url
    finally:
        server.terminate()
        server.wait()


def _wait_for(url: str, server: subprocess.Popen[Any]) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if server.poll() is not None:
            raise RuntimeError("`python -m pipeline ui` ended at once; run it by hand to see why")
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except OSError:
            time.sleep(0.3)
    raise TimeoutError(f"{url} did not answer within {_START_SECONDS} seconds")


def shrink(picture: bytes) -> bytes:
    """The picture in a file small enough for the documents.

    Raises:
        ValueError: it is too large all the same.
    """
    from PIL import Image

    # A page has few colours: a palette of them is a third of the size and looks the same.
    image = Image.open(io.BytesIO(picture)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    if file.tell() > _MAX_BYTES:
        raise ValueError(f"a picture of {file.tell():,} bytes; {_MAX_BYTES:,} are allowed")
    return file.getvalue()


if __name__ == "__main__":
    typer.run(main)
