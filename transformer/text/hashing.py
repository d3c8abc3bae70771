"""Short fingerprints of sentences."""

import hashlib


def hash_sentence(sentence: str) -> int:
    """64 bits of BLAKE2b, alike on every machine; two sentences collide once in 2^64."""
    # Halves of surrogate pairs can't be encoded strictly; a fingerprint takes them as they are.
    data = sentence.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")
