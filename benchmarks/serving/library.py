"""The library's own calls, in a process of their own: `TRANSLATOR BATCH_SIZE SECONDS`, texts in."""

import json
import sys
import time

from transformer.serving.translator import Translator


def measure(
    translator: Translator, texts: list[str], batch_size: int, seconds: float
) -> list[float]:
    """The seconds of each call, after some to warm up."""
    batches = [texts[at : at + batch_size] for at in range(0, len(texts), batch_size)]
    for batch in batches[:3]:
        translator.translate(batch)
    times: list[float] = []
    end = time.monotonic() + seconds
    while (start := time.monotonic()) < end:
        translator.translate(batches[len(times) % len(batches)])
        times.append(time.monotonic() - start)
    return times


if __name__ == "__main__":
    folder, size, limit = sys.argv[1:]
    given = json.load(sys.stdin)
    translator = Translator(folder, "cpu")
    print("begun", flush=True)
    json.dump(measure(translator, given, int(size), float(limit)), sys.stdout)
