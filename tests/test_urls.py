"""No message shows a password."""

import pytest

from transformer.urls import hide_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:pass@host:5000/a?b=c", "https://***@host:5000/a?b=c"),
        ("at http://me@host, ssh://git:p@ss@host/x", "at http://***@host, ssh://***@host/x"),
        ("postgresql+psycopg2://u:p%40@h/db", "postgresql+psycopg2://***@h/db"),
        (
            "https://h/f?token=abc&x=1&X-Amz-Signature=9",
            "https://h/f?token=***&x=1&X-Amz-Signature=***",
        ),
        (
            "https://h/f?X-Amz-Credential=a/b&auth=c&n=1",
            "https://h/f?X-Amz-Credential=***&auth=***&n=1",
        ),
        ("https://h/f?api_key=abc'", "https://h/f?api_key=***'"),
        ("https://h/a@b?c=d@e", "https://h/a@b?c=d@e"),
        ("mail me@host about a: b", "mail me@host about a: b"),
    ],
)
def test_what_is_secret_in_a_url_is_hidden(text, shown):
    assert hide_secrets(text) == shown
