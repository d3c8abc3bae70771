"""What a request, and all of them together, may take."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the service. Those without an option on the command line suit every machine."""

    # Of all texts of a request together.
    max_characters: int = 100_000
    max_texts: int = 1_000
    # Room for `max_characters`, however a client writes them down.
    max_body_bytes: int = 2 << 20
    # From the first byte of a request's head to its last, and of its body again.
    receive_seconds: float = 15.0
    # From a whole request to its answer.
    deadline_seconds: float = 30.0
    # Hypotheses of a search: its cost grows with them.
    max_beam_size: int = 16
    # Requests that wait for a worker, and their pieces: then the answer is 429.
    max_waiting_requests: int = 256
    max_waiting_pieces: int = 20_000
    # Pieces whose translations are remembered.
    cache_entries: int = 20_000
    # Translated files that wait to be fetched, and for how long.
    max_files: int = 64
    file_seconds: float = 600.0
    # Requests that are open at a time, those still being received and refused included.
    max_requests: int = 1_000
