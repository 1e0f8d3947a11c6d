"""Which level each group of a step meets, and where its conversations start.

All of it follows from seed, step and group, but for one number: the difficulty that `adaptive` has
come to, which is kept in the checkpoints.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.config.run import LEVELS, DifficultyConfig, RunConfig
from harness.config.teaching import CLIMBS, CurriculumConfig, level_ladder
from harness.records import atomic
from harness.simulator.draws import pick, uniforms
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.simulator.reference import attentive
from harness.train.rollout.conversation import Conversation, Start, hold

FILE = "curriculum.json"
HARDEST = 100.0
"""The difficulty index runs from 0, easy, over 50, medium, to 100, hard."""


@dataclass(frozen=True, slots=True)
class Course:
    """Where a run stands in its curriculum."""

    config: RunConfig
    ladder: tuple[DifficultyConfig, ...]
    """easy, medium, hard, as this run meets them; empty where the run's own level is all."""
    starts: tuple[Start, ...]
    """Conversations that went well, to take over; of `reverse` only."""
    difficulty: float = 0.0
    """0-100, of `adaptive` only."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one group meets."""

    level: DifficultyConfig
    start: Start | None = None
    """None: a user of the step's own, from the opening."""


def begin(config: RunConfig, checkpoint: Path | None) -> Course:
    """The course at the start of a run, or as it stood when `checkpoint` was written."""
    kind = config.curriculum.kind
    ladder = level_ladder(config.difficulty, config.levels) if kind in CLIMBS else ()
    course = Course(config, ladder, library(config) if kind == "reverse" else ())
    if checkpoint is None or kind != "adaptive":
        return course
    kept = json.loads((checkpoint / FILE).read_text(encoding="utf-8"))
    return replace(course, difficulty=float(kept["difficulty"]))


def save(course: Course, folder: Path) -> None:
    """What `begin` needs of a checkpoint; nothing where all can be computed again."""
    if course.config.curriculum.kind == "adaptive":
        text = json.dumps({"difficulty": course.difficulty})
        atomic.write_text(folder / FILE, text, durable=False)  # which the checkpoint sees to


def lessons(course: Course, step: int) -> list[Lesson]:
    """One for each group of step `step`."""
    config = course.config
    groups = range(config.trainer.conversations // config.algorithm.group_size)
    if course.starts:
        return [_reverse(course, step, group) for group in groups]
    if not course.ladder:
        return [Lesson(config.difficulty) for _ in groups]
    return [Lesson(course.ladder[_rung(course, step, group)]) for group in groups]


def advanced(course: Course, held: Sequence[Conversation]) -> Course:
    """The course after a step: AdaRFT's update of the target difficulty (arXiv 2504.05520).

    T <- clip(T + rate tanh(sensitivity (R - target)), 0, 100), R the mean final emotion as
    reported / 100, whatever the reward in use. Unmoved where no conversation has a reward.
    """
    rewards = np.array([c.reward for c in held])
    known = rewards[np.isfinite(rewards)]
    given = course.config.curriculum
    if given.kind != "adaptive" or not len(known):
        return course
    move = given.rate * math.tanh(given.sensitivity * (float(known.mean()) - given.target))
    return replace(course, difficulty=min(HARDEST, max(0.0, course.difficulty + move)))


def metrics(course: Course, held: Sequence[Conversation]) -> dict[str, float | None]:
    """What the conversations of a step were of the curriculum that `course` was at."""
    kind = course.config.curriculum.kind
    shares = {
        f"curriculum/level_share/{name}": float(np.mean([c.level == name for c in held]))
        for name in LEVELS
    }
    before = float(np.mean([len(c.before) for c in held])) if kind == "reverse" else None
    return {
        **shares,
        "curriculum/difficulty": course.difficulty if kind == "adaptive" else None,
        "curriculum/replies_before": before,
    }


def _rung(course: Course, step: int, group: int) -> int:
    """Index into the ladder."""
    given, seed = course.config.curriculum, course.config.seed
    u = uniforms("level", seed, step, group)[0]
    if given.kind == "staged":
        medium, hard = stages(given, course.config.trainer.steps)
        return (step >= medium) + (step >= hard)
    if given.kind == "adaptive":
        # between two rungs the nearer gets the larger share, so that the mean is the difficulty
        below, share = divmod(course.difficulty / HARDEST * (len(LEVELS) - 1), 1)
        return int(below) + (u < share)
    weights = (given.weight_easy, given.weight_medium, given.weight_hard)
    return sum(u * sum(weights) >= edge for edge in np.cumsum(weights)[:-1].tolist())


def stages(given: CurriculumConfig, steps: int) -> tuple[int, int]:
    """First step at medium and at hard: thirds of the run. Where one is given, the other halves
    what lies before or behind it.
    """
    medium = given.medium_from or ((given.hard_from or 2 * steps // 3 + 1) + 1) // 2
    hard = given.hard_from or medium + max(0, steps + 1 - medium) // 2
    return medium, hard


def _reverse(course: Course, step: int, group: int) -> Lesson:
    """R3's slide (arXiv 2402.05808): from late states of what went well back to the beginning."""
    given, config = course.config.curriculum, course.config
    whole = 2 * config.trainer.steps // 3 + 1 if given.whole_from is None else given.whole_from
    if step >= whole:
        return Lesson(config.difficulty)
    over = given.start_share * (whole - step) / max(whole - 1, 1)
    start = pick(course.starts, uniforms("start", config.seed, step, group)[0])
    return Lesson(config.difficulty, start.until(int(over * len(start.said))))


HELD = 128
"""Conversations that the attentive reference has with training users, before the first step."""
FEWEST = 16
"""Where fewer succeed, those that end highest are taken in their place."""


class AttentiveSpeaker:
    """The attentive reference in conversation; every draw is keyed by conversation and turn."""

    def __init__(self, keys: Sequence[ConversationKey]) -> None:
        self._keys = keys

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        self._heard: list[list[str]] = [[] for _ in range(count)]
        self._said: list[list[str]] = [[] for _ in range(count)]

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """The reference's reply in each conversation of `live`."""
        replies = []
        for i, words in zip(live, heard, strict=True):
            self._heard[i].append(words)
            key = self._keys[i]
            u = uniforms("reference", key.seed, key.step, key.group, len(self._said[i]))
            self._said[i].append(attentive(self._heard[i], self._said[i], u))
            replies.append(SupporterReply(self._said[i][-1]))
        return replies


def library(config: RunConfig) -> tuple[Start, ...]:
    """The successes among HELD conversations at the run's level, or the FEWEST best; never empty.

    Depends on seed and level alone, so that a resumed run has the same.
    """
    keys = [ConversationKey(config.seed, 0, group, 0) for group in range(HELD)]
    all_held = hold(make(config.simulator, config.difficulty), AttentiveSpeaker(keys), keys)
    held = [c for c in all_held if c.last.ended != "failed"] or all_held
    best = sorted(held, key=lambda c: (c.last.ended != "success", -c.last.emotion, c.key.group))
    succeeded = sum(c.last.ended == "success" for c in held)
    return tuple(Start(c.key, c.opening, c.exchanges) for c in best[: max(succeeded, FEWEST)])
