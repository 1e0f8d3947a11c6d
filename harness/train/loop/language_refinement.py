"""A language model's worst conversations, spoken again after a critique that it learns without.

What is learnt from holds the conversations as if no critique had been read. Its first update
measures them; those that they replace, of which the row speaks, take a pass of their own. Where
something goes by the log-probabilities before that update, those of what was spoken again are taken
anew in the same pass, from the learner that reads no critique.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.config.run import MAX_TURNS, RunConfig
from harness.policy.chat import Chat
from harness.train.metrics.token_metrics import Metrics
from harness.train.objective.loss_batch import Scored
from harness.train.objective.micro_batches import TokenLimit
from harness.train.objective.own_tokens import own_scores
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.policy_gradient.advantages import IntArray
from harness.train.ranks.team import Team
from harness.train.ranks.work import Redraw, Work
from harness.train.rollout import critiqued_speaker, critiques, refinement
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.critiqued_speaker import Begun
from harness.train.rollout.refinement import Cut
from harness.train.rollout.rewards import compute_rewards
from harness.train.rollout.speaker import TokenTrajectory


@dataclass(frozen=True, slots=True)
class AsDrawn:
    """A batch as the policy drew it, of which some conversations were then spoken again."""

    conversations: list[Conversation]
    trajectories: list[TokenTrajectory]
    replaced: Mapping[int, Scored]
    """Those that are not learnt from, by number, under the weights before the update."""


@dataclass(frozen=True, slots=True)
class RefinedTokens:
    """What is learnt from: the batch as drawn, but for what was spoken again."""

    conversations: list[Conversation]
    trajectories: list[TokenTrajectory]
    again_from: IntArray | None
    """The reply, from 1, from which each conversation was spoken again, shape (conversations,);
    above MAX_TURNS where it was not. None where groups stay as they were drawn."""
    as_drawn: AsDrawn | None
    """None where nothing was spoken again."""
    metrics: Metrics


def refine(
    stack: RemedyStack,
    team: Team,
    conversations: list[Conversation],
    trajectories: list[TokenTrajectory],
    step: int,
) -> RefinedTokens:
    """Speak the worst conversation of each group again, from its most costly reply on.

    With the critique that `Algorithm.refines_by` says; where it says None the batch stays as it is.
    The user's draws are keyed by a sample of its own, beyond the group's; the policy's by step and
    group.
    """
    critique = stack.algorithm.refines_by()
    if critique is None:
        none = refinement.NOT_REFINED
        return RefinedTokens(conversations, trajectories, None, None, dict(none))
    config = team.own.config
    size, before = config.algorithm.group_size, compute_rewards(conversations, config.reward).total
    groups = len(conversations) // size
    cuts = refinement.cuts_of(conversations, before, [heard_as(c) for c in conversations], size)
    again_from = np.full(len(conversations), MAX_TURNS + 1)
    if not cuts:
        metrics = refinement.metrics(cuts, groups, 0, before, before)
        return RefinedTokens(conversations, trajectories, again_from, None, metrics)
    keys, starts = refinement.begin_again(conversations, cuts, size)
    chosen = tuple(cut.conversation // size for cut in cuts)
    so_far = tuple(
        _begun(critique, config, team.own.chat, conversations, trajectories, cut) for cut in cuts
    )
    drawn = team.redraw(Redraw(step, groups, chosen, tuple(keys), tuple(starts), so_far))
    old = [trajectories[cut.conversation] for cut in cuts]
    again, replaced = _measured(stack, team.own, cuts, drawn.trajectories, old)
    refined, learnt = list(conversations), list(trajectories)
    for cut, new, trajectory in zip(cuts, drawn.conversations, again, strict=True):
        refined[cut.conversation] = refinement.joined(conversations[cut.conversation], cut, new)
        learnt[cut.conversation] = trajectory
        again_from[cut.conversation] = cut.reply + 1
    after = compute_rewards(refined, config.reward).total
    replies = sum(len(one.exchanges) for one in drawn.conversations)
    return RefinedTokens(
        refined,
        learnt,
        again_from,
        AsDrawn(conversations, trajectories, replaced),
        refinement.metrics(cuts, groups, replies, before, after),
    )


def heard_as(conversation: Conversation) -> list[str]:
    """The strategy of each reply as the user heard it, `other` where none was recognised."""
    return [(exchange.answer.strategies or ("other",))[-1] for exchange in conversation.exchanges]


def _begun(
    critique: str,
    config: RunConfig,
    chat: Chat,
    conversations: Sequence[Conversation],
    trajectories: Sequence[TokenTrajectory],
    cut: Cut,
) -> Begun:
    """A conversation in tokens before the reply that is spoken again, and what is told of it."""
    one, start = conversations[cut.conversation], conversations[cut.conversation].until(cut.reply)
    in_english = config.policy.kind != "tiny"
    told = critiques.told(critique, one, cut.reply, cut.played, in_english)
    return critiqued_speaker.begun(
        trajectories[cut.conversation],
        chat,
        start.last_turn.text,
        cut.reply,
        is_opening=not start.exchanges,
        told=told,
    )


def _measured(
    stack: RemedyStack,
    work: Work,
    cuts: Sequence[Cut],
    new: list[TokenTrajectory],
    old: list[TokenTrajectory],
) -> tuple[list[TokenTrajectory], dict[int, Scored]]:
    """What was spoken again, with the learner's own log-probabilities where something goes by
    them, and the scores of the conversations that it replaces, by number.
    """
    is_read = stack.needs_logp or work.engine.corrected
    scored = _scores(work.learner, [*old, *new] if is_read else old, work.config, work.limit)
    replaced = {cut.conversation: one for cut, one in zip(cuts, scored, strict=False)}
    if is_read:
        pairs = zip(new, scored[len(old) :], cuts, strict=True)
        new = [_as_read_untold(one, score, cut.reply) for one, score, cut in pairs]
    return new, replaced


def _scores(
    learner: Any, trajectories: Sequence[TokenTrajectory], config: RunConfig, limit: TokenLimit
) -> list[Scored]:
    """The own tokens of conversations that nobody has told anything, under the current weights."""
    rows = [t.row for t in trajectories]
    ids, own = [row.ids for row in rows], [row.own for row in rows]
    return own_scores(learner, ids, own, config.policy.temperature, limit)


def _as_read_untold(trajectory: TokenTrajectory, scored: Scored, reply: int) -> TokenTrajectory:
    """The trajectory with the learner's own numbers from reply number `reply`, from 0, on."""
    turns = [turn for turn in trajectory.row.turn if turn]
    kept = sum(turn <= reply for turn in turns)
    logp, entropy = (
        column.double().cpu()[kept:].tolist() for column in (scored.logp, scored.entropy_nats)
    )
    noted = [*trajectory.entropy_nats[:kept], *entropy] if trajectory.entropy_nats else []
    return replace(trajectory, logp=[*trajectory.logp[:kept], *logp], entropy_nats=noted)
