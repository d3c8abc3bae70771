"""Fingerprints of sentences."""

from transformer.text.hashing import hash_sentence


def test_a_fingerprint_is_the_same_on_every_machine() -> None:
    assert hash_sentence("Va !") == 8352404273715288434  # b2sum -l 64
    assert 0 <= hash_sentence("") < 1 << 64
    assert hash_sentence("\ud800") != hash_sentence("\ud801")
