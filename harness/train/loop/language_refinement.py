"""Refinement of a language model's worst conversations, continued anew after a critique.

The policy learns from the refined conversations as if there had been no critique. The first update
measures them; the conversations they replace, which the row describes, take a separate pass. If the
log-probabilities before the update are needed, the same pass computes those of the new replies
without the critique in the prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.config.run import MAX_TURNS, RunConfig
from harness.policy.chat import Chat
from harness.train.metrics.token_metrics import Metrics
from harness.train.objective.loss_batch import TokenScores
from harness.train.objective.micro_batches import TokenLimit
from harness.train.objective.own_tokens import own_scores
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.policy_gradient.advantages import IntArray
from harness.train.ranks.team import Team
from harness.train.ranks.work import RankWork, RefinementRequest
from harness.train.rollout import critiqued_speaker, critiques, refinement
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.critiqued_speaker import CritiquedPrefix
from harness.train.rollout.refinement import CutPoint
from harness.train.rollout.rewards import compute_rewards
from harness.train.rollout.speaker import TokenTrajectory


@dataclass(frozen=True, slots=True)
class UnrefinedBatch:
    """A batch as the policy drew it, some conversations of which were then refined."""

    conversations: list[Conversation]
    trajectories: list[TokenTrajectory]
    replaced: Mapping[int, TokenScores]
    """Scores under the weights before the update of the replaced conversations, by number."""


@dataclass(frozen=True, slots=True)
class RefinedTokens:
    """The batch to learn from: as drawn, except for the refined conversations."""

    conversations: list[Conversation]
    trajectories: list[TokenTrajectory]
    refined_from: IntArray | None
    """The first new reply, from 1, of each conversation, shape (conversations,); above MAX_TURNS if
    it was not refined. None if the algorithm does not refine.
    """
    unrefined: UnrefinedBatch | None
    """None if nothing was refined."""
    metrics: Metrics


def refine(
    stack: RemedyStack,
    team: Team,
    conversations: list[Conversation],
    trajectories: list[TokenTrajectory],
    step: int,
) -> RefinedTokens:
    """Continue the worst conversation of each group anew, from its most costly reply on.

    `Algorithm.refines_by` names the critique; if it returns None, the batch stays as it is. The
    user's random numbers are keyed by a sample number beyond the group's, the policy's by step and
    group.
    """
    critique = stack.algorithm.refines_by()
    if critique is None:
        none = refinement.NOT_REFINED
        return RefinedTokens(conversations, trajectories, None, None, dict(none))
    config = team.own.config
    size = config.algorithm.group_size
    rewards_before = compute_rewards(conversations, config.reward).total
    groups = len(conversations) // size
    cuts = refinement.cuts_of(
        conversations, rewards_before, [heard_as(c) for c in conversations], size
    )
    refined_from = np.full(len(conversations), MAX_TURNS + 1)
    if not cuts:
        metrics = refinement.metrics(cuts, groups, 0, rewards_before, rewards_before)
        return RefinedTokens(conversations, trajectories, refined_from, None, metrics)
    keys, starts = refinement.begin_again(conversations, cuts, size)
    chosen_groups = tuple(cut.conversation // size for cut in cuts)
    prefixes = tuple(
        _critiqued_prefix(critique, config, team.own.chat, conversations, trajectories, cut)
        for cut in cuts
    )
    drawn = team.redraw(
        RefinementRequest(step, groups, chosen_groups, tuple(keys), tuple(starts), prefixes)
    )
    old = [trajectories[cut.conversation] for cut in cuts]
    resampled, replaced = _score_replaced(stack, team.own, cuts, drawn.trajectories, old)
    refined, learnt = list(conversations), list(trajectories)
    for cut, new, trajectory in zip(cuts, drawn.conversations, resampled, strict=True):
        refined[cut.conversation] = refinement.join_at_cut(
            conversations[cut.conversation], cut, new
        )
        learnt[cut.conversation] = trajectory
        refined_from[cut.conversation] = cut.reply + 1
    rewards_after = compute_rewards(refined, config.reward).total
    replies = sum(len(conversation.exchanges) for conversation in drawn.conversations)
    return RefinedTokens(
        refined,
        learnt,
        refined_from,
        UnrefinedBatch(conversations, trajectories, replaced),
        refinement.metrics(cuts, groups, replies, rewards_before, rewards_after),
    )


def heard_as(conversation: Conversation) -> list[str]:
    """Return the strategy of each reply as the user heard it; `other` if none was recognised."""
    return [(exchange.answer.strategies or ("other",))[-1] for exchange in conversation.exchanges]


def _critiqued_prefix(
    critique: str,
    config: RunConfig,
    chat: Chat,
    conversations: Sequence[Conversation],
    trajectories: Sequence[TokenTrajectory],
    cut: CutPoint,
) -> CritiquedPrefix:
    """Return a conversation in tokens before the cut, with the critique to read there."""
    conversation = conversations[cut.conversation]
    start = conversation.until(cut.reply)
    in_english = config.policy.kind != "tiny"
    text = critiques.critique_text(critique, conversation, cut.reply, cut.played, in_english)
    return critiqued_speaker.critiqued_prefix(
        trajectories[cut.conversation],
        chat,
        start.last_turn.text,
        cut.reply,
        is_opening=not start.exchanges,
        critique=text,
    )


def _score_replaced(
    stack: RemedyStack,
    work: RankWork,
    cuts: Sequence[CutPoint],
    new: list[TokenTrajectory],
    old: list[TokenTrajectory],
) -> tuple[list[TokenTrajectory], dict[int, TokenScores]]:
    """Return the new trajectories, and the scores of the conversations they replace, by number.

    If log-probabilities before the update are needed, those of the new replies are computed without
    the critique.
    """
    is_read = stack.needs_logp or work.engine.corrected
    scored = _scores(work.learner, [*old, *new] if is_read else old, work.config, work.limit)
    replaced = {cut.conversation: scores for cut, scores in zip(cuts, scored, strict=False)}
    if is_read:
        pairs = zip(new, scored[len(old) :], cuts, strict=True)
        new = [_without_critique(trajectory, row, cut.reply) for trajectory, row, cut in pairs]
    return new, replaced


def _scores(
    learner: Any, trajectories: Sequence[TokenTrajectory], config: RunConfig, limit: TokenLimit
) -> list[TokenScores]:
    """Return scores of the own tokens under the current weights, without any critique."""
    rows = [t.row for t in trajectories]
    ids, own = [row.ids for row in rows], [row.own for row in rows]
    return own_scores(learner, ids, own, config.policy.temperature, limit)


def _without_critique(
    trajectory: TokenTrajectory, scored: TokenScores, reply: int
) -> TokenTrajectory:
    """Return the trajectory with the learner's values from reply number `reply`, from 0, on."""
    turns = [turn for turn in trajectory.row.turn if turn]
    kept = sum(turn <= reply for turn in turns)
    logp, entropy = (
        column.double().cpu()[kept:].tolist() for column in (scored.logp, scored.entropy_nats)
    )
    entropies = [*trajectory.entropy_nats[:kept], *entropy] if trajectory.entropy_nats else []
    return replace(trajectory, logp=[*trajectory.logp[:kept], *logp], entropy_nats=entropies)
