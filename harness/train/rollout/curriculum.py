"""The curriculum: each group's level at each step, and the state its conversations start from.

Everything follows from seed, step and group, except the current difficulty of `adaptive`, which
checkpoints save.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.config.curriculum import CLIMBS, CurriculumConfig, level_ladder
from harness.config.run import LEVELS, DifficultyConfig, RunConfig
from harness.records import atomic
from harness.simulator.draws import pick, uniforms
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.simulator.reference import attentive
from harness.train.rollout.conversation import Conversation, StartState, rollout

FILE = "curriculum.json"
HARDEST = 100.0
"""The difficulty index runs from 0 (easy) over 50 (medium) to 100 (hard)."""
LIBRARY_SIZE = 128
"""Number of conversations of the attentive reference with training users before the first step."""
FEWEST = 16
"""Smallest library; if fewer conversations succeed, those with the highest emotion are added."""


@dataclass(frozen=True, slots=True)
class CurriculumState:
    """A run's position in its curriculum."""

    config: RunConfig
    ladder: tuple[DifficultyConfig, ...]
    """easy, medium and hard as configured in this run; empty if it trains at a single level."""
    starts: tuple[StartState, ...]
    """Successful conversations to start from; `reverse` only."""
    difficulty: float = 0.0
    """0-100; `adaptive` only."""


@dataclass(frozen=True, slots=True)
class GroupTask:
    """The level of one group, and the state it starts from."""

    level: DifficultyConfig
    start: StartState | None = None
    """None: a user of the step, from the opening."""


def begin(config: RunConfig, checkpoint: Path | None) -> CurriculumState:
    """Return the state at the start of a run, or as saved in `checkpoint`."""
    kind = config.curriculum.kind
    ladder = level_ladder(config.difficulty, config.levels) if kind in CLIMBS else ()
    state = CurriculumState(config, ladder, start_library(config) if kind == "reverse" else ())
    if checkpoint is None or kind != "adaptive":
        return state
    saved = json.loads((checkpoint / FILE).read_text(encoding="utf-8"))
    return replace(state, difficulty=float(saved["difficulty"]))


def save(state: CurriculumState, folder: Path) -> None:
    """Write to `folder` the state that `begin` cannot compute again, if any."""
    if state.config.curriculum.kind == "adaptive":
        text = json.dumps({"difficulty": state.difficulty})
        atomic.write_text(folder / FILE, text, durable=False)  # the checkpoint syncs it


def group_tasks(
    state: CurriculumState, step: int, groups: Sequence[int] | None = None
) -> list[GroupTask]:
    """Return the tasks of numbered groups of step `step`; `groups`: all of the batch if None.

    Number g + n * (groups of a batch) is the n-th redraw of group g: at its level, but with another
    user, so from another start state.
    """
    config = state.config
    count = config.trainer.conversations // config.algorithm.group_size
    numbers = range(count) if groups is None else groups
    if state.starts:
        return [_reverse_task(state, step, number) for number in numbers]
    if not state.ladder:
        return [GroupTask(config.difficulty) for _ in numbers]
    return [GroupTask(state.ladder[_rung(state, step, number % count)]) for number in numbers]


def advance(state: CurriculumState, conversations: Sequence[Conversation]) -> CurriculumState:
    """Return the state after a step: AdaRFT's update of the target difficulty (arXiv 2504.05520).

    T <- clip(T + rate tanh(sensitivity (R - target)), 0, 100), where R is the mean reported final
    emotion / 100, whatever the reward mode. T stays if no conversation has a reward.
    """
    rewards = np.array([c.reward for c in conversations])
    finite = rewards[np.isfinite(rewards)]
    settings = state.config.curriculum
    if settings.kind != "adaptive" or not len(finite):
        return state
    move = settings.rate * math.tanh(
        settings.sensitivity * (float(finite.mean()) - settings.target)
    )
    return replace(state, difficulty=min(HARDEST, max(0.0, state.difficulty + move)))


def metrics(
    state: CurriculumState, conversations: Sequence[Conversation]
) -> dict[str, float | None]:
    """Return the curriculum's columns of a step's row; `state`: before the step."""
    kind = state.config.curriculum.kind
    shares = {
        f"curriculum/level_share/{name}": float(np.mean([c.level == name for c in conversations]))
        for name in LEVELS
    }
    replies_before = (
        float(np.mean([len(c.before) for c in conversations])) if kind == "reverse" else None
    )
    return {
        **shares,
        "curriculum/difficulty": state.difficulty if kind == "adaptive" else None,
        "curriculum/replies_before": replies_before,
    }


def _rung(state: CurriculumState, step: int, group: int) -> int:
    """Return the index of a group's level in the ladder."""
    settings, seed = state.config.curriculum, state.config.seed
    u = uniforms("level", seed, step, group)[0]
    if settings.kind == "staged":
        medium, hard = stages(settings, state.config.trainer.steps)
        return (step >= medium) + (step >= hard)
    if settings.kind == "adaptive":
        # draw one of the two neighbouring levels such that the expected level is the difficulty
        below, share = divmod(state.difficulty / HARDEST * (len(LEVELS) - 1), 1)
        return int(below) + (u < share)
    weights = (settings.weight_easy, settings.weight_medium, settings.weight_hard)
    return sum(u * sum(weights) >= edge for edge in np.cumsum(weights)[:-1].tolist())


def stages(settings: CurriculumConfig, steps: int) -> tuple[int, int]:
    """Return the first steps at medium and at hard, which by default divide the run into thirds.

    If only one is configured, the other halves the part of the run before or after it.
    """
    medium = settings.medium_from or ((settings.hard_from or 2 * steps // 3 + 1) + 1) // 2
    hard = settings.hard_from or medium + max(0, steps + 1 - medium) // 2
    return medium, hard


def _reverse_task(state: CurriculumState, step: int, group: int) -> GroupTask:
    """Return a start state for R3 (arXiv 2402.05808), which moves over the run from late states of
    successful conversations back to the opening.
    """
    settings, config = state.config.curriculum, state.config
    whole_from = settings.whole_from
    if whole_from is None:
        whole_from = 2 * config.trainer.steps // 3 + 1
    if step >= whole_from:
        return GroupTask(config.difficulty)
    share = settings.start_share * (whole_from - step) / max(whole_from - 1, 1)
    start = pick(state.starts, uniforms("start", config.seed, step, group)[0])
    return GroupTask(config.difficulty, start.until(int(share * len(start.exchanges))))


class AttentiveSpeaker:
    """The attentive reference as a speaker; random numbers are keyed by conversation and turn."""

    def __init__(self, keys: Sequence[ConversationKey]) -> None:
        self._keys = keys

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        self._heard: list[list[str]] = [[] for _ in range(count)]
        self._replies: list[list[str]] = [[] for _ in range(count)]

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """Return the reference's reply in each conversation of `live`."""
        replies = []
        for i, text in zip(live, heard, strict=True):
            self._heard[i].append(text)
            key = self._keys[i]
            u = uniforms("reference", key.seed, key.step, key.group, len(self._replies[i]))
            self._replies[i].append(attentive(self._heard[i], self._replies[i], u))
            replies.append(SupporterReply(self._replies[i][-1]))
        return replies


def start_library(config: RunConfig) -> tuple[StartState, ...]:
    """Return the successes among LIBRARY_SIZE conversations at the run's level, or the FEWEST best.

    The result is never empty. It depends only on seed and level, so a resumed run has the same.
    """
    keys = [ConversationKey(config.seed, 0, group, 0) for group in range(LIBRARY_SIZE)]
    all_conversations = rollout(
        make(config.simulator, config.difficulty), AttentiveSpeaker(keys), keys
    )
    conversations = [c for c in all_conversations if c.last.ended != "failed"] or all_conversations
    best = sorted(
        conversations, key=lambda c: (c.last.ended != "success", -c.last.emotion, c.key.group)
    )
    succeeded = sum(c.last.ended == "success" for c in conversations)
    return tuple(StartState(c.key, c.opening, c.exchanges) for c in best[: max(succeeded, FEWEST)])
