"""The worst conversation of each group, spoken again after a critique (arXiv 2506.03106)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.config.run import STRATEGIES, RunConfig
from harness.policy.tabular import Observations, TabularPolicy
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey
from harness.train.policy_gradient.advantages import FloatArray, IntArray
from harness.train.policy_gradient.losses import BoolArray
from harness.train.rollout import critiques
from harness.train.rollout.batch import REFINEMENT_STREAM, rng_of
from harness.train.rollout.conversation import Conversation, take_over
from harness.train.rollout.rewards import compute_rewards
from harness.train.rollout.tabular_speaker import Acts, TabularSpeaker

LOWERED_NATS = 2.0
"""By how much a critique lowers the log-probability of a strategy before it is normalised."""
NOT_REFINED: dict[str, float | None] = dict.fromkeys(
    ("refined/groups", "refined/replies", "refined/gain")
)


@dataclass(frozen=True, slots=True)
class RefinedBatch:
    """What is learnt from: the batch as drawn, but for what was spoken again."""

    conversations: list[Conversation]
    acts: Acts
    spoken_again: BoolArray | None
    """The acts drawn after a critique, shape (acts,); None where groups stay as drawn."""
    metrics: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a conversation is taken over, and what the policy is told."""

    conversation: int
    """Its number in the batch."""
    reply: int
    """The policy's own reply that is spoken again, from 0."""
    blamed: frozenset[str]
    """Strategies that the critique speaks against."""


def refine(
    critique: str | None,
    policy: TabularPolicy,
    conversations: list[Conversation],
    acts: Acts,
    config: RunConfig,
    step: int,
    before_turn: Callable[[], None] = lambda: None,
) -> RefinedBatch:
    """Speak the worst conversation of each group again, from its most costly reply on.

    `critique`: as `Algorithm.refines_by` says; with None the batch stays as it is. The user's draws
    are keyed by a sample of its own, beyond the group's; the policy's by step and group.
    """
    if critique is None:
        return RefinedBatch(conversations, acts, None, NOT_REFINED)
    size, before = config.algorithm.group_size, compute_rewards(conversations, config.reward).total
    cuts = cuts_of(critique, conversations, before, acts, size)
    if not cuts:
        none = {"refined/groups": 0.0, "refined/replies": 0.0, "refined/gain": None}
        return RefinedBatch(conversations, acts, np.zeros(len(acts.act), bool), none)
    rng = rng_of(config, step, REFINEMENT_STREAM)
    draws = _OfGroups(rng, len(conversations) // size, [cut.conversation // size for cut in cuts])
    speaker = TabularSpeaker(
        policy, config.policy.temperature, draws, before_turn, _lowered([c.blamed for c in cuts])
    )
    old = [conversations[cut.conversation] for cut in cuts]
    keys = [replace(c.key, sample=c.key.sample + size) for c in old]
    starts = [c.until(cut.reply) for c, cut in zip(old, cuts, strict=True)]
    users = make(config.simulator, config.difficulty)
    made = take_over(users, speaker, keys, starts)
    refined = list(conversations)
    for cut, key, new in zip(cuts, keys, made, strict=True):
        refined[cut.conversation] = _joined(conversations[cut.conversation], cut, key, new)
    new_acts = speaker.acts()
    after = compute_rewards(refined, config.reward).total
    changed = [cut.conversation for cut in cuts]
    return RefinedBatch(
        refined,
        *_spliced(acts, new_acts, cuts, len(conversations)),
        {
            "refined/groups": len(cuts) * size / len(conversations),
            "refined/replies": float(len(new_acts.act)),
            "refined/gain": float((after - before)[changed].mean()),
        },
    )


def cuts_of(
    critique: str,
    conversations: Sequence[Conversation],
    rewards: FloatArray,
    acts: Acts,
    group_size: int,
) -> list[Cut]:
    """Where the worst conversation of each group is taken over, the first where several are.

    A group without a reward, or in whose worst conversation no reply lowered the emotion, has none.
    """
    strategies = _by_conversation(acts, len(conversations))
    cuts = []
    for first in range(0, len(conversations), group_size):
        mine = rewards[first : first + group_size]
        if not np.isfinite(mine).any():
            continue
        worst = first + int(np.nanargmin(mine))
        reply = critiques.most_costly(conversations[worst])
        if reply is not None:
            played = [STRATEGIES[act] for act in strategies[worst, : reply + 1]]
            told = critiques.blamed(critique, conversations[worst], reply, played)
            cuts.append(Cut(worst, reply, told))
    return cuts


class _OfGroups:
    """Uniforms of some groups, which do not depend on which the others are."""

    def __init__(self, rng: np.random.Generator, groups: int, chosen: Sequence[int]) -> None:
        self._rng, self._groups, self._chosen = rng, groups, list(chosen)

    def random(self, shape: tuple[int, int, int], /) -> FloatArray:
        """One table a group, of which those that are chosen are used."""
        return self._rng.random((self._groups, *shape[1:]))[self._chosen]


def _lowered(blamed: Sequence[frozenset[str]]) -> FloatArray:
    """What is added to the log-probabilities, shape (conversations, strategies)."""
    return np.array([[-LOWERED_NATS * (s in names) for s in STRATEGIES] for names in blamed])


def _joined(old: Conversation, cut: Cut, key: ConversationKey, new: Conversation) -> Conversation:
    """The conversation as it was until the cut, and as it went on then."""
    return replace(old, key=key, exchanges=(*old.exchanges[: cut.reply], *new.exchanges))


def _by_conversation(acts: Acts, conversations: int) -> IntArray:
    """The act of each reply, shape (conversations, most replies)."""
    table = np.zeros((conversations, int(acts.reply.max()) + 1), dtype=np.int64)
    table[acts.conversation, acts.reply] = acts.act
    return table


def _spliced(
    acts: Acts, new: Acts, cuts: Sequence[Cut], conversations: int
) -> tuple[Acts, BoolArray]:
    """The acts before the cuts and those after them, and which are the latter."""
    at = np.full(conversations, np.iinfo(np.int64).max)
    at[[cut.conversation for cut in cuts]] = [cut.reply for cut in cuts]
    kept = acts.reply < at[acts.conversation]
    place = np.array([cut.conversation for cut in cuts])[new.conversation]
    features = np.concatenate([acts.seen.features[kept], new.seen.features])
    spliced = Acts(
        Observations(features),
        np.concatenate([acts.act[kept], new.act]),
        np.concatenate([acts.conversation[kept], place]),
        np.concatenate([acts.reply[kept], new.reply + at[place]]),
    )
    again = np.repeat([False, True], [int(kept.sum()), len(new.act)])
    return spliced, again
