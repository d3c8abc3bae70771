"""Numbers, hours and dates in words and digits, in both languages."""

_FR_SMALL = [
    "zéro",
    "un",
    "deux",
    "trois",
    "quatre",
    "cinq",
    "six",
    "sept",
    "*huit",
    "neuf",
    "dix",
    "*onze",
    "douze",
    "treize",
    "quatorze",
    "quinze",
    "seize",
    "dix-sept",
    "dix-huit",
    "dix-neuf",
]
_FR_TENS = {2: "vingt", 3: "trente", 4: "quarante", 5: "cinquante", 6: "soixante"}
_EN_SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_EN_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_EN_ORDINALS = {"one": "first", "two": "second", "three": "third", "five": "fifth"}
_EN_ORDINALS |= {"eight": "eighth", "nine": "ninth", "twelve": "twelfth"}


def french_number(number: int) -> str:
    """A number from 0 to 9999 in French words (the spelling before 1990)."""
    if number < 20:
        return _FR_SMALL[number]
    if number < 100:
        tens, unit = divmod(number, 10)
        if tens in (7, 9):
            base, rest = ("soixante" if tens == 7 else "quatre-vingt"), number - (tens - 1) * 10
            return f"{base} et onze" if number == 71 else f"{base}-{_FR_SMALL[rest].strip('*')}"
        if tens == 8:
            return "quatre-vingts" if unit == 0 else f"quatre-vingt-{_plain(unit)}"
        if unit == 0:
            return _FR_TENS[tens]
        return f"{_FR_TENS[tens]} et un" if unit == 1 else f"{_FR_TENS[tens]}-{_plain(unit)}"
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        word = "cent" if hundreds == 1 else f"{_plain(hundreds)} cent" + "s" * (rest == 0)
        return f"{word} {french_number(rest).strip('*')}" if rest else word
    thousands, rest = divmod(number, 1000)
    word = "mille" if thousands == 1 else f"{_plain(thousands)} mille"
    return f"{word} {french_number(rest).strip('*')}" if rest else word


def english_number(number: int) -> str:
    """A number from 0 to 9999 in British English words."""
    if number < 20:
        return _EN_SMALL[number]
    if number < 100:
        tens, unit = divmod(number, 10)
        return _EN_TENS[tens - 2] + (f"-{_EN_SMALL[unit]}" if unit else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        word = "a hundred" if hundreds == 1 else f"{_EN_SMALL[hundreds]} hundred"
        return f"{word} and {english_number(rest)}" if rest else word
    thousands, rest = divmod(number, 1000)
    word = "a thousand" if thousands == 1 else f"{_EN_SMALL[thousands]} thousand"
    if not rest:
        return word
    return f"{word} {'and ' if rest < 100 else ''}{english_number(rest)}"


def english_ordinal(number: int) -> str:
    """`first` to `thirty-first` and beyond, in words."""
    head, hyphen, last = english_number(number).rpartition("-")
    if last in _EN_ORDINALS:
        return head + hyphen + _EN_ORDINALS[last]
    last = last[:-1] + "ie" if last.endswith("y") else last
    return head + hyphen + last + "th"


def clock(hour: int, minute: int, style: str) -> tuple[str, str]:
    """An hour of the day in French and English.

    Args:
        hour: 0 to 23; in words 0 is midnight, 12 noon.
        minute: 0, 15, 30, 45, or any multiple of 5 with style `digits`.
        style: `words`, `digits` (8h30), `spaced` (8 h 30) or `mixed` (8 heures).
    """
    if style == "spaced":
        return f"{hour} h {minute:02}" if minute else f"{hour} h", f"{hour}:{minute:02}"
    if style == "digits":
        fr = f"{hour}h{minute:02}" if minute else f"{hour}h"
        return fr, f"{hour}:{minute:02}"
    if style == "mixed":
        return f"{hour} heure{'s' * (hour > 1)}", f"{hour} o'clock"
    after = hour if minute < 45 else (hour + 1) % 24
    if after in (0, 12):
        fr, en = ("minuit", "midnight") if after == 0 else ("midi", "noon")
        exact = en
    else:
        twelve = after if after <= 12 else after - 12
        fr = f"{_FR_SMALL[twelve]} heures" if twelve > 1 else "une heure"
        en = _EN_SMALL[twelve]
        exact = f"{en} o'clock"
    if minute == 0:
        return fr, exact
    half = "demi" if after in (0, 12) else "demie"
    return {
        15: (f"{fr} et quart", f"a quarter past {en}"),
        30: (f"{fr} et {half}", f"half past {en}"),
        45: (f"{fr} moins le quart", f"a quarter to {en}"),
    }[minute]


def date(day: int, month: tuple[str, str], *, digits: bool) -> tuple[str, str]:
    """A day of a month, `month` being its name in both languages: le 5 mai, 5 May."""
    if digits:
        return f"le {'1er' if day == 1 else day} {month[0]}", f"{day} {month[1]}"
    fr = "premier" if day == 1 else french_number(day)
    return f"le {fr} {month[0]}", f"the {english_ordinal(day)} of {month[1]}"


def _plain(number: int) -> str:
    return _FR_SMALL[number].strip("*")
