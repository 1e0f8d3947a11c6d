"""The user of a conversation, the scripted user's memory, and the rules that simulators share.

The rules say how the user is drawn, how a change of emotion is reported, when a conversation ends,
and with which emotion.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from harness.config.run import DifficultyConfig
from harness.simulator.draws import joined, normal, pick, uniforms, uniforms_of_all
from harness.simulator.personas import EVERYONE, PERSONAS, Persona
from harness.simulator.protocol import ConversationKey
from harness.utils.record import record, replace_field

_INDEX = {persona.name: index for index, persona in enumerate(EVERYONE)}


@record
class User:
    """The user of a group."""

    persona_index: int
    """Index into EVERYONE."""
    intention: str
    temperament: str
    path: str | None = None
    """The adversarial path that the user follows, one of difficulty.paths; None without paths."""

    @property
    def persona(self) -> Persona:
        """The user's persona: name, topic, facts, feelings and voice."""
        return EVERYONE[self.persona_index]


@record
class Disclosures:
    """What the user has disclosed so far."""

    told: tuple[int, ...] = ()
    """Sentences told, in order, as indices into Persona.tellable, which begins with the facts."""
    feelings: frozenset[str] = frozenset()
    fresh: bool = False
    """True if the last turn told a new sentence."""
    needs: tuple[str, ...] = ()
    """Lines said about the user's intention, in order."""
    lines: frozenset[str] = frozenset()
    """Other lines said, as worded in the data files; none is repeated while unused ones remain."""


@record
class State:
    """A scripted user's memory of one conversation: the immutable value of UserTurn.state."""

    key: ConversationKey
    user: User
    emotion: int
    """0-100."""
    reported: float
    """Initial emotion plus the reported changes, before clipping to 0-100."""
    disclosed: Disclosures
    turn: int = 0
    """Number of replies so far."""
    trust: int = 0
    """0 to dynamics.MAX_TRUST."""
    suspicion: float = 0.0
    """Evidence in nats that the supporter means ill; below 0, that they mean well. See
    `dynamics.next_suspicion`.
    """
    momentum: int = 0
    """1 after a reply that helped, -1 after a reply that did not, 0 at the opening."""
    past_strategies: tuple[frozenset[str], ...] = ()
    """Strategies of each reply so far."""
    sentences: tuple[str, ...] = ()
    """Sentences the policy has said, in plain words, in order."""
    asking: tuple[str, ...] = ()
    """How far each reply so far asked a question; see `questions.asking`."""

    def with_disclosed(self, disclosed: Disclosures) -> State:
        """Return the same state with another `disclosed`."""
        return replace_field(self, "disclosed", disclosed)


def draw_user(key: ConversationKey, difficulty: DifficultyConfig) -> tuple[User, tuple[float, ...]]:
    """Return the user that all keys of one group share, and the uniform draws for the opening."""
    u = _group_draws(key.seed, key.split, key.step, key.group)
    user = User(
        _INDEX[pick(PERSONAS[key.split], u[0]).name],
        pick(tuple(difficulty.intentions), u[1]),
        pick(tuple(difficulty.temperaments), u[2]),
        path_of(key, difficulty),
    )
    return user, u[3:]


def path_of(key: ConversationKey, difficulty: DifficultyConfig) -> str | None:
    """Return the adversarial path that the user of `key` follows; None if the level has no paths.

    The path has a draw of its own, so a level draws the same users with and without paths.
    """
    if not difficulty.paths:
        return None
    u = uniforms("path", key.seed, key.split, key.step, key.group)
    return pick(tuple(difficulty.paths), u[0])


@lru_cache(maxsize=1024)
def _group_draws(seed: int, split: str, step: int, group: int) -> tuple[float, ...]:
    """Cached because each conversation of a group asks for the draws, also when it is recorded."""
    return uniforms("user", seed, split, step, group)


def wording_draws(key: ConversationKey, turn: int) -> tuple[float, ...]:
    """Return the uniform draws that choose the wording of one turn and affect nothing else."""
    return uniforms("words", *_turn_key(key, turn))


def turn_draws(key: ConversationKey, turn: int) -> tuple[float, ...]:
    """Return the uniform draws of one turn of a conversation."""
    return uniforms(*_turn_key(key, turn))


def draws_of_turns(
    turns: Sequence[tuple[ConversationKey, int]],
) -> Iterator[tuple[list[float], list[float]]]:
    """Yield (`turn_draws`, `wording_draws`) for each turn of several conversations."""
    turn_keys = [joined(*_turn_key(key, turn)) for key, turn in turns]
    wording_keys = [joined("words", turn_key) for turn_key in turn_keys]
    return zip(uniforms_of_all(turn_keys), uniforms_of_all(wording_keys), strict=True)


def _turn_key(key: ConversationKey, turn: int) -> tuple[int | str, ...]:
    return key.seed, key.split, key.step, key.group, key.sample, turn


def reported_change(change: int, difficulty: DifficultyConfig, u: Sequence[float]) -> float:
    """Return the change that the trainer receives; the user's own emotion is not affected.

    Of the turn's draws `u`, indices 2, 3 and 15 are used.
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
    """Return the emotion and the reported emotion, both 0-100, and both 0 if the user left."""
    return (0, 0.0) if ended == "left" else (emotion, min(100.0, max(0.0, reported)))
