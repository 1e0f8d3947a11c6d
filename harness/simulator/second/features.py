"""What a sentence is judged by: its words, denied or not, pairs of words, and the cues in it.

A word up to three words after a word of denial is another word (`!good`), as Das and Chen (2001)
have it; of a sentence that speaks to the user (`you`) each word counts apart as well.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.simulator.second.patterns import Found
from harness.simulator.second.text import Sentence

DENIALS = frozenset(
    ["not", "no", "never", "nobody", "none", "nothing", "neither", "nor", "hardly", "without"]
)
DENIED_WITHIN = 3
MOST_WORDS = 60
"""Of a longer sentence the rest is not judged."""
_YOU = frozenset(["you", "your", "yours", "yourself"])
_I = frozenset(["i", "me", "my", "myself"])


def features(sentence: Sentence, signs: Collection[Found]) -> set[str]:
    """Return the features of a sentence; `signs`: the cues in it that are not taken back."""
    words = _denied(sentence.words[:MOST_WORDS])
    found = {"", *words, *map(" ".join, zip(("^", *words), words, strict=False))}
    found.update([f"#{sign.pattern.cue}" for sign in signs])
    heavy = sum(sign.pattern.weight for sign in signs if sign.pattern.cue in ("harm", "label"))
    found.add(f"#harm {min(3, int(2 * heavy))}")
    found.add(f"#ends {words[-1]}" if words else "#ends")
    if sentence.asks:
        found.add("?")
    if not _YOU.isdisjoint(words):
        found.update([f"you {word} +" for word in words])
    elif not _I.isdisjoint(words):
        found.add("#i")
    return found


def _denied(words: Sequence[str]) -> list[str]:
    left, marked = 0, []
    for word in words:
        marked.append(f"!{word}" if left and word not in DENIALS else word)
        left = DENIED_WITHIN if word in DENIALS else max(0, left - 1)
    return marked
