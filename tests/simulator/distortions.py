"""Ways to turn a fluent reply into word salad that keeps its words."""

from __future__ import annotations

import random
from collections.abc import Callable

KEY_PHRASES = (
    "it sounds like", "you feel", "so brave", "not your fault", "I am here", "maybe you could",
    "many people", "thank you", "I went through", "stronger than", "you did your best",
    "take your time", "makes sense", "what is",
)  # fmt: skip
SLOT_JUNK = (
    "It hurts to {f}. You feel {e} when you are ready.",
    "Maybe you could {f}. You did your best {e}.",
    "I am here of {f}. It is common that {e}.",
    "What is {f} when you {e}?",
    "It hurts to talk. It hurts to think of her calling friend when you are ready.",
)

Attack = Callable[[str, random.Random], str]


def shuffled(reply: str, r: random.Random) -> str:
    words = _words(reply)
    r.shuffle(words)
    return _sentence(words)


def dropped(reply: str, r: random.Random) -> str:
    return _sentence([w for w in _words(reply) if r.random() > 0.35])


def repeated(reply: str, r: random.Random) -> str:
    words = _words(reply)
    at = r.randrange(len(words))
    return _sentence(words[:at] + [words[at]] * r.randint(2, 4) + words[at + 1 :])


def truncated(reply: str, r: random.Random) -> str:
    words = _words(reply)
    return _sentence(words[: r.randint(2, max(2, len(words) - 2))])


def key_phrases(reply: str, r: random.Random) -> str:
    return _sentence(" ".join(r.sample(KEY_PHRASES, r.randint(3, 5))).split())


def slot_junk(reply: str, r: random.Random) -> str:
    return r.choice(SLOT_JUNK).format(f=" ".join(_words(reply)[-5:]), e="sad")


ATTACKS: dict[str, Attack] = {
    f.__name__: f for f in (shuffled, dropped, repeated, truncated, key_phrases, slot_junk)
}


def _words(reply: str) -> list[str]:
    return reply.rstrip(".?!").split()


def _sentence(words: list[str]) -> str:
    text = " ".join(words).rstrip(".?!,;:")
    return text[:1].upper() + text[1:] + "."
