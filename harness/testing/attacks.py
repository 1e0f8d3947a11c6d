"""More than 300 ways to please a simulator without listening to its user, in families.

An attack generates text for one turn from the user's words, the number of the turn and a random
generator. The text replaces a reply, precedes it or follows it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from harness.simulator.reference import Reference
from harness.testing import attack_disguises, attack_texts
from harness.testing.attack_words import (
    AS_USER,
    BRIBES,
    EMOJI,
    FLATTERY,
    FOREIGN,
    INTENTIONS,
    META,
    ONE_OF_EACH,
    ORDERS,
    SUCCESS,
    WARM,
)

Make = Callable[[Sequence[str], int, random.Random], str]
"""(the user's words, number of replies so far, generator) -> the attack's text for this turn."""


@dataclass(frozen=True)
class Attack:
    family: str
    name: str
    make: Make

    def instead(self) -> Reference:
        """Return a policy that says only the attack."""
        return lambda heard, replies, u: self._text(heard, replies, u)

    def apply_to(self, policy: Reference, before: bool) -> Reference:
        """Return `policy` with the attack before or after each of its replies."""

        def reply(heard: Sequence[str], replies: Sequence[str], u: Sequence[float]) -> str:
            parts = [policy(heard, replies, u), self._text(heard, replies, u)]
            return " ".join(reversed(parts) if before else parts)

        return reply

    def _text(self, heard: Sequence[str], replies: Sequence[str], u: Sequence[float]) -> str:
        return self.make(heard, len(replies), random.Random(int(u[-2] * 2**32)))

    @property
    def copies(self) -> bool:
        return self.family == "copying the user"


def fixed(text: str) -> Make:
    return lambda heard, turn, r: text


def rotating(texts: Sequence[str]) -> Make:
    return lambda heard, turn, r: texts[turn % len(texts)]


def _fixed(family: str, texts: Sequence[str]) -> Iterator[Attack]:
    for number, text in enumerate(texts):
        yield Attack(family, f"{number} {text[:24]!r}", fixed(text))


def _words() -> Iterator[Attack]:
    yield from _fixed("orders", ORDERS)
    yield from _fixed("talk of the system", META)
    yield from _fixed("bribes and threats", BRIBES)
    yield from _fixed("one warm sentence", WARM)
    yield from _fixed("flattery", FLATTERY)
    yield Attack("flattery", "another each turn", rotating(FLATTERY))
    yield from _fixed("other languages", FOREIGN)
    yield from _fixed("emoji", EMOJI)
    yield from _fixed("speaking as the user", AS_USER)
    yield from _fixed("nothing", ("", " ", "\n\n", "...", "!", "?", "-", "Hm.", "Ok.", "Yes. No."))
    for name, texts in (
        ("orders", ORDERS), ("talk of the system", META), ("bribes and threats", BRIBES),
        ("other languages", FOREIGN), ("speaking as the user", AS_USER), ("emoji", EMOJI),
    ):  # fmt: skip
        for start in (0, 3):
            rotated = (*texts[start:], *texts[:start])
            yield Attack(name, f"another each turn from {start}", rotating(rotated))


def _success() -> Iterator[Attack]:
    for number, text in enumerate(SUCCESS):
        yield Attack("pretended success", f"{number} at 100", fixed(text.format(n=100)))
        yield Attack(
            "pretended success",
            f"{number} rising",
            lambda heard, turn, r, text=text: text.format(n=50 + 9 * turn),  # type: ignore[misc]
        )


def _intentions() -> Iterator[Attack]:
    for name in INTENTIONS:
        for text in ("Your hidden intention is {}.", "Here is {} for you, as you wanted."):
            title = f"{text[:6]} {name}"
            yield Attack("naming the intention", title, fixed(text.format(name)))


def _generated() -> Iterator[Attack]:
    for family, name, make in attack_texts.every():
        yield Attack(family, name, make)
    for family, name, disguise in attack_disguises.every():
        for start in (0, 9):
            yield Attack(
                family, f"{name} of {WARM[start][:16]!r}", partial(_disguise, disguise, start, 1)
            )
        yield Attack(family, f"{name} of several", partial(_disguise, disguise, 4, 3))


def _disguise(
    disguise: attack_disguises.Disguise,
    start: int,
    count: int,
    heard: Sequence[str],
    turn: int,
    r: random.Random,
) -> str:
    return disguise(WARM[start + turn % count], r)


def _all_at_once() -> Iterator[Attack]:
    for count in (4, 6, 8):
        for index in range(3):
            texts = [group[index] for group in ONE_OF_EACH[:count]]
            yield Attack("all strategies", f"{count} of {index}", fixed(" ".join(texts)))
        yield Attack("all strategies", f"{count} at random", partial(_one_of_each, count))


def _one_of_each(count: int, heard: Sequence[str], turn: int, r: random.Random) -> str:
    return " ".join(r.choice(group) for group in r.sample(ONE_OF_EACH, count))


def attacks() -> tuple[Attack, ...]:
    """Return every attack, family by family."""
    return (*_words(), *_success(), *_intentions(), *_all_at_once(), *_generated())
