"""Dialogues retold with other words: what a supporter takes up must be heard, not remembered.

There are few training users. A model that only met them would answer `exam` with what it knows
of the exam's user; when the same dialogue also comes with a thesis and other feelings, the
only way to fill a slot is to copy from the conversation, which also works for users never met.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

KINDS: tuple[tuple[str, ...], ...] = (
    ("boss", "manager", "teacher", "neighbour", "friend", "colleague", "landlord", "trainer",
     "captain", "lawyer", "client", "nurse", "coach", "priest"),
    ("father", "mother", "sister", "brother", "husband", "wife", "son", "daughter", "aunt",
     "uncle", "cousin", "grandmother", "grandfather", "nephew", "niece", "stepmother"),
    ("exam", "thesis", "report", "essay", "project", "contract", "licence", "diploma",
     "interview", "promotion", "grant", "debt", "rent", "mortgage", "budget", "savings"),
    ("shop", "house", "flat", "garden", "village", "city", "school", "office", "hotel", "farm",
     "kitchen", "library", "station", "hospital", "factory", "church", "club"),
    ("dog", "cat", "horse", "car", "phone", "ring", "coat", "bed", "key", "piano", "camera",
     "bicycle", "boat", "tree", "roof", "letter", "suitcase"),
    ("knee", "heart", "lung", "scan", "operation", "illness", "blood", "skin",
     "hearing", "stomach", "shoulder"),
    ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    ("January", "February", "March", "April", "May", "June", "July", "August", "September",
     "October", "November", "December"),
    ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "thirty"),
    ("ashamed", "angry", "nervous", "tired", "trapped", "disappointed", "jealous", "useless",
     "afraid", "helpless", "sad", "guilty", "confused", "lonely", "worried", "empty"),
)  # fmt: skip
"""Words that can stand for each other; none is part of a phrase of the grammar."""
SHARE = 0.7
"""Of the dialogues that are retold."""
_WORD = re.compile(r"[A-Za-z]+")


def retold(texts: Sequence[str], draws: np.random.Generator) -> list[str]:
    """The same dialogue about other things, the same swaps in all of it; or left as it was."""
    if draws.random() >= SHARE:
        return list(texts)
    swap: dict[str, str] = {}
    for kind in KINDS:
        swap.update(zip(kind, draws.permutation(kind).tolist(), strict=True))
    return [_WORD.sub(lambda found: swap.get(found.group(), found.group()), t) for t in texts]
