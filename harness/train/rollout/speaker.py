"""A language model in conversation: reads users' words and draws replies, as text and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from harness.config.run import PolicyConfig
from harness.policy.chat import Chat
from harness.simulator.protocol import SupporterReply
from harness.train.engines.engine import Engine
from harness.train.engines.sampler import SampledTurn
from harness.train.engines.scoring import TokenRow
from harness.train.rollout.conversation import StartState
from harness.train.rollout.start_judge import JudgedTurn, ReplyJudge
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
        judge: ReplyJudge | None = None,
    ) -> None:
        """`judge` scores replies by the start model; None if they are not scored."""
        self._engine, self._chat, self._policy = engine, chat, policy
        self._rng, self._judge = rng, judge

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        temperature = self._policy.temperature
        self.trajectories = [TokenTrajectory() for _ in range(count)]
        self._count, self._turn = count, 0
        self._sampler = self._engine.sampler(count, self._chat.end, temperature)
        self._starts: Sequence[StartState] = ()

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
        if self._judge is None:
            return then(turns, partial(self._replies, list(live), ids))
        judge_ids = self._judge_input(live, ids)
        judged = self._judge.begin(list(live), judge_ids, turns)
        return then(judged, partial(self._judged_replies, list(live), ids))

    def _judged_replies(
        self, live: Sequence[int], ids: Sequence[Sequence[int]], judged: Sequence[JudgedTurn]
    ) -> list[SupporterReply]:
        """Return replies as `_replies`, with scores; trajectories get those of their tokens."""
        for i, one in zip(live, judged, strict=True):
            self.trajectories[i].start_logp.extend(one.score.logp)
        replies = self._replies(live, ids, [one.turn for one in judged])
        return [
            replace(reply, start_nll=one.score.nll, start_z=one.score.z)
            for reply, one in zip(replies, judged, strict=True)
        ]

    def _replies(
        self, live: Sequence[int], ids: Sequence[Sequence[int]], turns: Sequence[SampledTurn]
    ) -> list[SupporterReply]:
        """Add new ids and turns to the trajectories; return the turns as replies."""
        replies = []
        for i, new_ids, turn in zip(live, ids, turns, strict=True):
            is_cut = turn.ids[-1] != self._chat.end
            trajectory = self.trajectories[i]
            trajectory.row.extend(new_ids)
            trajectory.row.extend(turn.ids, self._earlier_replies(i) + self._turn)
            trajectory.row.extend([self._chat.end] if is_cut else [])
            trajectory.logp.extend(turn.logp)
            trajectory.entropy_nats.extend(turn.entropy_nats)
            replies.append(SupporterReply(self._chat.text(turn.ids), is_cut))
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


def _turns(start: StartState) -> list[tuple[str, str]]:
    """Return (speaker, text) of each turn so far; the first and the last are the user's."""
    turns = [("user", start.opening.text)]
    for exchange in start.exchanges:
        turns += [("policy", exchange.reply.text), ("user", exchange.answer.text)]
    return turns
