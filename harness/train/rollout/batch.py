"""A step's batch of conversations for every kind of policy: its users, rollout and redraws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.config.run import DifficultyConfig, RunConfig
from harness.simulator.factory import make, temperament_of
from harness.simulator.protocol import (
    ConversationKey,
    IndexedState,
    SupporterReply,
    UserSimulator,
    UserTurn,
    ask,
)
from harness.train.policy_gradient.advantages import group_stds
from harness.train.policy_gradient.losses import BoolArray
from harness.train.rollout.conversation import (
    ContinuingSpeaker,
    Conversation,
    WaveSpeakers,
    rollout,
    take_over,
)
from harness.train.rollout.curriculum import CurriculumState, GroupTask, group_tasks
from harness.train.rollout.rewards import compute_rewards
from harness.utils.pending import Pending, gather, then

ROLLOUT_STREAM, PERMUTATION_STREAM, REMEDY_STREAM, REFINEMENT_STREAM = 1, 2, 3, 4
"""Random streams within a step. Each is keyed by seed and step, so no step depends on another's."""


def groups_of(config: RunConfig) -> range:
    """Return the numbers of a batch's groups."""
    return range(config.trainer.conversations // config.algorithm.group_size)


def keys_of(
    config: RunConfig, step: int, groups: Sequence[int] | None = None
) -> list[ConversationKey]:
    """Return the keys of step `step`'s conversations, group by group; `groups`: all if None."""
    numbers = groups_of(config) if groups is None else groups
    samples = range(config.algorithm.group_size)
    return [ConversationKey(config.seed, step, g, sample) for g in numbers for sample in samples]


WAVES = 2
"""Waves of served users for an engine that draws for one wave at a time; more and smaller waves
draw slower."""


def waves(config: RunConfig, count: int, together: bool) -> int:
    """Return the number of waves that `count` conversations are divided into.

    `together`: whether the engine draws for all waves at once. By default each conversation is then
    a wave of its own. Otherwise several waves only help if users take time to answer.
    """
    default = WAVES if config.simulator.kind == "served" else 1
    return min(config.trainer.waves or (count if together else default), count)


def streams(config: RunConfig) -> int:
    """Return the number of random streams of a batch, each for a range of its conversations.

    It is two with served users, whatever the number of waves.
    """
    return min(2, config.trainer.conversations) if config.simulator.kind == "served" else 1


def stream_of(config: RunConfig, attempt: int, part: int) -> int:
    """Return the number of the random stream of range `part` in draw `attempt`, both from 0."""
    return attempt * streams(config) + part


def rng_of(config: RunConfig, step: int, stream: int, wave: int = 0) -> np.random.Generator:
    """Return a generator that depends only on seed, step, stream and wave."""
    return np.random.default_rng([config.seed, step, stream, *([wave] if wave else [])])


def rollout_groups(
    state: CurriculumState,
    speaker: ContinuingSpeaker | WaveSpeakers[ContinuingSpeaker],
    step: int,
    groups: Sequence[int] | None = None,
    temperament: str | None = None,
) -> list[Conversation]:
    """Draw the conversations of step `step`, each group at its level in the curriculum.

    `groups`: numbers of the groups to draw; None for all of the batch. Number
    g + n * (groups of a batch) is the n-th redraw of group g. `temperament`: the temperament of all
    users; None for the temperaments of the levels.
    """
    config, keys = state.config, keys_of(state.config, step, groups)
    by_group = [_with_temperament(task, temperament) for task in group_tasks(state, step, groups)]
    tasks = [task for task in by_group for _ in range(config.algorithm.group_size)]
    starts = [task.start for task in tasks if task.start is not None]
    users = _users(config, [task.level for task in tasks])
    if starts:
        conversations = take_over(users, speaker, keys, starts)
    else:
        conversations = rollout(users, speaker, keys)
    return [_label(c, task.level, config) for c, task in zip(conversations, tasks, strict=True)]


def _with_temperament(task: GroupTask, temperament: str | None) -> GroupTask:
    if temperament is None:
        return task
    return replace(task, level=replace(task.level, temperaments=[temperament]))


def _users(config: RunConfig, levels: Sequence[DifficultyConfig]) -> UserSimulator:
    """Return a simulator whose n-th conversation is at the n-th of `levels`."""
    objects = {id(level): level for level in levels}.values()
    distinct = list({repr(level): level for level in objects}.values())
    simulators = [make(config.simulator, level) for level in distinct]
    if len(distinct) == 1:
        return simulators[0]
    return MixedSimulator(simulators, [distinct.index(level) for level in levels])


def _label(conversation: Conversation, level: DifficultyConfig, config: RunConfig) -> Conversation:
    """Return the conversation with its level and its user's temperament recorded."""
    start = conversation.start
    key = start.key if start else conversation.key
    temperament = temperament_of(key, level, config.simulator)
    return replace(conversation, level=level.name, temperament=temperament)


RolloutOnce = Callable[[int, Sequence[int]], list[Conversation]]
"""Draws the conversations of numbered groups; its first argument counts a step's draws, from 0."""


@dataclass(frozen=True, slots=True)
class FilledBatch:
    """A batch after its redraws, and the origin of its conversations."""

    conversations: list[Conversation]
    source: list[tuple[int, int]]
    """For each conversation, the draw it comes from and its number in that draw."""
    groups_drawn: int
    """Number of groups drawn in total."""

    @property
    def redrawn(self) -> BoolArray:
        """The mask of conversations from a redraw, shape (conversations,)."""
        return np.array([attempt > 0 for attempt, _ in self.source])


def fill(rollout_once: RolloutOnce, config: RunConfig, most_tries: int) -> FilledBatch:
    """Draw a step's groups; redraw those with equal rewards (arXiv 2503.14476, section 3.2).

    A group g is drawn up to `most_tries` times in total, in draw n (from 0) as group
    g + n * (groups of a batch). A group without variance in its last draw stays, with advantage 0.
    """
    size = config.algorithm.group_size
    count = config.trainer.conversations // size
    conversations = rollout_once(0, range(count))
    source, groups_drawn = [(0, n) for n in range(len(conversations))], count
    for attempt in range(1, most_tries):
        stds = group_stds(compute_rewards(conversations, config.reward).total, size)
        equal = [group for group in range(count) if not stds[group] > 0]
        if not equal:
            break
        redrawn = rollout_once(attempt, [attempt * count + group for group in equal])
        groups_drawn += len(equal)
        for n, group in enumerate(equal):
            for sample in range(size):
                conversations[group * size + sample] = redrawn[n * size + sample]
                source[group * size + sample] = (attempt, n * size + sample)
    return FilledBatch(conversations, source, groups_drawn)


class MixedSimulator:
    """Several simulators as one, so that conversations at different levels share a batch.

    Conversation i belongs to simulator `owners[i]`, which the state of each turn records.
    """

    def __init__(self, simulators: Sequence[UserSimulator], owners: Sequence[int]) -> None:
        self._simulators, self._owners = simulators, owners

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """Return one opening for each of `owners`."""
        turns: list[UserTurn | None] = [None] * len(keys)
        for number, simulator in enumerate(self._simulators):
            indices = [i for i, owner in enumerate(self._owners) if owner == number]
            for i, turn in zip(indices, simulator.open([keys[i] for i in indices]), strict=True):
                turns[i] = _with_owner(number, turn)
        return [turn for turn in turns if turn is not None]

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """Return the answer to each reply, from the simulator that its conversation belongs to."""
        return self.ask(turns, replies)()

    def ask(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> Pending[list[UserTurn]]:
        """Return the answers as `answer` does, to be waited for; all simulators answer at once."""
        indices_by_simulator: list[list[int]] = []
        pending: list[Pending[list[UserTurn]]] = []
        for number, simulator in enumerate(self._simulators):
            indices = [i for i, turn in enumerate(turns) if turn.state.simulator == number]
            plain = [turns[i].with_state(turns[i].state.state) for i in indices]
            indices_by_simulator.append(indices)
            pending.append(ask(simulator, plain, [replies[i] for i in indices]))

        def join(answers_by_simulator: list[list[UserTurn]]) -> list[UserTurn]:
            answers = list(turns)
            for number, (indices, simulator_answers) in enumerate(
                zip(indices_by_simulator, answers_by_simulator, strict=True)
            ):
                for i, turn in zip(indices, simulator_answers, strict=True):
                    answers[i] = _with_owner(number, turn)
            return answers

        return then(gather(pending), join)


def _with_owner(number: int, turn: UserTurn) -> UserTurn:
    return turn.with_state(IndexedState(number, turn.state))
