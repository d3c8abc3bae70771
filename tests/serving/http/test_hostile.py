"""Requests that nobody would mean: an answer, and never that something broke."""

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.serving.fuzz import malice, send
from transformer.serving.http.limits import Limits

WORDS = ["q", "text", "source", "target", "fr", "en", "auto", "format", "alternatives", "inputs"]
WORDS += ["num_best", "beam_size", "patience", "target_lang", "outputs", "data", "shape", "BYTES"]
# PyTorch may have switched subnormal numbers off in this process.
FLOATS = st.floats(allow_subnormal=False)
VALUES = st.recursive(
    st.sampled_from(WORDS) | st.none() | st.booleans() | st.integers() | FLOATS | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)
    ),
    max_leaves=8,
)
PATHS = ["/translate", "/detect", "/v1/translate", "/v2/translate", "/v2/models/fr-en/infer"]


@pytest.fixture
def served(serve):
    return serve()


@pytest.mark.slow
def test_malice_breaks_nothing(serve):
    served = serve(limits=Limits(receive_seconds=0.3))
    host, port = served.address
    statuses = [send(host, port, content).status for content in malice()]
    assert not {500, None} & set(statuses)
    assert {200, 400, 403, 404, 408, 413} <= set(statuses)
    assert requests.get(f"{served.url}/ready", timeout=9).status_code == 200


@settings(
    max_examples=50,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.sampled_from(PATHS),
    st.fixed_dictionaries(
        {},
        optional={
            "q": VALUES,
            "text": VALUES,
            "source": VALUES,
            "target": st.just("en") | VALUES,
            "target_lang": st.just("EN") | VALUES,
            "format": VALUES,
            "inputs": VALUES,
        },
    ),
)
def test_no_json_breaks_anything(served, path, body):
    reply = requests.post(f"{served.url}{path}", json=_finite(body), timeout=20)
    assert reply.status_code in (200, 400)
    assert reply.json()


def _finite(value):
    # What `requests` would refuse to send.
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, list):
        return [_finite(one) for one in value]
    return {name: _finite(one) for name, one in value.items()} if isinstance(value, dict) else value
