"""Rows that teach a model to copy, before it meets any dialogue.

Some random tokens, then spans of them said again. Nothing can be remembered, so the model
must find the token before in what was said and say what followed it there: the induction heads
of arXiv 2209.11895. Dialogues alone did not bring them about within 1,000 steps of a small model;
here they appear within 500 short ones, and stay.
"""

from __future__ import annotations

import numpy as np

from harness.train.engines.token_rows import TokenRow

SAID = (8, 16)
"""Fewest random tokens, and one more than the most."""
SPANS = 3
SPAN = (3, 7)
"""Fewest tokens of a span, and one more than the most."""


def rows(count: int, ids: range, seed: int) -> list[TokenRow]:
    """`count` rows of tokens of `ids`; its own tokens are those that can be copied."""
    draws = np.random.default_rng(seed)
    return [_row(ids, draws) for _ in range(count)]


def _row(ids: range, draws: np.random.Generator) -> TokenRow:
    said = draws.integers(ids.start, ids.stop, draws.integers(*SAID)).tolist()
    row = TokenRow()
    row.extend(said)
    for span in range(SPANS):
        length = int(draws.integers(*SPAN))
        start = int(draws.integers(len(said) - length + 1))
        row.extend(said[start : start + 1])
        row.extend(said[start + 1 : start + length], turn=span + 1)
    return row
