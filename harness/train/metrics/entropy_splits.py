"""Splits of entropy: planning and execution, thinking and reply.

Planning tokens open a strategy in a reply; the rest of the reply is execution. This follows the
strategic grams of arXiv 2509.03646 (HICRA), n-grams that steer rather than execute, at which
policies are said to lose entropy at a different time. The paper mines them from solutions by
clustering. Here they are the first words, up to three and before any slot, of the sentences by
which supporters express a strategy (harness.policy.phrases), and some openings that models favour.
They count only at the beginning of a sentence. Other wordings count as execution.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from harness.policy.chat import Chat
from harness.policy.phrases import PHRASES
from harness.train.engines.scoring import TokenRow
from harness.train.metrics.token_metrics import Metrics, TokenTrace
from harness.train.policy_gradient.losses import BoolArray

WORDS = 3
MORE = (
    "it's okay", "it is okay", "i hear", "i understand", "that sounds", "this sounds",
    "can you tell", "could you tell", "tell me more", "would you like", "have you tried",
    "have you considered", "it's understandable", "it is understandable", "it's completely",
    "i'm so sorry", "i'm sorry", "let's", "one thing", "remember that", "it's important",
    "you're not alone", "you are not",
)  # fmt: skip
"""Openings in addition to those of the phrases."""


def openings() -> tuple[str, ...]:
    """Return the lower-case n-grams that open a strategy, the longest first."""
    plain = [phrase.split("{")[0] for group in PHRASES.values() for phrase in group]
    grams = {" ".join(re.findall(r"[\w']+", text.lower())[:WORDS]) for text in plain}
    return tuple(sorted(grams - {""} | set(MORE), key=lambda words: (-len(words), words)))


_ANY = "|".join(re.escape(words).replace(r"\ ", r"\s+") for words in openings())
OPENING = re.compile(rf"(?:^|(?<=[.!?\n]))\s*((?:{_ANY})\b)", re.I)


class PlanningTokens:
    """Splits the tokens of one tokenizer into planning and execution."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._pieces: dict[int, str] = {}

    def entropies(self, trace: TokenTrace, rows: Sequence[TokenRow]) -> Metrics:
        """Return H in nats per token of planning and of execution; None without tokens.

        `trace` runs over the own tokens of `rows`, row by row.
        """
        parts = self.classes(rows)
        return {
            f"entropy/{name}": float(trace.entropy_nats[part].mean()) if part.any() else None
            for name, part in parts.items()
            if name != "thinking"
        }

    def classes(self, rows: Sequence[TokenRow]) -> dict[str, BoolArray]:
        """Return the masks of the classes of the own tokens of `rows`, row by row.

        The classes are planning, execution and, for a policy that thinks, thinking. They are
        disjoint and cover all tokens.
        """
        plans, thoughts = np.concatenate([self.plans(row) for row in rows]), self._thoughts(rows)
        parts = {"planning": plans, "execution": ~plans & ~thoughts}
        return parts if self._chat.thought is None else parts | {"thinking": thoughts}

    def plans(self, row: TokenRow) -> BoolArray:
        """Return the mask of a row's own tokens that open a strategy, shape (own tokens,)."""
        ids, turns = np.array(row.ids), np.array(row.turn)
        opens: list[bool] = []
        for turn in range(1, turns.max() + 1):
            own = ids[turns == turn].tolist()
            reply = self._chat.reply(own)
            opens += [False] * (len(own) - len(reply)) + self._opening_mask(reply)
        return np.array(opens, bool)

    def _opening_mask(self, ids: Sequence[int]) -> list[bool]:
        pieces = [self._piece(token) for token in ids]
        ends = list(accumulate(map(len, pieces)))
        mask = [False] * len(pieces)
        for match in OPENING.finditer("".join(pieces)):
            start, stop = match.span(1)
            span = slice(bisect_right(ends, start), bisect_left(ends, stop) + 1)
            mask[span] = [True] * len(mask[span])
        return mask

    def _piece(self, token: int) -> str:
        if token not in self._pieces:
            self._pieces[token] = self._chat.tokenizer.decode([token])
        return self._pieces[token]

    def _thoughts(self, rows: Sequence[TokenRow]) -> BoolArray:
        end = self._chat.thought
        if end is None:
            return np.zeros(sum(turn > 0 for row in rows for turn in row.turn), bool)
        return np.concatenate([is_thought(row, end) for row in rows])


def thinking_entropies(trace: TokenTrace, rows: Sequence[TokenRow], end: int | None) -> Metrics:
    """Return H in nats per token of thinking and of replies; None without tokens.

    `trace` runs over the own tokens of `rows`, row by row. `end`: the token that ends thinking;
    None for a policy that does not think, whose result is empty.
    """
    if end is None:
        return {}
    thoughts = np.concatenate([is_thought(row, end) for row in rows])
    parts = {"entropy/thinking": thoughts, "entropy/reply": ~thoughts}
    return {
        name: float(trace.entropy_nats[part].mean()) if part.any() else None
        for name, part in parts.items()
    }


def is_thought(row: TokenRow, end: int) -> BoolArray:
    """Return the mask of a row's own tokens that are thinking, shape (own tokens,).

    In each turn these are the tokens up to its last `end`, or all tokens if it has no `end`.
    """
    ids, turns = np.array(row.ids), np.array(row.turn)
    own, thinking = turns > 0, np.zeros(len(ids), bool)
    for turn in np.unique(turns[own]):
        indices = np.flatnonzero(turns == turn)
        ends = indices[ids[indices] == end]
        thinking[indices[indices <= ends[-1]] if len(ends) else indices] = True
    return thinking[own]
