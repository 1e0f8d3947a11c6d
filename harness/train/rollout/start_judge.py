"""The start policy's judgement of replies: how likely it would have said them itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from harness.train.engines.engine import start_weights
from harness.train.engines.sampler import CachedModel, SampledTurn
from harness.train.engines.scoring import (
    drawn_entries,
    log_distribution,
    log_probabilities,
    surprise_moments,
)
from harness.utils.pending import Pending, then


@dataclass(frozen=True, slots=True)
class ReplyScore:
    """The likelihood of one reply under the start policy."""

    nll: float
    """Mean negative log-likelihood per token at temperature 1."""
    z: float
    """Surprise beyond what the start policy expects of its own replies; see `typicality`."""
    logp: list[float]
    """Log-probability of each token at the sampling temperature."""


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """A turn as sampled, and its score."""

    turn: SampledTurn
    score: ReplyScore


class ReplyJudge(Protocol):
    """Scores the replies of a batch of conversations."""

    def begin(
        self,
        live: Sequence[int],
        new_ids: Sequence[Sequence[int]],
        turns: Pending[list[SampledTurn]],
    ) -> Pending[list[JudgedTurn]]:
        """Begin to score pending `turns` of the conversations numbered `live`.

        `new_ids`: the ids in each conversation since its last reply.
        """
        ...


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

    def __init__(self, model: Any, count: int, temperature: float, end: int) -> None:
        """`end`: the id that ends a turn."""
        self._model, self._temperature, self._end = model, temperature, end
        self._reader = CachedModel(model, count)
        self._unread: list[list[int]] = [[] for _ in range(count)]

    def begin(
        self,
        live: Sequence[int],
        new_ids: Sequence[Sequence[int]],
        turns: Pending[list[SampledTurn]],
    ) -> Pending[list[JudgedTurn]]:
        """Score `turns` as soon as all of them are drawn; see `ReplyJudge`."""

        def judged(drawn: list[SampledTurn]) -> list[JudgedTurn]:
            scores = self.judge(live, new_ids, [turn.ids for turn in drawn])
            return list(map(JudgedTurn, drawn, scores))

        return then(turns, judged)

    @torch.no_grad()
    def judge(
        self,
        live: Sequence[int],
        new_ids: Sequence[Sequence[int]],
        replies: Sequence[Sequence[int]],
    ) -> list[ReplyScore]:
        """Read the user's words and the reply in each conversation of `live`; score the reply."""
        self._reader.attend(live)
        index = {conversation: n for n, conversation in enumerate(live)}
        order = [index[i] for i in self._reader.order]
        pieces = [[*self._unread[live[n]], *new_ids[n], *replies[n][:-1]] for n in order]
        with start_weights(self._model):
            states = self._reader.read(pieces)
        sizes = [len(replies[n]) for n in order]
        rows, columns = _places([len(piece) for piece in pieces], sizes)
        logps, nlls, moments = self._scores(
            states[rows, columns], [token for n in order for token in replies[n]]
        )
        scores: dict[int, ReplyScore] = {}
        parts = (torch.split(values, sizes) for values in (logps, nlls, moments))
        for n, logp, nll, reply_moments in zip(order, *parts, strict=True):
            last = replies[n][-1]
            self._unread[live[n]] = [last] if last == self._end else [last, self._end]
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


def _places(ends: Sequence[int], sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return rows and columns of the states from which the last `sizes` tokens of a reply are
    drawn, where row n of the states has `ends[n]` tokens, all but the reply's last.
    """
    rows = [row for row, size in enumerate(sizes) for _ in range(size)]
    columns = [end - size + k for end, size in zip(ends, sizes, strict=True) for k in range(size)]
    return rows, columns


def judge_of(model: Any, count: int, temperature: float, end: int) -> StartJudge | None:
    """Return the judge of `count` conversations by a start model; None if `model` is None."""
    return None if model is None else StartJudge(model, count, temperature, end)
