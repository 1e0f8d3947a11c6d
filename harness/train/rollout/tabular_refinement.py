"""Refinement of the tabular policy's worst conversations, continued anew after a critique."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.config.run import STRATEGIES, RunConfig
from harness.policy.tabular import Observations, TabularPolicy
from harness.simulator.factory import make
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.losses import BoolArray
from harness.train.rollout import critiques, refinement
from harness.train.rollout.batch import REFINEMENT_STREAM, rng_of
from harness.train.rollout.conversation import Conversation, take_over
from harness.train.rollout.refinement import CutPoint, GroupUniforms
from harness.train.rollout.rewards import compute_rewards
from harness.train.rollout.tabular_speaker import Acts, TabularSpeaker

LOWERED_NATS = 2.0
"""How much a critique lowers a strategy's log-probability, before normalisation."""


@dataclass(frozen=True, slots=True)
class RefinedBatch:
    """The batch to learn from: as drawn, except for the refined conversations."""

    conversations: list[Conversation]
    acts: Acts
    is_refined: BoolArray | None
    """The mask of acts drawn after a critique, shape (acts,); None if nothing is refined."""
    metrics: dict[str, float | None]


def refine(
    critique: str | None,
    policy: TabularPolicy,
    conversations: list[Conversation],
    acts: Acts,
    config: RunConfig,
    step: int,
    before_turn: Callable[[], None] = lambda: None,
) -> RefinedBatch:
    """Continue the worst conversation of each group anew, from its most costly reply on.

    `critique`: as returned by `Algorithm.refines_by`; None leaves the batch as it is. The user's
    random numbers are keyed by a sample number beyond the group's, the policy's by step and group.
    """
    if critique is None:
        return RefinedBatch(conversations, acts, None, refinement.NOT_REFINED)
    size = config.algorithm.group_size
    rewards_before = compute_rewards(conversations, config.reward).total
    groups, played = len(conversations) // size, strategies_played(acts, len(conversations))
    cuts = refinement.cuts_of(conversations, rewards_before, played, size)
    if not cuts:
        metrics = refinement.metrics(cuts, groups, 0, rewards_before, rewards_before)
        return RefinedBatch(conversations, acts, np.zeros(len(acts.act), bool), metrics)
    rng = rng_of(config, step, REFINEMENT_STREAM)
    draws = GroupUniforms(rng, groups, [cut.conversation // size for cut in cuts])
    changes = log_p_changes([discouraged_by_cut(critique, conversations, cut) for cut in cuts])
    speaker = TabularSpeaker(policy, config.policy.temperature, draws, before_turn, changes)
    keys, starts = refinement.begin_again(conversations, cuts, size)
    continuations = take_over(make(config.simulator, config.difficulty), speaker, keys, starts)
    refined = list(conversations)
    for cut, new in zip(cuts, continuations, strict=True):
        refined[cut.conversation] = refinement.join_at_cut(
            conversations[cut.conversation], cut, new
        )
    new_acts = speaker.acts()
    rewards_after = compute_rewards(refined, config.reward).total
    return RefinedBatch(
        refined,
        *_splice(acts, new_acts, cuts, len(conversations)),
        refinement.metrics(cuts, groups, len(new_acts.act), rewards_before, rewards_after),
    )


def strategies_played(acts: Acts, conversations: int) -> list[list[str]]:
    """Return the strategy of each reply of each conversation."""
    table = np.zeros((conversations, int(acts.reply.max()) + 1), dtype=np.int64)
    table[acts.conversation, acts.reply] = acts.act
    counts = np.bincount(acts.conversation, minlength=conversations)
    return [[STRATEGIES[act] for act in row[:n]] for row, n in zip(table, counts, strict=True)]


def discouraged_by_cut(
    critique: str, conversations: Sequence[Conversation], cut: CutPoint
) -> frozenset[str]:
    """Return the strategies that a critique of a cut's reply discourages."""
    return critiques.discouraged_strategies(
        critique, conversations[cut.conversation], cut.reply, cut.played
    )


def log_p_changes(by_cut: Sequence[frozenset[str]]) -> FloatArray:
    """Return the numbers to add to the log-probabilities, shape (conversations, strategies)."""
    return np.array([[-LOWERED_NATS * (s in names) for s in STRATEGIES] for names in by_cut])


def _splice(
    acts: Acts, new: Acts, cuts: Sequence[CutPoint], conversations: int
) -> tuple[Acts, BoolArray]:
    """Return the acts before the cuts joined with the new ones, and the mask of the new ones."""
    cut_reply = np.full(conversations, np.iinfo(np.int64).max)
    cut_reply[[cut.conversation for cut in cuts]] = [cut.reply for cut in cuts]
    is_kept = acts.reply < cut_reply[acts.conversation]
    conversation = np.array([cut.conversation for cut in cuts])[new.conversation]
    features = np.concatenate([acts.seen.features[is_kept], new.seen.features])
    spliced = Acts(
        Observations(features),
        np.concatenate([acts.act[is_kept], new.act]),
        np.concatenate([acts.conversation[is_kept], conversation]),
        np.concatenate([acts.reply[is_kept], new.reply + cut_reply[conversation]]),
    )
    is_new = np.repeat([False, True], [int(is_kept.sum()), len(new.act)])
    return spliced, is_new
