"""What a tutorial would serve: FastAPI, one request after the other: `FOLDER PORT`."""

import sys
import threading
from typing import Any

import uvicorn
from fastapi import FastAPI

from transformer.serving.translator import Translator


def make_app(folder: str) -> FastAPI:
    """LibreTranslate's route, without queue, batches, cache or limits."""
    app, translator, lock = FastAPI(), Translator(folder, "cpu"), threading.Lock()

    @app.get("/ready")
    def ready() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/translate")
    def translate(body: dict[str, Any]) -> dict[str, str]:
        with lock:
            return {"translatedText": translator.translate([body["q"]])[0][0].text}

    return app


if __name__ == "__main__":
    uvicorn.run(make_app(sys.argv[1]), port=int(sys.argv[2]), log_level="warning")
