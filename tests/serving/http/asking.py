"""How the tests ask a service, and hold up what it does."""

import re
import time

import requests

from transformer.serving.http.app import OPERATIONS

FR_EN = {"source": "fr", "target": "en"}


def post(served, path, body=None, **options):
    """The answer, whose status the service's description has, but for a bug of its own."""
    reply = requests.post(served.url + path, json=body, timeout=20, **options)
    for one in OPERATIONS:
        is_asked = re.fullmatch(re.sub(r"{\w+}", "[^/]+", one.path), path.partition("?")[0])
        if is_asked and one.method == "POST":
            assert reply.status_code in (200, *one.statuses, 500)
    return reply


def texts_of(reply):
    return [[one["text"] for one in t["candidates"]] for t in reply.json()["translations"]]


def wait_for(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
