"""Entropy of planning and of execution: where a reply opens a strategy, and in the rest of it.

After the strategic grams of arXiv 2509.03646 (HICRA), n-grams that steer instead of carrying out,
of which policies are said to lose their entropy at another time. Theirs are mined from solutions by
clustering; here they are the openings, up to three words and before any slot, of the sentences by
which supporters put a strategy (harness.policy.phrases) and some that models are fond of, at the
beginning of a sentence. Other wordings count as execution.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from harness.policy.chat import Chat
from harness.policy.phrases import PHRASES
from harness.train.algorithms.losses import BoolArray
from harness.train.engines.scoring import TokenRow
from harness.train.metrics.token_metrics import Metrics, TokenTrace

WORDS = 3
MORE = (
    "it's okay", "it is okay", "i hear", "i understand", "that sounds", "this sounds",
    "can you tell", "could you tell", "tell me more", "would you like", "have you tried",
    "have you considered", "it's understandable", "it is understandable", "it's completely",
    "i'm so sorry", "i'm sorry", "let's", "one thing", "remember that", "it's important",
    "you're not alone", "you are not",
)  # fmt: skip
"""Openings that phrases lack."""


def openings() -> tuple[str, ...]:
    """Lower-case n-grams that open a strategy, the longest first."""
    plain = [phrase.split("{")[0] for own in PHRASES.values() for phrase in own]
    found = {" ".join(re.findall(r"[\w']+", text.lower())[:WORDS]) for text in plain}
    return tuple(sorted(found - {""} | set(MORE), key=lambda words: (-len(words), words)))


_ANY = "|".join(re.escape(words).replace(r"\ ", r"\s+") for words in openings())
OPENING = re.compile(rf"(?:^|(?<=[.!?\n]))\s*((?:{_ANY})\b)", re.I)


class Planning:
    """Tells planning from execution in the tokens of one tokenizer."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._pieces: dict[int, str] = {}

    def entropies(self, trace: TokenTrace, rows: Sequence[TokenRow]) -> Metrics:
        """H in nats a token of both; None for no token. Thoughts before a reply are neither.

        `trace` runs over the own tokens of `rows`, row by row.
        """
        plans = np.concatenate([self.plans(row) for row in rows])
        parts = {"entropy/planning": plans, "entropy/execution": ~plans & ~self._thoughts(rows)}
        return {
            name: float(trace.entropy_nats[part].mean()) if part.any() else None
            for name, part in parts.items()
        }

    def plans(self, row: TokenRow) -> BoolArray:
        """Which of a row's own tokens open a strategy, shape (own tokens,)."""
        ids, turns = np.array(row.ids), np.array(row.turn)
        found = []
        for turn in range(1, turns.max() + 1):
            said = ids[turns == turn].tolist()
            reply = self._chat.reply(said)
            found += [False] * (len(said) - len(reply)) + self._in_openings(reply)
        return np.array(found, bool)

    def _in_openings(self, ids: Sequence[int]) -> list[bool]:
        pieces = [self._piece(token) for token in ids]
        ends = list(accumulate(map(len, pieces)))
        found = [False] * len(pieces)
        for match in OPENING.finditer("".join(pieces)):
            start, stop = match.span(1)
            touched = slice(bisect_right(ends, start), bisect_left(ends, stop) + 1)
            found[touched] = [True] * len(found[touched])
        return found

    def _piece(self, token: int) -> str:
        if token not in self._pieces:
            self._pieces[token] = self._chat.tokenizer.decode([token])
        return self._pieces[token]

    def _thoughts(self, rows: Sequence[TokenRow]) -> BoolArray:
        end = self._chat.thought
        if end is None:
            return np.zeros(sum(turn > 0 for row in rows for turn in row.turn), bool)
        return np.concatenate([thought(row, end) for row in rows])


def entropies(trace: TokenTrace, rows: Sequence[TokenRow], end: int) -> Metrics:
    """H in nats a token up to each turn's last `end` of thinking, and after it; None for no token.

    `trace` runs over the own tokens of `rows`, row by row.
    """
    thoughts = np.concatenate([thought(row, end) for row in rows])
    parts = {"entropy/thinking": thoughts, "entropy/reply": ~thoughts}
    return {
        name: float(trace.entropy_nats[part].mean()) if part.any() else None
        for name, part in parts.items()
    }


def thought(row: TokenRow, end: int) -> NDArray[np.bool_]:
    """Which of a row's own tokens are thought: all of a turn that never came to an end of it."""
    ids, turns = np.array(row.ids), np.array(row.turn)
    own, found = turns > 0, np.zeros(len(ids), bool)
    for turn in np.unique(turns[own]):
        places = np.flatnonzero(turns == turn)
        ends = places[ids[places] == end]
        found[places[places <= ends[-1]] if len(ends) else places] = True
    return found[own]
