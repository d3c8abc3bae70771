"""Damage, by a seed: to bytes, to text, to values, to what stands at a path."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

# Values that no field has, or few.
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 7, 0.0, 0.5, -0.5, 1e-30, 1e30, 1e39, -1e308),
    *(10**6, 10**9, 2**31, 2**63, 10**30, 10**400, float("inf"), float("-inf"), float("nan")),
    *("", " ", "x", "0", "true", "null", "../..", "/", "a\0b", "\ud800", "é" * 9, "x" * 100_000),
    *([], {}, [None], [[]], {"": None}, {"kind": "x"}, [1] * 1000, [0, -1], ["float32", "x"]),
)
_ODD_TEXT = (
    *("\t", "\0", "\r", "\n", "\x85", "\u2028", "\ufeff", "\u202e", "%", "&a", "*a", "!!python/x "),
    *("<<: ", "{", "]", "'", '"', "#", "- ", ": ", "? ", "|\n", "---\n", "1e999", "0x1f", ".inf"),
    *("é", "𝕏", "e\u0301" * 50, "a" * 10_000, "[" * 3000, "null", "~", "2024-01-01", "1:30"),
)


def damage_bytes(random: Random, raw: bytes) -> tuple[str, bytes]:
    """What was done, and the bytes then."""
    place = random.randrange(len(raw) or 1)
    many = random.randrange(1, 64)
    noise = random.randbytes(many)
    flipped = bytearray(raw or b"\0")
    flipped[place] ^= 1 << random.randrange(8)
    kinds: dict[str, bytes] = {
        "empty": b"",
        f"cut at {place}": raw[:place],
        f"a bit flipped at {place}": bytes(flipped),
        f"{many} bytes of noise at {place}": raw[:place] + noise + raw[place + many :],
        f"{many} bytes put in at {place}": raw[:place] + noise + raw[place:],
        f"{many} bytes missing at {place}": raw[:place] + raw[place + many :],
        f"zeros from {place} on": raw[:place] + bytes(len(raw) - place),
        f"{many} bytes at its end": raw + noise,
        "twice": raw + raw,
        "of noise alone": random.randbytes(len(raw)),
    }
    # Single bits are what disks and memory do, and the hardest to see.
    weights = [4 if "bit" in name else 1 for name in kinds]
    what = random.choices(list(kinds), weights)[0]
    return what, kinds[what]


def damage_text(random: Random, text: str) -> tuple[str, str]:
    """What was done, and the text then: still UTF-8, but for what stands in it."""
    lines = text.split("\n")
    row, place = random.randrange(len(lines)), random.randrange(len(text) or 1)
    odd = random.choice(_ODD_TEXT)
    other = random.randrange(len(lines))
    kind = random.randrange(7)
    if kind == 0:
        return f"without line {row + 1}", "\n".join(lines[:row] + lines[row + 1 :])
    if kind == 1:
        return f"line {row + 1} twice", "\n".join(lines[: row + 1] + lines[row:])
    if kind == 2:
        lines[row], lines[other] = lines[other], lines[row]
        return f"lines {row + 1} and {other + 1} changed round", "\n".join(lines)
    if kind == 3:
        lines[row] = " " * random.randrange(1, 5) + lines[row]
        return f"line {row + 1} indented", "\n".join(lines)
    if kind == 4:
        cut = random.randrange(len(lines[row]) + 1)
        lines[row] = lines[row][:cut] + odd
        return f"line {row + 1} ends in {odd[:20]!r}", "\n".join(lines)
    if kind == 5:
        return f"{odd[:20]!r} at {place}", text[:place] + odd + text[place:]
    return f"{odd[:20]!r} in place of a letter at {place}", text[:place] + odd + text[place + 1 :]


def damage_values(random: Random, values: Any) -> tuple[str, Any]:
    """What was done, and the nested values then; those given stay as they are."""
    copied = json.loads(json.dumps(values))
    nodes = list(_walk(copied))
    path, holder, key = random.choice(nodes)
    if isinstance(holder, dict) and random.random() < 0.2:
        if random.random() < 0.5:
            del holder[key]
            return f"without {path}", copied
        name = random.choice([f"{key}s", str(key).upper(), "", "kind", "é"])
        holder[name] = holder[key] if random.random() < 0.5 else random.choice(ODD_VALUES)
        return f"{path} with {name!r} beside it", copied
    holder[key] = _odd_value(random, holder[key])
    return f"{path} = {_short(holder[key])}", copied


def _odd_value(random: Random, value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and random.random() < 0.5:
        near: list[Callable[[], Any]] = [
            *(lambda: -value, lambda: value + 1, lambda: value - 1, lambda: value * 1000),
            *(lambda: value / 1000, lambda: float(value), lambda: str(value), lambda: [value]),
        ]
        return random.choice(near)()
    if isinstance(value, str) and value and random.random() < 0.5:
        place = random.randrange(len(value))
        return value[:place] + chr(random.randrange(32, 300)) + value[place + 1 :]
    return random.choice(ODD_VALUES)


def _walk(values: Any, path: str = "") -> Any:
    if isinstance(values, dict | list):
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            where = f"{path}.{key}" if path else str(key)
            yield where, values, key
            yield from _walk(value, where)


def _short(value: Any) -> str:
    text = ascii(value) if not isinstance(value, int) or abs(value) < 1e40 else "a huge integer"
    return text if len(text) < 60 else f"{text[:50]}…"


def damage_json(random: Random, text: str, seal: Callable[[Mapping[str, Any]], Any]) -> Any:
    """What was done, the text then, and whether it was sealed again, as a forger would."""
    if random.random() < 0.3:
        return *damage_text(random, text), False
    what, values = damage_values(random, json.loads(text))
    is_sealed = isinstance(values, dict) and random.random() < 0.5
    if is_sealed:
        what, values = f"{what}, sealed again", seal(values)
    return what, json.dumps(values), is_sealed


def replace_path(random: Random, path: Path) -> str:
    """Puts something else where a file is; says what."""
    kinds: dict[str, Callable[[], object]] = {
        "missing": lambda: None,
        "a folder": path.mkdir,
        "a link to nowhere": lambda: path.symlink_to("nowhere"),
        "a link to itself": lambda: path.symlink_to(path.name),
        "a pipe": lambda: os.mkfifo(path),
        "/dev/zero": lambda: path.symlink_to("/dev/zero"),
        "/dev/null": lambda: path.symlink_to("/dev/null"),
        "/dev/full": lambda: path.symlink_to("/dev/full"),
    }
    what = random.choice(list(kinds))
    path.unlink()
    kinds[what]()
    return what


def damage_file(random: Random, path: Path) -> str:
    """Damages one file in place; says how."""
    kind = random.random()
    if kind < 0.15:
        return f"{path.name}: {replace_path(random, path)}"
    others = [other for other in path.parent.iterdir() if other != path and other.is_file()]
    if kind < 0.22 and others:
        other = random.choice(others)
        shutil.copyfile(other, path)
        return f"{path.name}: a copy of {other.name}"
    what, raw = damage_bytes(random, path.read_bytes())
    path.write_bytes(raw)
    return f"{path.name}: {what}"
