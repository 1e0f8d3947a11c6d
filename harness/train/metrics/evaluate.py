"""Fixed evaluations with held-out users and frozen prefixes, the same in every run at every level.

Held-out users measure the final emotion / 100, never the emotion reported to the trainer. H of a
batch is averaged over the states that a run visits, which differ between difficulties. The frozen
prefixes, the same for every difficulty and seed, keep the states fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from harness.calibration import shipped_anchors
from harness.config.run import LEVELS, STRATEGIES, DifficultyConfig, RunConfig, SimulatorConfig
from harness.policy.grammar import speak
from harness.records import outcomes as outcomes_file
from harness.records.outcomes import OWN
from harness.simulator.factory import intention_of, make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.train.metrics import deaf, yardsticks
from harness.train.metrics.deaf import Speakers
from harness.train.metrics.held_out import Meeting, at_once, by_level, levels_of, meetings
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.rollout.batch import MixedSimulator
from harness.train.rollout.conversation import Conversation, Speaker, WaveSpeakers, rollout

OPENERS = 32
MID_CONVERSATION = 32
PREFIXES = OPENERS + MID_CONVERSATION
PROBE_SEED = 20_260_102
"""Seed of the prefixes' users and replies, which no run uses."""
LONGEST = 4
"""Replies in the longest prefixes; the shortest prefixes in mid-conversation have one."""

Watch = Callable[[int, int], None]
"""Called before each slice with the numbers of conversations so far and in total; may raise to
stop."""
Timed = Callable[[str], AbstractContextManager[object]]


def is_due(step: int, config: RunConfig) -> bool:
    """Return whether step `step` is evaluated: step 1 unless eval.at_start is false, every
    trainer.eval_every steps after it, and the last step.
    """
    trainer = config.trainer
    if not trainer.evaluated_every or (step == 1 and not config.eval.at_start):
        return False
    return (step - 1) % trainer.evaluated_every == 0 or step == trainer.steps


Keep = Callable[[Mapping[str, FloatArray]], None]
"""Stores outcomes by level (OWN or a name), shape (users, repeats), nan for lost conversations."""


def keep_in(path: Path, step: int) -> Keep:
    """Return a function that writes the outcomes of the evaluation at `step` to `path`, replacing
    those of the last evaluation.
    """
    return lambda by_level: outcomes_file.write(
        path, step, {name: final.tolist() for name, final in by_level.items()}
    )


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """The result of one conversation of an evaluation."""

    final: float
    """Final emotion / 100; nan if the simulator failed."""
    strategies: tuple[tuple[str, ...], ...]
    """The strategies recognised in each reply that was answered."""
    heard: tuple[str, ...]
    """The user's turn before each reply."""


class Meet(Protocol):
    """Holds the conversations of an evaluation, in this process or others."""

    def __call__(
        self, batch: Sequence[Meeting], swapped: deaf.Swapped | None, watch: Watch | None
    ) -> Mapping[Meeting, EpisodeResult]:
        """Return the results of some meetings.

        `swapped`: the words that the policy hears in place of its users'; None to hear the users.
        """
        ...


def evaluate(
    config: RunConfig,
    meet: Meet,
    watch: Watch | None = None,
    keep: Keep | None = None,
    timed: Timed = nullcontext,
) -> dict[str, float]:
    """Hold an evaluation and return eval/*, the metrics of `yardsticks.columns` at each level.

    A metric that was not measured is nan. `timed`: a context for the parts that are timed
    separately, "repeats" (all but the first conversation with each user) and "deaf".
    """
    everyone = meetings(config)
    first = [meeting for meeting in everyone if not meeting.repeat]
    repeated = [meeting for meeting in everyone if meeting.repeat]
    total = len(everyone) * (1 + config.eval.deaf)

    def results(
        batch: Sequence[Meeting], offset: int, swapped: deaf.Swapped | None = None
    ) -> Mapping[Meeting, EpisodeResult]:
        progress = None if watch is None else lambda done, _total: watch(offset + done, total)
        return meet(batch, swapped, progress)

    hearing = dict(results(first, 0))
    if repeated:
        with timed("repeats"):
            hearing |= results(repeated, len(first))
    levels = levels_of(config)
    if keep is not None:
        finals = by_level(list(hearing), [result.final for result in hearing.values()])
        by_name = {name: finals[n] for n, name in enumerate(LEVELS) if n in finals}
        keep({OWN: finals[levels.own], **by_name})
    deaf_results: Mapping[Meeting, EpisodeResult] = {}
    if config.eval.deaf:
        words = {meeting: hearing[meeting].heard for meeting in everyone}
        with timed("deaf"):
            deaf_results = results(everyone, len(everyone), deaf.swap_words(words))
    level_results = {n: _level_results(config, n, hearing, deaf_results) for n in levels.met}
    level_columns = {number: yardsticks.columns(level) for number, level in level_results.items()}
    names = {"eval/": levels.own, **{f"eval/{name}/": n for n, name in enumerate(LEVELS)}}
    by_turn = yardsticks.listening_by_turn(level_results[levels.own])
    return {f"eval/{name}": value for name, value in by_turn.items()} | {
        f"{prefix}{name}": value
        for prefix, number in names.items()
        if number in level_columns
        for name, value in level_columns[number].items()
    }


def _level_results(
    config: RunConfig,
    number: int,
    hearing: Mapping[Meeting, EpisodeResult],
    deaf_results: Mapping[Meeting, EpisodeResult],
) -> yardsticks.LevelResults:
    """Return the results of the conversations at level `number`."""
    results = {meeting: result for meeting, result in hearing.items() if meeting.level == number}
    level = levels_of(config).every[number]
    deaf_finals = [deaf_results[meeting].final for meeting in results] if deaf_results else []
    return yardsticks.LevelResults(
        outcomes=by_level(list(results), [result.final for result in results.values()])[number],
        deaf=np.array(deaf_finals),
        strategies=[result.strategies for result in results.values()],
        intentions=[intention_of(m.key, level, config.simulator) for m in results],
        users=[meeting.user for meeting in results],
        share=partial(shipped_anchors.share, level=level, users=config.simulator),
    )


def anchors(config: RunConfig) -> dict[str, Mapping[str, Any] | None]:
    """Return the shipped anchors of each evaluated level, by OWN and name; None for a level without
    anchors, whose listening_share is unknown.
    """
    levels = levels_of(config)
    names = {OWN: levels.own, **{name: n for n, name in enumerate(LEVELS) if n in levels.met}}
    return {
        name: shipped_anchors.shipped(levels.every[number], config.simulator)
        for name, number in names.items()
    }


def lost_shares(values: Mapping[str, float | None], config: RunConfig) -> dict[str, float]:
    """Return the share of an evaluation's conversations that were lost by level, the own first."""
    names = {"its own": "eval/failed", **{name: f"eval/{name}/failed" for name in LEVELS}}
    total = held_at_a_level(config)
    return {name: (values.get(key) or 0.0) / total for name, key in names.items()}


def held_at_a_level(config: RunConfig) -> int:
    """Return the number of conversations of one evaluation at each level."""
    return config.eval.users * config.eval.repeats


def finals(
    config: RunConfig, speakers: Speakers, watch: Watch | None = None, size: int | None = None
) -> Mapping[int, FloatArray]:
    """Return the final emotion / 100 of each conversation, by number of the level in `levels_of`.

    Shapes (users, repeats), nan if the simulator failed.
    """
    results = meet_here(config, speakers, size)(meetings(config), None, watch)
    return by_level(list(results), [result.final for result in results.values()])


def meet_here(config: RunConfig, speakers: Speakers, size: int | None = None) -> Meet:
    """Return a `Meet` that holds conversations in this process, in slices.

    `size`: conversations per slice, by default `held_out.at_once`; it does not change the results.
    """
    size = at_once(config) if size is None else size
    users = HeldOutUsers(config)

    def meet(
        batch: Sequence[Meeting], swapped: deaf.Swapped | None, watch: Watch | None
    ) -> dict[Meeting, EpisodeResult]:
        make_speaker = speakers if swapped is None else deaf.speakers(speakers, swapped)
        results: dict[Meeting, EpisodeResult] = {}
        for part in (batch[start : start + size] for start in range(0, len(batch), size)):
            if watch is not None:
                watch(len(results), len(batch))
            conversations = users.meet(part, make_speaker(part))
            results |= dict(zip(part, map(_result, conversations), strict=True))
        return results

    return meet


class HeldOutUsers:
    """The held-out users of a run's evaluated levels, in this process."""

    def __init__(self, config: RunConfig) -> None:
        levels = levels_of(config)
        self._users = {n: make(config.simulator, levels.every[n]) for n in levels.met}

    def meet(
        self, batch: Sequence[Meeting], speaker: Speaker | WaveSpeakers[Speaker]
    ) -> list[Conversation]:
        """Hold some conversations side by side, with a speaker made for them."""
        levels = sorted({meeting.level for meeting in batch})
        owners = [levels.index(meeting.level) for meeting in batch]
        simulator = MixedSimulator([self._users[n] for n in levels], owners)
        return rollout(simulator, speaker, [meeting.key for meeting in batch])


def _result(conversation: Conversation) -> EpisodeResult:
    last, exchanges = conversation.last, conversation.exchanges
    failed = last.ended == "failed"
    return EpisodeResult(
        final=math.nan if failed else last.emotion / 100,
        strategies=tuple(e.answer.strategies for e in exchanges if e.answer.ended != "failed"),
        heard=(conversation.opening.text, *(e.answer.text for e in exchanges[:-1])),
    )


@dataclass(frozen=True, slots=True)
class Prefix:
    """A conversation up to the policy's next reply."""

    turns: tuple[tuple[str, str], ...]
    """Pairs (speaker, text) with the speaker user or policy; the user has the first and last."""
    strategies: tuple[str, ...]
    """The strategy of each of the policy's replies."""

    @property
    def heard(self) -> tuple[str, ...]:
        """The user's turns."""
        return tuple(text for speaker, text in self.turns if speaker == "user")


def prefix_numbers(count: int) -> tuple[range, range]:
    """Return the numbers of the first `count` prefixes: the openings, then those with replies."""
    return range((count + 1) // 2), range(OPENERS, OPENERS + count // 2)


def prefixes(count: int = PREFIXES) -> tuple[Prefix, ...]:
    """Return the first `count` frozen prefixes, half of them openings, half in mid-conversation."""
    openings, later = prefix_numbers(count)
    return tuple(_prefix(number) for number in (*openings, *later))


@lru_cache(maxsize=PREFIXES)
def _prefix(number: int) -> Prefix:
    """Return prefix `number`: an opening, or one to LONGEST replies unless the user ended earlier.

    Users have the default difficulty of DifficultyConfig (medium), whatever conf/ sets. Replies
    come from the phrase grammar, each with a strategy drawn uniformly.
    """
    replies = 0 if number < OPENERS else 1 + (number - OPENERS) % LONGEST
    simulator = make(SimulatorConfig(), DifficultyConfig())
    rng = np.random.default_rng([PROBE_SEED, number])
    turn = simulator.open([ConversationKey(PROBE_SEED, 0, number, 0)])[0]
    turns, strategies = [("user", turn.text)], list[str]()
    for _ in range(replies):
        strategy = STRATEGIES[rng.integers(len(STRATEGIES))]
        messages = [text for speaker, text in turns if speaker == "user"]
        text = speak(strategy, messages, rng.random)
        answer = simulator.answer([turn], [SupporterReply(text)])[0]
        if answer.ended is not None:
            break
        turn = answer
        turns += [("policy", text), ("user", turn.text)]
        strategies.append(strategy)
    return Prefix(tuple(turns), tuple(strategies))
