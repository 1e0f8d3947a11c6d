"""Replies that acceptance is measured on, and the contexts in which they are tried.

One set of replies is fixed, the other in free wording. Both were written from the strategies'
definitions, without sight of the simulator's lexicon, and are not edited. Half of each is held out:
nothing is tuned on it. Contexts are states that conversations at medium pass through, the same for
all levels, with supporters of graded skill, so that users are neither all well nor all badly off.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from harness.calibration.population import SKILLS, converse_with, skilled
from harness.config.run import INTENTIONS, TEMPERAMENTS, DifficultyConfig
from harness.simulator.listening import to_second_person
from harness.simulator.personas import EVERYONE, PERSONAS
from harness.simulator.protocol import HELD_OUT, ConversationKey, UserTurn
from harness.simulator.state import Disclosed, State, User

_HERE = Path(__file__).parent
_HELD_OUT_NAMES = frozenset(persona.name for persona in PERSONAS[HELD_OUT])
_INDEX = {persona.name: index for index, persona in enumerate(EVERYONE)}


@dataclass(frozen=True, slots=True)
class FixedReply:
    """A reply for anyone: {fact} is the newest thing told, {feeling} one that was named."""

    strategy: str
    text: str
    held_out: bool

    def to(self, state: State) -> str:
        """Return the reply as said to the user of `state`."""
        disclosed, persona = state.disclosed, state.user.persona
        fact = to_second_person(persona.facts[disclosed.facts - 1])
        return self.text.format(fact=fact, feeling=min(disclosed.feelings))


@dataclass(frozen=True, slots=True)
class FreeReply:
    """A reply to one persona at one point of their story, in its writer's own words."""

    persona_index: int
    """Index into EVERYONE."""
    disclosed: Disclosed
    strategy: str
    text: str

    @property
    def held_out(self) -> bool:
        """Whether its persona is held out."""
        return EVERYONE[self.persona_index].name in _HELD_OUT_NAMES


@cache
def fixed_replies() -> tuple[FixedReply, ...]:
    """Return twelve replies for each strategy, in the order of the file."""
    halves = yaml.safe_load((_HERE / "fixed_replies.yaml").read_text(encoding="utf-8"))
    return tuple(
        FixedReply(strategy, text, half == "held_out")
        for half, strategies in halves.items()
        for strategy, texts in strategies.items()
        for text in texts
    )


@cache
def free_replies() -> tuple[FreeReply, ...]:
    """Return 288 replies: eight to each of 36 personas."""
    lines = (_HERE / "free_wording.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_free_reply(json.loads(line)) for line in lines)


def _free_reply(row: dict[str, Any]) -> FreeReply:
    disclosed = Disclosed(row["told"], frozenset(row["feelings"]), True)
    return FreeReply(_INDEX[row["persona"]], disclosed, row["strategy"], row["text"])


CONVERSATIONS = 120
EMOTION = 40
"""Emotion at which free-wording replies are tried."""


@dataclass(frozen=True)
class Contexts:
    """User turns that wait for a reply."""

    turns: tuple[UserTurn, ...]
    conversations: NDArray[np.int64]
    """Number of the conversation of each."""


def collect_contexts(medium: DifficultyConfig) -> Contexts:
    """Return every turn of CONVERSATIONS conversations at `medium`, supporters of each skill."""
    each = CONVERSATIONS // len(SKILLS)
    conversations = [
        turns
        for n, skill in enumerate(SKILLS)
        for turns in converse_with(range(n * each, (n + 1) * each), medium, skilled(skill)).turns
    ]
    pairs = [(turn, n) for n, turns in enumerate(conversations) for turn in turns[:-1]]
    return Contexts(tuple(turn for turn, _ in pairs), np.array([n for _, n in pairs]))


def users_of(reply: FreeReply) -> Sequence[State]:
    """Return the users a free-wording reply may have been said to.

    Of every intention and temperament.
    """
    turn = reply.disclosed.facts - 1
    return [
        State(
            key=ConversationKey(0, 0, 0, 0),
            user=User(reply.persona_index, intention, temperament),
            emotion=EMOTION,
            reported=float(EMOTION),
            disclosed=reply.disclosed,
            turn=turn,
            trust=turn,
        )
        for intention in INTENTIONS
        for temperament in TEMPERAMENTS
    ]


def rotated(replies: Sequence[FixedReply], number: int) -> FixedReply:
    """Return a reply for context `number`, so that all are used equally often."""
    return replies[number % len(replies)]
