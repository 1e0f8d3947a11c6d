"""A batch's conversations as records of single turns, which are saved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.config.run import MAX_TURNS
from harness.records.conversations import TurnRecord
from harness.simulator import account
from harness.simulator.protocol import UserTurn
from harness.train.metrics.token_metrics import TokenTrace
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.rollout.conversation import Conversation, Exchange

Common = Mapping[str, Any]
"""Values of the TurnRecord columns that all turns of one conversation share."""


def turn_records(
    conversations: Sequence[Conversation],
    rewards: FloatArray,
    advantages: FloatArray,
    trace: TokenTrace,
) -> list[TurnRecord]:
    """Return the records of every turn of the batch.

    `rewards`: rewards in the configured mode, shape (conversations,), not finite for lost
    conversations; `advantages`: shape (conversations, MAX_TURNS).
    """
    stride = MAX_TURNS + 1
    cell = trace.conversation * stride + trace.turn
    counts = np.bincount(cell, minlength=len(conversations) * stride)
    sums = np.bincount(cell, weights=trace.entropy_nats, minlength=len(counts))
    records: list[TurnRecord] = []
    for i, conversation in enumerate(conversations):
        means = [
            float(sums[i * stride + n] / counts[i * stride + n]) if counts[i * stride + n] else None
            for n in range(1, len(conversation.exchanges) + 1)
        ]
        common = _common(conversation, float(rewards[i]))
        records += _earlier_turns(conversation, common)
        records += _policy_turns(conversation, common, advantages[i].tolist(), means)
    return records


def _common(conversation: Conversation, reward: float) -> Common:
    """Return the columns that all turns of a conversation share."""
    user = account.traits_of(conversation.opening)
    return {
        "group": conversation.key.group,
        "sample": conversation.key.sample,
        "level": conversation.level,
        "persona": user.persona,
        "topic": user.topic,
        "voice": user.voice,
        "temperament": user.temperament,
        "intention": user.intention,
        "path": user.path,
        "reward": _finite(reward),
    }


def _earlier_turns(conversation: Conversation, common: Common) -> list[TurnRecord]:
    """Return the turns before `conversation.opening`, which carry no gradient."""
    if conversation.start is None:
        return []
    previous, turn = None, conversation.start.opening
    records: list[TurnRecord] = []
    for number, exchange in enumerate(conversation.before, start=-len(conversation.before)):
        reply = _reply(common, number + 1, "reference", turn, exchange, None, None)
        records += (_user(common, number, turn, previous), reply)
        previous, turn = turn, exchange.answer
    return records


def _policy_turns(
    conversation: Conversation,
    common: Common,
    advantages: Sequence[float],
    entropies: Sequence[float | None],
) -> list[TurnRecord]:
    """Return the turn that the policy first replies to, its replies, and their answers."""
    turn = conversation.opening
    records = [_user(common, 0, turn, _before_opening(conversation))]
    for number, (exchange, entropy) in enumerate(
        zip(conversation.exchanges, entropies, strict=True), start=1
    ):
        advantage = advantages[number - 1]
        reply = _reply(common, number, "policy", turn, exchange, entropy, advantage)
        records += (reply, _user(common, number, exchange.answer, turn))
        turn = exchange.answer
    return records


def _before_opening(conversation: Conversation) -> UserTurn | None:
    """Return the user's turn before `conversation.opening`; None if there is none."""
    before = conversation.before
    if not before or conversation.start is None:
        return None
    return before[-2].answer if len(before) > 1 else conversation.start.opening


def _reply(
    common: Common,
    number: int,
    speaker: str,
    turn: UserTurn,
    exchange: Exchange,
    entropy: float | None,
    advantage: float | None,
) -> TurnRecord:
    """Return the record of a reply to `turn`, with what the user recognised in it."""
    reply, answer = exchange.reply, exchange.answer
    return TurnRecord(
        **common,
        turn=number,
        speaker=speaker,
        text=reply.text,
        strategies=answer.strategies if answer.ended != "failed" else None,
        taken_up=account.taken_up_texts(turn, reply, answer),
        is_cut=reply.cut,
        entropy_nats=entropy,
        advantage=advantage,
        start_nll=reply.start_nll,
        start_z=reply.start_z,
    )


def _user(common: Common, number: int, turn: UserTurn, previous: UserTurn | None) -> TurnRecord:
    """Return the record of a user's turn, with the reasons for the change since `previous`.

    `previous`: the user's previous turn; None for the opening.
    """
    causes = None if previous is None else account.emotion_causes(previous, turn)
    return TurnRecord(
        **common,
        turn=number,
        speaker="user",
        text=turn.text,
        emotion_before=None if previous is None else previous.emotion,
        emotion_after=turn.emotion,
        change=turn.change,
        reported_emotion=_finite(turn.reported_emotion),
        ended=turn.ended,
        **({} if causes is None else _appraisal(causes)),
    )


def _appraisal(causes: account.EmotionCauses) -> dict[str, Any]:
    return {
        "why": [{"part": part, "effect": effect} for part, effect in causes.effects.items()],
        "why_unit": causes.unit,
        "rise_probability": causes.rise_probability,
        "reason": causes.reason,
        "fit": causes.fit,
        "not_language": causes.not_language,
        "fault": causes.fault,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
