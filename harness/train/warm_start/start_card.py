"""Measurements of a start model, before anything is learned from rewards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from harness.config.run import STRATEGIES, PolicyConfig, SimulatorConfig
from harness.policy.chat import Chat
from harness.policy.grammar import covers, slots
from harness.simulator.factory import make
from harness.simulator.protocol import HELD_OUT, TRAIN, ConversationKey
from harness.train.engines.engine import TransformersEngine
from harness.train.objective.own_tokens import own_entropies
from harness.train.rollout.conversation import Conversation, Exchange, rollout
from harness.train.rollout.speaker import LanguageSpeaker, TokenTrajectory
from harness.train.warm_start.training_rows import SEED, USERS

CONVERSATIONS = 32
"""Number of conversations with each kind of user."""


def measure(model: Any, chat: Chat, policy: PolicyConfig) -> dict[str, Any]:
    """Return H at temperature 1, the shares of strategies, and shares of replies by property."""
    policy = replace(policy, temperature=1.0)
    conversations, trajectories = _rollout(model, chat, policy, TRAIN)
    strangers, _ = _rollout(model, chat, policy, HELD_OUT)
    ids = [t.row.ids for t in trajectories]
    own = [[turn > 0 for turn in t.row.turn] for t in trajectories]
    entropy = torch.cat(own_entropies(model, ids, own, policy.temperature))
    return {
        "entropy_nats": float(entropy.double().mean()),
        "parameters": sum(p.numel() for p in model.parameters()),
        **_strategies(conversations),
        **_replies(conversations),
        "slots_heard": {"train": _slots_heard(conversations), "held_out": _slots_heard(strangers)},
        **_likelihood(trajectories),
    }


def summary(card: dict[str, Any]) -> str:
    """Return the card in one line."""
    mix = "  ".join(f"{name} {share:.2f}" for name, share in card["strategies"].items())
    return (
        f"H {card['entropy_nats']:.3f} nats a token, {card['recognised']:.0%} of replies "
        f"recognised, {card['grammatical']:.0%} grammatical, {card['cut']:.1%} cut; {mix}"
    )


def _strategies(conversations: Sequence[Conversation]) -> dict[str, Any]:
    counts = Counter(s for c in conversations for e in c.exchanges for s in e.answer.strategies)
    total = max(1, counts.total())
    shares = np.array([counts[s] / total for s in STRATEGIES])
    nonzero = shares[shares > 0]
    return {
        "strategies": dict(zip(STRATEGIES, shares.tolist(), strict=True)),
        "strategy_entropy_nats": float(-(nonzero * np.log(nonzero)).sum()),
    }


def _rollout(
    model: Any, chat: Chat, policy: PolicyConfig, split: str
) -> tuple[list[Conversation], list[TokenTrajectory]]:
    """Hold conversations with users of all kinds and return their texts and tokens."""
    conversations: list[Conversation] = []
    trajectories: list[TokenTrajectory] = []
    for number, users in enumerate(USERS):
        keys = [ConversationKey(SEED, 1_000_000, n, 0, split) for n in range(CONVERSATIONS)]
        rng = np.random.default_rng([SEED, number])
        speaker = LanguageSpeaker(TransformersEngine(model), chat, policy, rng)
        conversations += rollout(make(SimulatorConfig(), users), speaker, keys)
        trajectories += speaker.trajectories
    return conversations, trajectories


def _with_messages(conversations: Sequence[Conversation]) -> list[tuple[Exchange, list[str]]]:
    """Return each reply with the user's turns before it."""
    return [
        (e, [c.opening.text, *(earlier.answer.text for earlier in c.exchanges[:n])])
        for c in conversations
        for n, e in enumerate(c.exchanges)
    ]


def _slots_heard(conversations: Sequence[Conversation]) -> dict[str, float | None]:
    """Return by slot the share of fillings taken from the user's words; None without a filling."""
    correct: dict[str, list[bool]] = {name: [] for name in ("topic", "clause", "feeling")}
    for exchange, messages in _with_messages(conversations):
        for name, fits in slots(exchange.reply.text, messages):
            correct[name].append(fits)
    return {name: float(np.mean(matches)) if matches else None for name, matches in correct.items()}


def _replies(conversations: Sequence[Conversation]) -> dict[str, float]:
    """Return shares of replies; `faithful`: grammatical, with slots from the user's words."""
    replies = _with_messages(conversations)
    return {
        "recognised": float(np.mean([bool(e.answer.strategies) for e, _ in replies])),
        "grammatical": float(np.mean([covers(e.reply.text) for e, _ in replies])),
        "faithful": float(np.mean([covers(e.reply.text, messages) for e, messages in replies])),
        "cut": float(np.mean([e.reply.cut for e, _ in replies])),
        "flagged": float(np.mean([e.answer.flagged for e, _ in replies])),
    }


def _likelihood(trajectories: Sequence[TokenTrajectory]) -> dict[str, Any]:
    """Return the mean length of replies, and quantiles of their mean -log p per token."""
    means = []
    for trajectory in trajectories:
        turns = np.array([turn for turn in trajectory.row.turn if turn])
        logp = np.array(trajectory.logp)
        means += [-logp[turns == turn].mean() for turn in np.unique(turns)]
    share = (0.5, 0.9, 0.99)
    return {
        "tokens_a_reply": sum(len(t.logp) for t in trajectories) / len(means),
        "reply_nll_quantiles": dict(
            zip(map(str, share), np.quantile(means, share).tolist(), strict=True)
        ),
    }
