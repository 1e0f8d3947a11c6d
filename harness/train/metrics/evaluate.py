"""Fixed evaluations: held-out users, and frozen prefixes, the same in every run at every level.

Held-out users measure the final emotion / 100, never what was reported to the trainer. H of a batch
is taken over the states a run visits, and a hard user steers to other states: the prefixes, the
same for every difficulty and seed, hold the states still.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from harness.config.run import LEVELS, STRATEGIES, DifficultyConfig, RunConfig, SimulatorConfig
from harness.policy.grammar import speak
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.train.metrics.held_out import Meeting, at_once, by_level, levels_of, meetings
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.rollout.batch import SideBySide
from harness.train.rollout.conversation import Conversation, InWaves, Speaker, rollout

OPENERS = 32
MID_CONVERSATION = 32
PREFIXES = OPENERS + MID_CONVERSATION
PROBE_SEED = 20_260_102
"""Seed of the prefixes' users and replies; no run has it."""
LONGEST = 4
"""Replies in the longest prefixes; the shortest mid-conversation ones have one."""

Speakers = Callable[[Sequence[Meeting]], Speaker | InWaves[Speaker]]
"""Makes the speaker of some meetings, which draws from `held_out.TurnDraws` or `TableDraws`: an
evaluation neither shifts the training's random numbers nor depends on when it happens."""
Watch = Callable[[int, int], None]
"""Called before each slice with the conversations held so far and all of them; raises to stop."""


def due(step: int, config: RunConfig) -> bool:
    """Whether step `step` is evaluated: 1 unless eval.at_start is false, every
    trainer.eval_every after it, and the last.
    """
    trainer = config.trainer
    if not trainer.eval_every or (step == 1 and not config.eval.at_start):
        return False
    return (step - 1) % trainer.eval_every == 0 or step == trainer.steps


def evaluate(
    config: RunConfig, speakers: Speakers, watch: Watch | None = None, size: int | None = None
) -> dict[str, float]:
    """eval/*: rewards with the standard error of the run's own level, and lost users, by level.

    `size`: conversations at a time, `held_out.at_once` if None.
    """
    outcomes = finals(config, speakers, watch, size)
    own = outcomes[levels_of(config).own]
    named = {name: outcomes[n] for n, name in enumerate(LEVELS) if n in outcomes}
    return {
        "eval/reward": _known_mean(own),
        "eval/reward_se": standard_error(own),
        "eval/failed": float(np.isnan(own).sum()),
        **{f"eval/{name}/reward": _known_mean(final) for name, final in named.items()},
        **{f"eval/{name}/failed": float(np.isnan(final).sum()) for name, final in named.items()},
    }


def standard_error(outcomes: FloatArray) -> float:
    """Standard error of the mean of outcomes of shape (users, repeats); nan of less than two users.

    The users are the replicates: conversations with one of them are a cluster, of which the mean
    counts.
    """
    known = np.isfinite(outcomes)
    met = known.any(axis=1)
    counts = known[met].sum(axis=1)
    by_user = np.where(known, outcomes, 0.0)[met].sum(axis=1) / counts
    return float(by_user.std(ddof=1) / math.sqrt(len(by_user))) if len(by_user) > 1 else math.nan


def lost_shares(values: Mapping[str, float | None], config: RunConfig) -> dict[str, float]:
    """Share of an evaluation's conversations that were lost, by level, the run's own first."""
    names = {"its own": "eval/failed", **{name: f"eval/{name}/failed" for name in LEVELS}}
    held = held_at_a_level(config)
    return {name: (values.get(key) or 0.0) / held for name, key in names.items()}


def held_at_a_level(config: RunConfig) -> int:
    """Conversations of one evaluation at each level."""
    return config.eval.users * config.eval.repeats


def finals(
    config: RunConfig, speakers: Speakers, watch: Watch | None = None, size: int | None = None
) -> Mapping[int, FloatArray]:
    """Final emotion / 100 of each conversation, by number of the level in `levels_of`.

    Shapes (users, repeats), nan where the simulator failed. Conversations are held in slices, and
    do not depend on them.
    """
    every, everyone = levels_of(config).every, meetings(config)
    users = {n: make(config.simulator, every[n]) for n in levels_of(config).met}
    outcomes: list[float] = []
    size = at_once(config) if size is None else size
    for some in (everyone[first : first + size] for first in range(0, len(everyone), size)):
        if watch is not None:
            watch(len(outcomes), len(everyone))
        here = sorted({meeting.level for meeting in some})
        owners = [here.index(meeting.level) for meeting in some]
        side_by_side = SideBySide([users[n] for n in here], owners)
        held = rollout(side_by_side, speakers(some), [meeting.key for meeting in some])
        outcomes += [_final(conversation) for conversation in held]
    return by_level(everyone, outcomes)


def _final(conversation: Conversation) -> float:
    last = conversation.last
    return math.nan if last.ended == "failed" else last.emotion / 100


def _known_mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


@dataclass(frozen=True, slots=True)
class Prefix:
    """A conversation up to the policy's next reply."""

    turns: tuple[tuple[str, str], ...]
    """(speaker, text), speaker being user or policy; the first and the last are the user's."""
    strategies: tuple[str, ...]
    """The strategy of each of the policy's replies."""

    @property
    def heard(self) -> tuple[str, ...]:
        """The user's turns."""
        return tuple(text for speaker, text in self.turns if speaker == "user")


def prefix_numbers(count: int) -> tuple[range, range]:
    """Numbers of the first `count` prefixes: the openings among them, and those with replies."""
    return range((count + 1) // 2), range(OPENERS, OPENERS + count // 2)


def prefixes(count: int = PREFIXES) -> tuple[Prefix, ...]:
    """The first `count` frozen prefixes: as many openings as ones in mid-conversation."""
    openings, later = prefix_numbers(count)
    return tuple(_prefix(number) for number in (*openings, *later))


@lru_cache(maxsize=PREFIXES)
def _prefix(number: int) -> Prefix:
    """Prefix `number`: an opening, or with one to LONGEST replies unless its user left earlier.

    Users have the code's default difficulty, medium, whatever conf/ says; replies come from the
    phrase grammar, each with a strategy drawn uniformly.
    """
    replies = 0 if number < OPENERS else 1 + (number - OPENERS) % LONGEST
    simulator = make(SimulatorConfig(), DifficultyConfig())
    rng = np.random.default_rng([PROBE_SEED, number])
    turn = simulator.open([ConversationKey(PROBE_SEED, 0, number, 0)])[0]
    turns, strategies = [("user", turn.text)], list[str]()
    for _ in range(replies):
        strategy = STRATEGIES[rng.integers(len(STRATEGIES))]
        heard = [text for speaker, text in turns if speaker == "user"]
        text = speak(strategy, heard, rng.random)
        answer = simulator.answer([turn], [SupporterReply(text)])[0]
        if answer.ended is not None:
            break
        turn = answer
        turns += [("policy", text), ("user", turn.text)]
        strategies.append(strategy)
    return Prefix(tuple(turns), tuple(strategies))
