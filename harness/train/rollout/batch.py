"""Which conversations a step holds, and what they earn: the same for every rung of policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.config.run import DifficultyConfig, RunConfig
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply, UserSimulator, UserTurn
from harness.simulator.scripted.asking import Answers, ask
from harness.simulator.served.cast import who
from harness.train.algorithms.advantages import (
    FloatArray,
    group_relative,
    group_relative_by_turn,
    group_stds,
    permuted_within_groups,
)
from harness.train.algorithms.losses import BoolArray
from harness.train.rollout.conversation import (
    MAX_TURNS,
    Conversation,
    InWaves,
    Successor,
    hold,
    take_over,
)
from harness.train.rollout.curriculum import Course, lessons
from harness.train.rollout.rewards import Earned, earned

SPEECH, PERMUTATION, REMEDY = 1, 2, 3
"""Streams of random numbers within a step; each is keyed by seed and step and outlives neither."""


def groups_of(config: RunConfig) -> range:
    """Numbers of a batch's groups."""
    return range(config.trainer.conversations // config.algorithm.group_size)


def keys_of(
    config: RunConfig, step: int, groups: Sequence[int] | None = None
) -> list[ConversationKey]:
    """The conversations of step `step`, group by group."""
    numbers, samples = groups or groups_of(config), range(config.algorithm.group_size)
    return [ConversationKey(config.seed, step, g, sample) for g in numbers for sample in samples]


def converse(
    course: Course,
    speaker: Successor | InWaves[Successor],
    step: int,
    groups: Sequence[int] | None = None,
) -> list[Conversation]:
    """The conversations of step `step`, each group at the level that its lesson has.

    `groups`: all of the batch's, or others in their places: g + n * (groups of a batch) for g.
    """
    config, keys = course.config, keys_of(course.config, step, groups)
    given = lessons(course, step)
    mine = [given[key.group % len(given)] for key in keys]
    starts = [lesson.start for lesson in mine if lesson.start is not None]
    users = _users(config, [lesson.level for lesson in mine])
    held = take_over(users, speaker, keys, starts) if starts else hold(users, speaker, keys)
    return [_named(c, lesson.level, config) for c, lesson in zip(held, mine, strict=True)]


def _users(config: RunConfig, levels: Sequence[DifficultyConfig]) -> UserSimulator:
    """The users of each conversation's level."""
    distinct = list({repr(level): level for level in levels}.values())
    simulators = [make(config.simulator, level) for level in distinct]
    if len(distinct) == 1:
        return simulators[0]
    return SideBySide(simulators, [distinct.index(level) for level in levels])


def _named(held: Conversation, level: DifficultyConfig, config: RunConfig) -> Conversation:
    """With what is known of its user for the record."""
    user = who(held.start.key if held.start else held.key, level, config.simulator)
    return replace(held, level=level.name, temperament=user.temperament)


def stream_of(config: RunConfig, time: int, wave: int) -> int:
    """What tells the draws of a wave from those of others, groups being held for the n-th time."""
    return time * waves(config) + wave


def waves(config: RunConfig) -> int:
    """How many speakers share a batch: users who take their time are talked with in turn."""
    return min(2, config.trainer.conversations) if config.simulator.kind == "served" else 1


def draws_of(config: RunConfig, step: int, stream: int, wave: int = 0) -> np.random.Generator:
    """A generator that depends on seed, step, purpose and wave alone."""
    return np.random.default_rng([config.seed, step, stream, *([wave] if wave else [])])


def denominator(config: RunConfig, tokens: int) -> float:
    """What the summed loss of a batch of so many tokens is divided by; those of conversations that
    failed are not among them.

    Their number (arXiv 2503.14476, section 3.3), or the most that the batch could have held: a
    constant, so that a long reply's tokens weigh no less (arXiv 2503.20783, section 3.2).
    """
    if config.algorithm.denominator == "tokens":
        return tokens
    turn = 1 if config.policy.kind == "tabular" else config.policy.max_turn_tokens
    return config.trainer.conversations * config.difficulty.turn_cap * turn


def advantages_of(earned: Earned, config: RunConfig, step: int) -> FloatArray:
    """Group-relative advantages, shape (conversations, MAX_TURNS), one for each reply.

    What a conversation earned as a whole holds for all its replies. Both kinds are normalised
    before they are mixed, as rewards of unlike spread should be (arXiv 2601.05242), so that a mix
    of 0 is `terminal` and a mix of 1 is `turns`. For a null control whole conversations change
    places within their group.
    """
    algorithm = config.algorithm
    size, floor, over = algorithm.group_size, algorithm.std_floor, algorithm.std_over
    shared = group_relative(earned.whole, size, floor, over)
    advantages = np.repeat(shared[:, None], MAX_TURNS, axis=1)
    if earned.turns is not None:
        alone = group_relative_by_turn(earned.turns, size, floor, over)
        advantages = (1 - earned.mix) * advantages + earned.mix * alone
    if not algorithm.null_control:
        return advantages
    known, draws = np.isfinite(earned.rewards), draws_of(config, step, PERMUTATION)
    return permuted_within_groups(advantages, known, size, draws)


Hold = Callable[[int, Sequence[int]], list[Conversation]]
"""Holds the groups of these numbers, for the n-th time within a step, n from 0."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A batch, and where its conversations come from."""

    held: list[Conversation]
    source: list[tuple[int, int]]
    """Of each conversation: which time of holding, and its number in it."""
    groups: int
    """Held in all."""

    @property
    def put_in(self) -> BoolArray:
        """The conversations that stand in for others, shape (conversations,)."""
        return np.array([time > 0 for time, _ in self.source])


def fill(hold: Hold, config: RunConfig, most_tries: int) -> Filled:
    """Hold a step's groups; up to `most_tries` times in all while some have equal rewards.

    Who stands in for group g at the n-th try is group g + n * (groups of a batch). What has no
    variance in the last of the tries stays, and has advantage 0.
    """
    size = config.algorithm.group_size
    count = config.trainer.conversations // size
    held = hold(0, range(count))
    source, drawn = [(0, n) for n in range(len(held))], count
    for time in range(1, most_tries):
        spread = group_stds(earned(held, config.reward).rewards, size)
        silent = [group for group in range(count) if not spread[group] > 0]
        if not silent:
            break
        new = hold(time, [time * count + group for group in silent])
        drawn += len(silent)
        for n, group in enumerate(silent):
            for sample in range(size):
                held[group * size + sample] = new[n * size + sample]
                source[group * size + sample] = (time, n * size + sample)
    return Filled(held, source, drawn)


class SideBySide:
    """Conversation i belongs to simulator `owners[i]`; each turn's state remembers whose it is."""

    def __init__(self, simulators: Sequence[UserSimulator], owners: Sequence[int]) -> None:
        self._simulators, self._owners = simulators, owners

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """One opening for each of `owners`."""
        turns: list[UserTurn | None] = [None] * len(keys)
        for number, simulator in enumerate(self._simulators):
            mine = [i for i, owner in enumerate(self._owners) if owner == number]
            for i, turn in zip(mine, simulator.open([keys[i] for i in mine]), strict=True):
                turns[i] = _marked(number, turn)
        return [turn for turn in turns if turn is not None]

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """Each reply answered by the simulator that its conversation belongs to."""
        return self.ask(turns, replies)()

    def ask(self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]) -> Answers:
        """The same, to be waited for: the users of all simulators think at once."""
        asked: list[tuple[list[int], Answers]] = []
        for number, simulator in enumerate(self._simulators):
            mine = [i for i, turn in enumerate(turns) if turn.state[0] == number]
            plain = [turns[i].with_state(turns[i].state[1]) for i in mine]
            asked.append((mine, ask(simulator, plain, [replies[i] for i in mine])))

        def wait() -> list[UserTurn]:
            answers: list[UserTurn] = list(turns)
            for number, (mine, given) in enumerate(asked):
                for i, turn in zip(mine, given(), strict=True):
                    answers[i] = _marked(number, turn)
            return answers

        return wait


def _marked(number: int, turn: UserTurn) -> UserTurn:
    return turn.with_state((number, turn.state))
