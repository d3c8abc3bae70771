"""What a URL may show of itself."""

import re

_HIDDEN = "***"
# User and password: up to the last @ before the path.
_USER = re.compile(r"(?<=://)[^\s/?#'\"]*@")
_SECRET = re.compile(
    r"(?i)([?&][^=&\s]*(?:token|key|secret|sig|pass|pwd|auth|credential)[^=&\s]*=)"
    r"[^&\s'\"]+"
)


def hide_secrets(text: str) -> str:
    """The text with user, password and secret query values of each URL in it as asterisks."""
    return _SECRET.sub(rf"\1{_HIDDEN}", _USER.sub(f"{_HIDDEN}@", text))
