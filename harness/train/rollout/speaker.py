"""A language model in conversation: reads users' words and draws replies, as text and tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from harness.config.run import PolicyConfig
from harness.policy.chat import Chat
from harness.simulator.protocol import SupporterReply
from harness.train.engines.engine import Engine, start_weights
from harness.train.engines.sampler import CachedModel, SampledTurn
from harness.train.engines.scoring import (
    TokenRow,
    drawn_entries,
    log_distribution,
    log_probabilities,
    surprise_moments,
)
from harness.train.rollout.conversation import StartState
from harness.utils.pending import Pending, then


@dataclass(slots=True)
class TokenTrajectory:
    """One conversation in tokens. Lists other than `row` run over the policy's own tokens."""

    row: TokenRow = field(default_factory=TokenRow)
    logp: list[float] = field(default_factory=list)
    """Log-probabilities under the weights that drew the tokens, at the sampling temperature."""
    entropy_nats: list[float] = field(default_factory=list)
    """Exact entropy at each token; empty unless the engine records it."""
    start_logp: list[float] = field(default_factory=list)
    """`logp` under the start policy; empty if replies are not scored."""

    def until(self, length: int) -> TokenTrajectory:
        """Return the conversation's first `length` tokens."""
        row = TokenRow(self.row.ids[:length], self.row.turn[:length])
        own = sum(turn > 0 for turn in row.turn)
        return TokenTrajectory(row, self.logp[:own], self.entropy_nats[:own], self.start_logp[:own])


class TokenUniformSource(Protocol):
    """A source of uniform numbers, such as a numpy generator."""

    def random(self, shape: tuple[int, int], /) -> NDArray[np.float64]:
        """Uniform numbers in [0, 1), filled row by row."""
        ...


class LanguageSpeaker:
    """A policy in conversation with a batch of users. All its random numbers come from `rng`."""

    def __init__(
        self,
        engine: Engine,
        chat: Chat,
        policy: PolicyConfig,
        rng: TokenUniformSource,
        start: Any = None,
    ) -> None:
        """`start`: the frozen start model, which scores replies; None if they are not scored."""
        self._engine, self._chat, self._policy = engine, chat, policy
        self._rng, self._start = rng, start

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        temperature = self._policy.temperature
        self.trajectories = [TokenTrajectory() for _ in range(count)]
        self._count, self._turn = count, 0
        self._sampler = self._engine.sampler(count, self._chat.end, temperature)
        self._starts: Sequence[StartState] = ()
        self._judge = None if self._start is None else StartJudge(self._start, count, temperature)

    def take_over(self, starts: Sequence[StartState]) -> None:
        """Continue conversations of another policy; its replies never count as the policy's own."""
        self._starts = starts

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """Return replies in the conversations numbered `live`; `heard`: the users' last words."""
        return self.begin_reply(live, heard)()

    def begin_reply(
        self, live: Sequence[int], heard: Sequence[str]
    ) -> Pending[list[SupporterReply]]:
        """Begin to reply as `speak` does. An engine that serves one wave at a time draws here."""
        ids = self._frame_words(live, heard)
        self._turn += 1
        uniforms = self._rng.random((self._count, self._policy.max_turn_tokens))[list(live)]
        sampler_ids = self._sampler_input(live, heard, ids)
        turns = self._sampler.begin_turn(live, sampler_ids, torch.from_numpy(uniforms))
        return then(turns, partial(self._replies, list(live), ids))

    def _replies(
        self, live: Sequence[int], ids: Sequence[Sequence[int]], turns: Sequence[SampledTurn]
    ) -> list[SupporterReply]:
        """Add new ids and turns to the trajectories; return the turns as replies."""
        scores: Sequence[ReplyScore | None] = [None] * len(turns)
        if self._judge is not None:
            scores = self._score_replies(self._judge, live, ids, turns)
        replies = []
        for i, new_ids, turn, score in zip(live, ids, turns, scores, strict=True):
            is_cut = turn.ids[-1] != self._chat.end
            trajectory = self.trajectories[i]
            trajectory.row.extend(new_ids)
            trajectory.row.extend(turn.ids, self._earlier_replies(i) + self._turn)
            trajectory.row.extend([self._chat.end] if is_cut else [])
            trajectory.logp.extend(turn.logp)
            trajectory.entropy_nats.extend(turn.entropy_nats)
            nll, z = (score.nll, score.z) if score is not None else (None, None)
            replies.append(SupporterReply(self._chat.text(turn.ids), is_cut, nll, z))
        return replies

    def _earlier_replies(self, number: int) -> int:
        """Return the number of the policy's replies in a conversation before it began here."""
        return 0

    def _frame_words(self, live: Sequence[int], heard: Sequence[str]) -> list[list[int]]:
        """Return the new ids of each conversation before the policy's turn."""
        if self._starts and not self._turn:
            return [self._chat.prefix(_turns(self._starts[i])) for i in live]
        frame = self._chat.following if self._turn else self._chat.opening
        return [frame(text) for text in heard]

    def _sampler_input(
        self, live: Sequence[int], heard: Sequence[str], ids: list[list[int]]
    ) -> list[list[int]]:
        """Return the sampler's input before the turn; `ids`: the words `heard` in the template."""
        return ids

    def _judge_input(
        self, live: Sequence[int], ids: Sequence[Sequence[int]]
    ) -> Sequence[Sequence[int]]:
        """Return the start policy's input before a reply; `ids`: as in `_sampler_input`."""
        return ids

    def _score_replies(
        self,
        judge: StartJudge,
        live: Sequence[int],
        ids: Sequence[Sequence[int]],
        turns: Sequence[SampledTurn],
    ) -> list[ReplyScore]:
        """Return the score of each reply; the trajectories get the start's log-probabilities."""
        judge_ids = self._judge_input(live, ids)
        scores = judge.judge(live, judge_ids, [turn.ids for turn in turns], self._chat.end)
        for i, score in zip(live, scores, strict=True):
            self.trajectories[i].start_logp.extend(score.logp)
        return scores


def _turns(start: StartState) -> list[tuple[str, str]]:
    """Return (speaker, text) of each turn so far; the first and the last are the user's."""
    turns = [("user", start.opening.text)]
    for exchange in start.exchanges:
        turns += [("policy", exchange.reply.text), ("user", exchange.answer.text)]
    return turns


@dataclass(frozen=True, slots=True)
class ReplyScore:
    """The likelihood of one reply under the start policy."""

    nll: float
    """Mean negative log-likelihood per token at temperature 1."""
    z: float
    """Surprise beyond what the start policy expects of its own replies; see `typicality`."""
    logp: list[float]
    """Log-probability of each token at the sampling temperature."""


LEAST_VARIANCE = 1.0
"""Minimum variance of a whole reply's surprise, in nats squared. If the start policy is almost
certain in one or two tokens, a single unusual token would otherwise be many standard deviations
away, although it is little evidence.
"""


def typicality(nll: float, entropy: float, variance: float) -> float:
    """Return by how many standard deviations a reply's surprise exceeds the start policy's own.

    `nll`, `entropy`, `variance`: sums over the reply's tokens of -log p, and of the mean and the
    variance of -log p under the distribution that each token was drawn from. The start policy's own
    samples have mean 0 and variance at most 1, whatever the model, its vocabulary and its entropy;
    a limit in nats would depend on these. All three are taken at the sampling temperature, at which
    the start policy's own samples are drawn.
    """
    return (nll - entropy) / math.sqrt(max(variance, LEAST_VARIANCE))


class StartJudge:
    """The frozen start policy, which reads the conversations and scores each reply.

    If only adapters are trained, it is the learner with its adapters switched off.
    """

    def __init__(self, model: Any, count: int, temperature: float) -> None:
        self._model, self._temperature = model, temperature
        self._reader = CachedModel(model, count)
        self._unread: list[list[int]] = [[] for _ in range(count)]

    @torch.no_grad()
    def judge(
        self,
        live: Sequence[int],
        new_ids: Sequence[Sequence[int]],
        replies: Sequence[Sequence[int]],
        end: int,
    ) -> list[ReplyScore]:
        """Read the user's words and the reply in each conversation of `live`; score the reply."""
        self._reader.attend(live)
        index = {conversation: n for n, conversation in enumerate(live)}
        order = [index[i] for i in self._reader.order]
        pieces = [[*self._unread[live[n]], *new_ids[n], *replies[n][:-1]] for n in order]
        with start_weights(self._model):
            states = self._reader.read(pieces)
        rows = [row for row, n in enumerate(order) for _ in replies[n]]
        ends = [len(piece) for piece in pieces]
        columns = [
            ends[row] - len(replies[n]) + k
            for row, n in enumerate(order)
            for k in range(len(replies[n]))
        ]
        logps, nlls, moments = self._scores(
            states[rows, columns], [token for n in order for token in replies[n]]
        )
        sizes = [len(replies[n]) for n in order]
        scores: dict[int, ReplyScore] = {}
        parts = (torch.split(values, sizes) for values in (logps, nlls, moments))
        for n, logp, nll, reply_moments in zip(order, *parts, strict=True):
            last = replies[n][-1]
            self._unread[live[n]] = [last] if last == end else [last, end]
            z = typicality(*reply_moments.sum(dim=0).tolist())
            scores[n] = ReplyScore(float(nll.mean()), z, logp.tolist())
        return [scores[n] for n in range(len(live))]

    def _scores(
        self, states: torch.Tensor, ids: Sequence[int]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return values of tokens drawn at `states`: log-probabilities at the sampling temperature,
        -log p at temperature 1, and the terms of `typicality`, shape (tokens, 3).

        The head is applied in pieces, since the logits of all replies can take gigabytes.
        """
        tokens = torch.tensor(ids, device=states.device)
        logps, nlls, moments = [], [], []
        for piece in self._reader.pieces(states):
            logits = self._reader.logits(states[piece])
            log_p = log_distribution(logits, self._temperature)
            surprise = -drawn_entries(log_p, tokens[piece])
            moments.append(torch.stack((surprise, *surprise_moments(log_p)), dim=1).double())
            del log_p
            logps.append(log_probabilities(logits, tokens[piece], self._temperature))
            if self._temperature != 1:
                surprise = -log_probabilities(logits, tokens[piece], 1.0)
            nlls.append(surprise.double())
        return torch.cat(logps), torch.cat(nlls), torch.cat(moments)
