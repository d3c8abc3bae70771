"""What the service counts, for Prometheus. No label holds a text, an address or a key."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
_PIECES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """One service's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def counter(name: str, what: str, *labels: str) -> Counter:
            return Counter(f"translator_{name}", what, labels, registry=self.registry)

        def histogram(name: str, what: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(
                f"translator_{name}", what, labels, registry=self.registry, buckets=buckets
            )

        self.requests = counter("requests", "Requests answered.", "route", "method", "status")
        self.seconds = histogram(
            "request_seconds", "From a request's head to its answer.", _SECONDS, "route"
        )
        self.refused = counter("refused", "Requests refused or given up.", "reason")
        self.characters = counter("characters", "Characters taken in to translate.", "model")
        self.pieces = counter("pieces", "Sentences or short texts to translate.", "model")
        self.cache_hits = counter("cache_hits", "Pieces answered from the cache.")
        self.cache_misses = counter("cache_misses", "Pieces that the cache lacked.")
        self.batch_pieces = histogram("batch_pieces", "Pieces in a batch.", _PIECES)
        self.batch_seconds = histogram("batch_seconds", "A batch's time in a worker.", _SECONDS)
        self.reloads = counter("reloads", "Reloads of the translators.", "outcome")
        self.model_info = Gauge(
            "translator_model_info",
            "The translators that are served.",
            ("model", "version", "precision", "provider"),
            registry=self.registry,
        )

    def gauge(self, name: str, what: str, function: Callable[[], float]) -> None:
        """Adds a value that is read when asked for."""
        Gauge(f"translator_{name}", what, registry=self.registry).set_function(function)

    def observe_batch(self, pieces: int, seconds: float) -> None:
        """Counts a batch."""
        self.batch_pieces.observe(pieces)
        self.batch_seconds.observe(seconds)

    def text(self) -> bytes:
        """The page that Prometheus reads."""
        return generate_latest(self.registry)
