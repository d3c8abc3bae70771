"""Who may ask, and how much."""

import pytest

from transformer.serving.http.errors import ServiceError
from transformer.serving.http.keys import Caller, Keys, make_key


@pytest.fixture
def keys(tmp_path):
    key, line = make_key("anna")
    file = tmp_path / "keys"
    file.write_text(f"# who\n\n{line} 100\n")
    assert key not in file.read_text()
    return key, Keys(file)


def test_without_a_file_anybody_may_ask():
    keys = Keys()
    assert not keys.are_needed
    assert keys.identify("Bearer anything") is keys.identify(None)


@pytest.mark.parametrize("scheme", ["Bearer", "DeepL-Auth-Key", "bearer"])
def test_a_key_is_known_wherever_it_stands(keys, scheme):
    key, known = keys
    assert known.identify(f"{scheme} {key}").name == "anna"
    assert known.identify(None, key).name == "anna"


def test_no_key_and_a_wrong_one_are_told_apart(keys):
    key, known = keys
    with pytest.raises(ServiceError, match="needed") as missing:
        known.identify(None, missing_status=400)
    with pytest.raises(ServiceError, match="Invalid API key") as wrong:
        known.identify(f"Bearer {key[:-1]}")
    assert (missing.value.status, wrong.value.status) == (400, 403)
    with pytest.raises(ServiceError, match="needed"):
        known.identify(f"Basic {key}")


def test_more_than_a_minutes_share_is_never_waited_for():
    caller = Caller("anna", 40)
    with pytest.raises(ServiceError, match="41 characters: this key may translate 40") as caught:
        caller.charge(41)
    assert (caught.value.status, caught.value.retry_after_seconds) == (413, None)
    caller.charge(40)


def test_a_limit_comes_back_within_a_minute():
    now = 0.0
    caller = Caller("anna", 60, lambda: now)
    caller.charge(50)
    with pytest.raises(ServiceError, match="60 characters a minute") as caught:
        caller.charge(20)
    assert (caught.value.status, caught.value.retry_after_seconds) == (429, 10)
    now = 10.0
    caller.charge(20)
    assert caller.num_characters == 70


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ("anna", r"line 1: must be a name, the SHA-256"),
        ("anna secret", r"line 1: must be a name"),
        (f"anna {'0' * 64} 0", r"line 1: must be a name"),
        (f"anna {'0' * 64}\nanna {'1' * 64}", "line 2: the name or the key stands there twice"),
        (f"anna {'0' * 64}\nbert {'0' * 64}", "line 2: the name or the key stands there twice"),
        ("\xff", "keys: not UTF-8: .*; is it a file of keys"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, match):
    file = tmp_path / "keys"
    file.write_text(line, encoding="latin-1")
    with pytest.raises(ValueError, match=match):
        Keys(file)


def test_a_name_must_fit_into_its_line():
    with pytest.raises(ValueError, match="letters, digits"):
        make_key("anna b")
