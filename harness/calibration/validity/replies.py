"""The replies by which validity is measured: pairs of a kind and a cruel one, and single ones.

Written for this by two people who saw neither the simulator nor each other's half. The half
`tuned` may be looked at while a simulator is changed; on `held_out` nothing is tuned.
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
"""Categories of natural replies, of many manners."""
LOW_EFFORT = ("low_effort", "off_topic", "advice_dump")
"""Categories of replies that answer nothing of what was said."""


@dataclass(frozen=True, slots=True)
class ReplyPair:
    """Two replies of one shape and length."""

    half: str
    category: str
    """The kind of cruelty."""
    kind: str
    cruel: str


@dataclass(frozen=True, slots=True)
class SingleReply:
    """One reply."""

    half: str
    category: str
    text: str
    about: str
    """Of a question, the words that say what is asked about; else `-`."""


@cache
def pairs() -> tuple[ReplyPair, ...]:
    """Every pair. Raises ConfigError for a malformed file."""
    names = ("half", "category", "kind", "cruel")
    return tuple(ReplyPair(*cells) for cells in columns(PAIRS, names, {"half": HALVES}))


@cache
def singles() -> tuple[SingleReply, ...]:
    """Every single reply. Raises ConfigError for a malformed file."""
    names = ("half", "category", "text", "about")
    return tuple(SingleReply(*cells) for cells in columns(REPLIES, names, {"half": HALVES}))


def questions(half: str | None) -> list[SingleReply]:
    """Return the questions that ask about something that has a name; `half`: None for both."""
    asked = [s for s in singles() if s.category == "question" and half in (None, s.half)]
    return [s for s in asked if not FUNCTION_WORDS.issuperset(words(s.about))]


def texts(half: str | None, categories: Sequence[str]) -> list[str]:
    """The single replies of some categories; `half`: None for both."""
    return [s.text for s in singles() if s.category in categories and half in (None, s.half)]
