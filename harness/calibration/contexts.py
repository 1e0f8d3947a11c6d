"""Replies for measuring acceptance, and the contexts in which they are tried.

One set of replies is fixed, the other in free wording. Both were written from the strategies'
definitions without seeing the simulator's lexicon, and are not edited. Half of each is held out:
nothing is tuned on it. Contexts are states of conversations at medium, the same for all levels.
Their supporters have graded skill, so that the users' emotions span the scale.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness.calibration.population import SKILLS, converse_with, skilled
from harness.calibration.users import Reader
from harness.config.run import INTENTIONS, STRATEGIES, TEMPERAMENTS, DifficultyConfig
from harness.errors import ConfigError
from harness.simulator.data_files import YamlValue, require_one_of, tree
from harness.simulator.listening import to_second_person
from harness.simulator.personas import EVERYONE, PERSONAS
from harness.simulator.protocol import HELD_OUT, ConversationKey, UserTurn
from harness.simulator.scripted.sentence_reader import LEXICAL
from harness.simulator.state import Disclosures, State, User, path_of

FIXED_REPLIES = Path(__file__).with_name("fixed_replies.yaml")
FREE_WORDING = Path(__file__).with_name("free_wording.jsonl")
_FREE_KEYS = ("persona", "told", "feelings", "strategy", "text")
_HELD_OUT_NAMES = frozenset(persona.name for persona in PERSONAS[HELD_OUT])
_INDEX = {persona.name: index for index, persona in enumerate(EVERYONE)}


@dataclass(frozen=True, slots=True)
class FixedReply:
    """A reply for any user; {fact} is the newest sentence told, {feeling} a told feeling."""

    strategy: str
    text: str
    held_out: bool

    def to(self, state: State) -> str:
        """Return the reply filled in for the user of `state`."""
        disclosed, persona = state.disclosed, state.user.persona
        fact = to_second_person(persona.tellable[disclosed.told[-1]].text)
        return self.text.format(fact=fact, feeling=min(disclosed.feelings))


@dataclass(frozen=True, slots=True)
class FreeReply:
    """A reply to one persona at one point of their story, in its writer's own words."""

    persona_index: int
    """Index into EVERYONE."""
    disclosed: Disclosures
    strategy: str
    text: str

    @property
    def held_out(self) -> bool:
        """Whether the persona is held out."""
        return EVERYONE[self.persona_index].name in _HELD_OUT_NAMES


@cache
def fixed_replies() -> tuple[FixedReply, ...]:
    """Return twelve replies for each strategy, in file order."""
    return read_fixed_replies(FIXED_REPLIES)


def read_fixed_replies(path: Path) -> tuple[FixedReply, ...]:
    """Return the replies of a file, in file order. Raises ConfigError for a malformed file."""
    halves = YamlValue(path, tree(path)).record(("tuning", "held_out"))
    return tuple(
        FixedReply(strategy, text.text(), half == "held_out")
        for half, strategies in halves.items()
        for strategy, texts in strategies.record(STRATEGIES).items()
        for text in texts.items()
    )


@cache
def free_replies() -> tuple[FreeReply, ...]:
    """Return 288 replies, eight to each of 36 personas."""
    return read_free_replies(FREE_WORDING)


def read_free_replies(path: Path) -> tuple[FreeReply, ...]:
    """Return the replies of a file, one per line. Raises ConfigError for a malformed file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return tuple(
        _free_reply(f"{path}:{number}", line) for number, line in enumerate(lines, start=1)
    )


def _free_reply(where: str, line: str) -> FreeReply:
    try:
        row = json.loads(line)
        persona, told_count, feelings, strategy, text = (row[key] for key in _FREE_KEYS)
    except (ValueError, LookupError, TypeError) as error:
        rule = f"must be a JSON object with {', '.join(_FREE_KEYS)}"
        raise ConfigError(f"{where}: {rule}, got {line[:60]!r}") from error
    require_one_of(where, "persona", persona, _INDEX)
    require_one_of(where, "strategy", strategy, STRATEGIES)
    disclosed = Disclosures(tuple(range(told_count)), frozenset(feelings), True)
    return FreeReply(_INDEX[persona], disclosed, strategy, text)


CONVERSATIONS = 120
EMOTION = 40
"""Emotion at which free-wording replies are tried."""


@dataclass(frozen=True)
class ReplyContexts:
    """User turns to reply to."""

    turns: tuple[UserTurn, ...]
    conversations: NDArray[np.int64]
    """Number of each turn's conversation."""

    def at(self, level: DifficultyConfig) -> ReplyContexts:
        """Return the same turns with the adversarial paths of `level`, if it has any."""
        turns = [replace(turn, state=_with_path(level, turn.state)) for turn in self.turns]
        return replace(self, turns=tuple(turns))


def _with_path(level: DifficultyConfig, state: State) -> State:
    path = path_of(state.key, level)
    return state if path is None else replace(state, user=replace(state.user, path=path))


def collect_contexts(medium: DifficultyConfig, reader: Reader = LEXICAL) -> ReplyContexts:
    """Return all turns but the last of CONVERSATIONS conversations at `medium`, over SKILLS."""
    users_per_skill = CONVERSATIONS // len(SKILLS)
    conversations = [
        turns
        for number, skill in enumerate(SKILLS)
        for users in [range(number * users_per_skill, (number + 1) * users_per_skill)]
        for turns in converse_with(users, medium, skilled(skill), reader).turns
    ]
    pairs = [(turn, number) for number, turns in enumerate(conversations) for turn in turns[:-1]]
    return ReplyContexts(
        tuple(turn for turn, _ in pairs), np.array([number for _, number in pairs])
    )


def users_of(reply: FreeReply, level: DifficultyConfig) -> Sequence[State]:
    """Return users of `level` for a free-wording reply, one per intention and temperament."""
    turn = len(reply.disclosed.told) - 1
    users = [
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
    return [_with_path(level, user) for user in users]


def reply_in_rotation(replies: Sequence[FixedReply], number: int) -> FixedReply:
    """Return the reply for context `number`; contexts in turn use all replies equally often."""
    return replies[number % len(replies)]
