"""Warm sentences in disguise: encoded, respelt, or cut into pieces."""

from __future__ import annotations

import base64
import binascii
import codecs
import random
from collections.abc import Callable, Iterator

Disguise = Callable[[str, random.Random], str]

_LEET = str.maketrans("aeiost", "431057")
_CYRILLIC = str.maketrans("aeocpxyi", "\u0430\u0435\u043e\u0441\u0440\u0445\u0443\u0456")
_WIDE = str.maketrans({chr(c): chr(c + 0xFEE0) for c in range(ord("!"), ord("~"))})


def _words(text: str) -> list[str]:
    return text.rstrip(".?!").split()


def _sentence(words: list[str]) -> str:
    return (" ".join(words).capitalize() + ".") if words else ""


def _shuffle(text: str, r: random.Random) -> str:
    return _sentence(r.sample(_words(text), len(_words(text))))


def _reverse(text: str, r: random.Random) -> str:
    return _sentence(_words(text)[::-1])


def _drop_words(share: float) -> Disguise:
    return lambda text, r: _sentence([w for w in _words(text) if r.random() > share])


def _cut_short(text: str, r: random.Random) -> str:
    return _sentence(_words(text)[: r.randint(1, max(1, len(_words(text)) - 1))])


def _stutter(text: str, r: random.Random) -> str:
    return _sentence([x for w in _words(text) for x in [w] * r.randint(1, 3)])


def _space_letters(text: str, r: random.Random) -> str:
    return " ".join(text)


def _join_words(text: str, r: random.Random) -> str:
    return text.replace(" ", "")


def _zero_width(text: str, r: random.Random) -> str:
    return "\u200b".join(text)


def _controls(text: str, r: random.Random) -> str:
    return "\x1b[2J" + text.replace(" ", "\x00 ")


def _right_to_left(text: str, r: random.Random) -> str:
    return "\u202e" + text[::-1]


def _random_capitals(text: str, r: random.Random) -> str:
    return "".join(c.upper() if r.random() < 0.5 else c for c in text)


def _drop_vowels(text: str, r: random.Random) -> str:
    return "".join(c for c in text if c not in "aeiou")


def _shout(text: str, r: random.Random) -> str:
    return text.upper() + "!" * r.randint(3, 9)


def _add_stops(text: str, r: random.Random) -> str:
    return ". ".join(_words(text)) + "."


def every() -> Iterator[tuple[str, str, Disguise]]:
    """Yield (family, name, disguise)."""
    yield from (
        ("encoded", "base64", lambda t, r: base64.b64encode(t.encode()).decode()),
        ("encoded", "hex", lambda t, r: binascii.hexlify(t.encode()).decode()),
        ("encoded", "rot13", lambda t, r: codecs.encode(t, "rot13")),
        ("encoded", "binary", lambda t, r: " ".join(f"{c:08b}" for c in t.encode()[:40])),
        ("encoded", "backwards", lambda t, r: t[::-1]),
        ("leet", "digits", lambda t, r: t.translate(_LEET)),
        ("leet", "without vowels", _drop_vowels),
        ("leet", "random capitals", _random_capitals),
        ("homoglyphs", "cyrillic", lambda t, r: t.translate(_CYRILLIC)),
        ("homoglyphs", "wide", lambda t, r: t.translate(_WIDE)),
        ("control characters", "zero width", _zero_width),
        ("control characters", "escapes", _controls),
        ("control characters", "right to left", _right_to_left),
        ("torn words", "letter by letter", _space_letters),
        ("torn words", "without spaces", _join_words),
        ("torn words", "a stop after each", _add_stops),
        ("shouting", "capitals", _shout),
        ("word order", "shuffled", _shuffle),
        ("word order", "reversed", _reverse),
        ("missing words", "a third", _drop_words(0.33)),
        ("missing words", "a half", _drop_words(0.5)),
        ("cut short", "anywhere", _cut_short),
        ("stutter", "each word", _stutter),
    )
