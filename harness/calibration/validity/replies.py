"""The replies for measuring validity: pairs of a kind and a cruel twin, and single replies.

Two people wrote them for this purpose; neither saw the simulator or the other's half. The half
`tuned` may be used while changing a simulator; nothing is tuned on `held_out`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.simulator.data_files import columns
from harness.simulator.scripted.words import FUNCTION_WORDS, words

PAIRS = Path(__file__).with_name("pairs.tsv")
REPLIES = Path(__file__).with_name("replies.tsv")
HALVES = ("tuned", "held_out")
LANGUAGE = ("natural", "informal", "british", "non_native", "emoji", "quotes", "lists",
            "no_capitals")  # fmt: skip
"""Categories of natural replies, in various styles."""
LOW_EFFORT = ("low_effort", "off_topic", "advice_dump")
"""Categories of replies that do not respond to what was said."""


@dataclass(frozen=True, slots=True)
class ReplyPair:
    """A kind and a cruel reply of the same form and length."""

    half: str
    category: str
    """The kind of cruelty."""
    kind: str
    cruel: str


@dataclass(frozen=True, slots=True)
class SingleReply:
    """A single reply."""

    half: str
    category: str
    text: str
    about: str
    """For a question, the words for what it asks about; else `-`."""


@cache
def pairs() -> tuple[ReplyPair, ...]:
    """Return every pair. Raises ConfigError for a malformed file."""
    names = ("half", "category", "kind", "cruel")
    return tuple(ReplyPair(*cells) for cells in columns(PAIRS, names, {"half": HALVES}))


@cache
def singles() -> tuple[SingleReply, ...]:
    """Return every single reply. Raises ConfigError for a malformed file."""
    names = ("half", "category", "text", "about")
    return tuple(SingleReply(*cells) for cells in columns(REPLIES, names, {"half": HALVES}))


def questions(half: str | None) -> list[SingleReply]:
    """Return the questions that name what they ask about; `half` None means both halves."""
    candidates = [
        reply for reply in singles() if reply.category == "question" and half in (None, reply.half)
    ]
    return [reply for reply in candidates if not FUNCTION_WORDS.issuperset(words(reply.about))]


def texts(half: str | None, categories: Sequence[str]) -> list[str]:
    """Return the single replies of `categories`; `half` None means both halves."""
    return [
        reply.text
        for reply in singles()
        if reply.category in categories and half in (None, reply.half)
    ]
