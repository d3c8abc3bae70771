"""The page for people, at `/`: plain files that ask this service, and no other host."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

_FOLDER = Path(__file__).parent
_FILES = ("style.css", "script.js", "words.js", "icon.svg")
# Of the page alone: the service's other answers load nothing at all.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def _route(path: str, file: str) -> Route:
    async def answer(request: Request) -> Response:
        return FileResponse(_FOLDER / file, headers={"Content-Security-Policy": _POLICY})

    return Route(path, answer)


ROUTES = (_route("/", "index.html"), *(_route(f"/page/{file}", file) for file in _FILES))
