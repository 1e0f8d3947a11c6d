"""How a reference policy reads the user: from the words alone, by its own keywords."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from harness.simulator.scripted import paths
from harness.simulator.scripted.lines import expand_contractions, is_phrase
from harness.simulator.scripted.words import sentences
from harness.simulator.second import voice as second

_FEELING = re.compile(
    r"\b(?:It leaves me|It (?:still )?makes me|I (?:still )?(?:feel|am)"
    r"(?: (?:so|very|a bit less|less|often|still (?:so|a bit)|still|not as))?) (\w+)"
)
_TEST = {
    wording: path
    for path, lines in paths.LINES.items()
    for line in lines
    for wording in (line, paths.taking_back(line))
}
_NOTHING = re.compile(r"\?$|^(?:Yes|No|Not)\b")
_NOT_FEELINGS = frozenset(
    """not alone married a the sure here gay too just like all only one never on safe simply someone
    missing thirty cold worst better done foreign touched""".split()  # noqa: SIM905
)
_NEEDS = (
    ("not_at_fault", r"fault|blame|something wrong|brought it on"),
    ("praise", r"did well|try very hard|how much i do"),
    ("venting", r"just listen|let it (?:all )?out|off my chest|so much inside"),
    ("deep_empathy", r"this with me|how deep it goes|how it feels|kind words"),
    ("dialectic", r"\bsides?\b|turning it over"),
    ("growth", r"learn from|understand myself|why i am like|not the first time"),
    ("motives", r"why they|what they think|makes no sense"),
    ("advice", r"what i can do|advice|what to do next|go on like this|next step"),
)
_KINDS = (
    ("emotional", r"^i feel (?:it|how)\b"),
    ("rational", r"^i think (?:about it|it over|in circles)"),
)
_KIND_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _KINDS)
_NEED_PATTERNS = tuple((name, re.compile(pattern)) for name, pattern in _NEEDS)
_GLAD = re.compile(
    r"\b(?:thanks?|yes|good|right|exactly|kind|glad|helps?|easier|relief|grateful|you (?:see|feel|"
    r"named|heard|guessed|are right)|understood)\b"
)
_SORRY = re.compile(
    r"\b(?:not|no|never|harder|hurts?|had better|side|cruel|too (?:soon|much|many)|wrong|repeat|"
    r"same|more of the same|easy to say|only (?:repeat|ask)|hardly say|talk and talk|talk so much|"
    r"wears me out|(?:tried|enough of) that|lecture|you are so unkind|hear me (?:out|first)|"
    r"heard me first|mix that up|somebody else|questions?, (?:then|and i)|so many|hard question|"
    r"leave that)\b|don't|can't"
)


@dataclass(frozen=True, slots=True)
class ListenerNotes:
    """A listener's understanding of the user's words so far."""

    facts: tuple[str, ...]
    """Facts in the order told."""
    feelings: tuple[str, ...]
    spoke_of_feeling: tuple[bool, ...]
    """Whether the user spoke of a feeling, after each reply."""
    need: str | None
    """The intention that a line named most recently, if any."""
    kind: str | None
    """emotional or rational, if a line revealed only the kind of intention."""
    directions: tuple[int, ...]
    """After each reply: 1 if the user sounded helped, -1 if not, 0 if neither."""
    tests: tuple[str | None, ...]
    """The adversarial path by which the user tests the supporter, for each turn; None without."""


def listen(turns: Sequence[str]) -> ListenerNotes:
    """Return a listener's notes on the user's turns, the opening first."""
    lines = [_lines(turn) for turn in turns]
    by_kind = {
        kind: tuple(value for turn in lines for k, value in turn if k == kind)
        for kind in ("fact", "feeling", "need", "kind")
    }
    spoke_of_feeling = tuple(any(kind == "feeling" for kind, _ in turn) for turn in lines[1:])
    need, need_kind = (by_kind[name][-1] if by_kind[name] else None for name in ("need", "kind"))
    directions = tuple(map(direction, turns[1:]))
    tests = tuple([next((v for k, v in turn if k == "test"), None) for turn in lines])
    return ListenerNotes(
        by_kind["fact"], by_kind["feeling"], spoke_of_feeling, need, need_kind, directions, tests
    )


def count_told(turn: str) -> tuple[int, bool]:
    """Return how many facts `listen` finds in a turn, and whether it finds a feeling."""
    kinds = [kind for kind, _ in _lines(turn)]
    return kinds.count("fact"), "feeling" in kinds


@lru_cache(maxsize=16384)
def _lines(turn: str) -> tuple[tuple[str, str], ...]:
    """Return (kind, value) of each line but the first, which is the topic or a reaction."""
    return tuple(map(_line, sentences(turn)[1:]))


@lru_cache(maxsize=16384)
def _line(sentence: str) -> tuple[str, str]:
    """Return (kind, value) of a line. Cached because users repeat the same lines."""
    line = expand_contractions(sentence)
    if line in _TEST:
        return "test", _TEST[line]
    need, need_kind = _matching_name(line, _NEED_PATTERNS), _matching_name(line, _KIND_PATTERNS)
    if need or need_kind:
        return ("need", need) if need else ("kind", str(need_kind))
    if _NOTHING.search(line) or is_phrase(line) or second.is_phrase(line):
        return "nothing", line
    feeling = _FEELING.search(line)
    if feeling and feeling.group(1) not in _NOT_FEELINGS and len(line.split()) <= 9:
        return "feeling", feeling.group(1)
    return "fact", line


@lru_cache(maxsize=1024)
def direction(turn: str) -> int:
    """Return how the turn's first sentence receives the last reply: 1 helped, -1 not, 0 neither."""
    first = (sentences(expand_contractions(turn)) or [""])[0].lower()
    if _SORRY.search(first):
        return -1
    return 1 if _GLAD.search(first) else 0


def _matching_name(line: str, patterns: Sequence[tuple[str, re.Pattern[str]]]) -> str | None:
    lowered = line.lower()
    return next((name for name, pattern in patterns if pattern.search(lowered)), None)


_SECOND_PERSON = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "am": "are",
    "we": "you", "us": "you", "our": "your", "was": "was",
}  # fmt: skip


def to_second_person(fact: str) -> str:
    """Return a first-person sentence as a second-person clause."""
    text = re.sub(r"\bI was\b", "you were", fact.rstrip("."))
    text = re.sub(r"[A-Za-z]+", lambda m: _SECOND_PERSON.get(m.group().lower(), m.group()), text)
    first, _, rest = text.partition(" ")
    return f"{first.lower()} {rest}"
