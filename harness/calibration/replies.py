"""The replies that acceptance is measured on: a fixed set, and one in free wording.

Both were written from the strategies' definitions, without sight of the simulator's lexicon, and
are not edited. Half of each is held out: nothing is tuned on it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from harness.simulator.people import EVERYONE, PEOPLE
from harness.simulator.protocol import HELD_OUT
from harness.simulator.reference_phrases import turned
from harness.simulator.state import State, Told

_HERE = Path(__file__).parent
_HELD_OUT_NAMES = frozenset(person.name for person in PEOPLE[HELD_OUT])
_INDEX = {person.name: number for number, person in enumerate(EVERYONE)}


@dataclass(frozen=True, slots=True)
class FixedReply:
    """A reply for anyone: {fact} is the newest thing told, {feeling} one that was named."""

    strategy: str
    text: str
    held_out: bool

    def to(self, state: State) -> str:
        """The reply said to the user of `state`."""
        told, persona = state.told, state.user.persona
        return self.text.format(
            fact=turned(persona.facts[told.facts - 1]), feeling=min(told.feelings)
        )


@dataclass(frozen=True, slots=True)
class FreeReply:
    """A reply to one persona at one point of their story, in its writer's own words."""

    person: int
    """Index into EVERYONE."""
    told: Told
    strategy: str
    text: str

    @property
    def held_out(self) -> bool:
        return EVERYONE[self.person].name in _HELD_OUT_NAMES


@cache
def fixed() -> tuple[FixedReply, ...]:
    """Twelve replies for each strategy, in the order of the file."""
    halves = yaml.safe_load((_HERE / "fixed_replies.yaml").read_text(encoding="utf-8"))
    return tuple(
        FixedReply(strategy, text, half == "held_out")
        for half, strategies in halves.items()
        for strategy, texts in strategies.items()
        for text in texts
    )


@cache
def free() -> tuple[FreeReply, ...]:
    """288 replies: eight to each of 36 personas."""
    lines = (_HERE / "free_wording.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_free(json.loads(line)) for line in lines)


def _free(row: dict[str, Any]) -> FreeReply:
    told = Told(row["told"], frozenset(row["feelings"]), True)
    return FreeReply(_INDEX[row["persona"]], told, row["strategy"], row["text"])
