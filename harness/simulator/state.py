"""The user of a conversation, their memory of it, and the rules that all simulators share.

The rules: who comes, how a change is reported, when a conversation ends, and with which emotion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from harness.config.run import DifficultyConfig
from harness.simulator.draws import joined, normal, pick, uniforms, uniforms_of_all
from harness.simulator.personas import EVERYONE, PERSONAS, Persona
from harness.simulator.protocol import ConversationKey
from harness.utils.record import changed, record

_INDEX = {persona.name: index for index, persona in enumerate(EVERYONE)}


@record
class User:
    """The user of a group."""

    persona_index: int
    """Index into EVERYONE."""
    intention: str
    temperament: str
    path: str | None = None
    """The adversarial one that they follow, of difficulty.paths; None where the level has none."""

    @property
    def persona(self) -> Persona:
        """Name, matter, facts, feelings and voice."""
        return EVERYONE[self.persona_index]


@record
class Disclosed:
    """The parts of their matter that the user has told."""

    told: tuple[int, ...] = ()
    """Sentences told, in order: indices into Persona.tellable, whose first are the facts."""
    feelings: frozenset[str] = frozenset()
    fresh: bool = False
    """The last turn told a new sentence."""
    needs: tuple[str, ...] = ()
    """The lines that have borne on what they came for, in order."""
    lines: frozenset[str] = frozenset()
    """The other lines said, as in their files: none is said twice where others are left."""


@record
class State:
    """A scripted user's memory of one conversation; travels in UserTurn.state, never changes."""

    key: ConversationKey
    user: User
    emotion: int
    """0-100."""
    reported: float
    """Start plus reported changes, before clipping."""
    disclosed: Disclosed
    turn: int = 0
    """Replies so far."""
    trust: int = 0
    """0 to dynamics.MAX_TRUST."""
    suspicion: float = 0.0
    """Nats of evidence that the supporter means ill, below 0 well: dynamics.next_suspicion."""
    momentum: int = 0
    """1 after a reply that helped, -1 after one that did not, 0 at the opening."""
    past_strategies: tuple[frozenset[str], ...] = ()
    """Strategies of each reply so far."""
    sentences: tuple[str, ...] = ()
    """Sentences the policy has said, in plain words, in order."""
    asking: tuple[str, ...] = ()
    """How far each reply so far asked: questions.asking."""

    def with_disclosed(self, disclosed: Disclosed) -> State:
        """Return the same state with another `disclosed`."""
        return changed(self, "disclosed", disclosed)


def draw_user(key: ConversationKey, difficulty: DifficultyConfig) -> tuple[User, tuple[float, ...]]:
    """Return the user whom the keys of one group share, and the uniform draws for the opening."""
    u = _group_draws(key.seed, key.split, key.step, key.group)
    user = User(
        _INDEX[pick(PERSONAS[key.split], u[0]).name],
        pick(tuple(difficulty.intentions), u[1]),
        pick(tuple(difficulty.temperaments), u[2]),
        path_of(key, difficulty),
    )
    return user, u[3:]


def path_of(key: ConversationKey, difficulty: DifficultyConfig) -> str | None:
    """Return the adversarial path that the user of `key` follows at a level, None without paths.

    By a draw of its own, so that the users of a level with paths are those of one without.
    """
    if not difficulty.paths:
        return None
    u = uniforms("path", key.seed, key.split, key.step, key.group)
    return pick(tuple(difficulty.paths), u[0])


@lru_cache(maxsize=1024)
def _group_draws(seed: int, split: str, step: int, group: int) -> tuple[float, ...]:
    """Cached: each conversation of a group asks for them, and once more when it is recorded."""
    return uniforms("user", seed, split, step, group)


def wording_draws(key: ConversationKey, turn: int) -> tuple[float, ...]:
    """Return the uniform draws that choose the words of one turn; they move nothing else."""
    return uniforms("words", *_place(key, turn))


def turn_draws(key: ConversationKey, turn: int) -> tuple[float, ...]:
    """Return the uniform draws of one turn of a conversation."""
    return uniforms(*_place(key, turn))


def draws_of_turns(
    turns: Sequence[tuple[ConversationKey, int]],
) -> Iterator[tuple[list[float], list[float]]]:
    """Yield `turn_draws` and `wording_draws` of the turns of several conversations."""
    places = [joined(*_place(key, turn)) for key, turn in turns]
    worded = [joined("words", place) for place in places]
    return zip(uniforms_of_all(places), uniforms_of_all(worded), strict=True)


def _place(key: ConversationKey, turn: int) -> tuple[int | str, ...]:
    return key.seed, key.split, key.step, key.group, key.sample, turn


def reported_change(change: int, difficulty: DifficultyConfig, u: Sequence[float]) -> float:
    """Return the change as the trainer gets it; the user's own emotion is not affected.

    `u`: the turn's draws, of which it takes numbers 2, 3 and 15.
    """
    reported: float = -change if u[2] < difficulty.reward_flips else change
    if difficulty.reward_noise:
        reported += difficulty.reward_noise * normal(u[3], u[15])
    return reported


def ending(emotion: int, turn: int, difficulty: DifficultyConfig) -> str | None:
    """Return how the conversation ends after reply number `turn`; None if it goes on."""
    if emotion >= 100:
        return "success"
    if emotion < difficulty.stop_below:
        return "left"
    return "cap" if turn >= difficulty.turn_cap else None


def shown_emotions(emotion: int, reported: float, ended: str | None) -> tuple[int, float]:
    """Return the emotion and the reported one, 0-100. Who leaves ends at 0 in both."""
    return (0, 0.0) if ended == "left" else (emotion, min(100.0, max(0.0, reported)))
