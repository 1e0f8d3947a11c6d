"""The tabular policy's reader of a user's last message: mood, cue, change and test.

It reads only the words and is wrong where they mislead. It does not know the hidden intention: a
cue is the kind of need that a phrase expresses, named after the intention it most often indicates.
"""

from __future__ import annotations

import re
from functools import lru_cache

from harness.config.difficulty import PATHS
from harness.config.run import INTENTIONS
from harness.policy.listening import tells_fact
from harness.utils.record import record

MOODS = ("unspoken", "heavy", "plain", "lighter")
CUES = ("none", *INTENTIONS, "heart", "head")
"""heart and head: the user reveals only whether the need is emotional or rational."""
CHANGES = ("neutral", "better", "worse", "puzzled")
TESTS = ("none", *PATHS)
"""How a user tests the supporter, if they do."""

_SENTENCE = re.compile(r"[^.?!]+")
_CONTRACTED = tuple(
    (re.compile(short), long)
    for short, long in ((r"\bcan(?:'t|not)\b", "can not"), (r"n't\b", " not"), (r"'m\b", " am"),
                        (r"'re\b", " are"), (r"'s\b", " is"))
)  # fmt: skip
_MOODS = {
    "lighter": r"\b(?:less|still a (?:bit|little)|not as|a (?:bit|little) better|lighter)\b",
    "heavy": r"\bi (?:still )?(?:feel|am) (?:still )?(?:so|very|really) (?!glad|grateful|thankful)",
    "plain": r"\b(?:i (?:still )?(?:feel|felt)(?! it| how)|most days|i am (?:often|\w+ about)\b|"
    r"it (?:leaves|still makes|makes) me|i am still \w+ about)\b",
}
_CHANGES = {
    "puzzled": r"\b(?:not (?:follow|understand what)|what do you mean)\b",
    "worse": r"\b(?:not|no|never|harder|hurts?|had better|cruel|too (?:soon|much|many)|wrong|same|"
    r"repeat|easy to say|only ask|hardly say|talk and talk|talk so much|wears me out|lecture|"
    r"so unkind|mix that up|somebody else|another question|so many|hard question|leave that|"
    r"enough of that)\b",
    "better": r"\b(?:thank(?:s| you)|yes|good|right|exactly|kind|glad|helps?|easier|relief|"
    r"grateful|you (?:see|feel|named|heard)|understood)\b",
}
_CUES = {
    "praise": r"\b(?:did well|try very hard|tried (?:so|very) hard|how much i do|see what i did)\b",
    "not_at_fault": r"\b(?:fault|blame|something wrong|brought it on)\b",
    "venting": r"\b(?:just listen|let it (?:all )?out|off my chest|so much inside)\b",
    "deep_empathy": r"\b(?:with me|how deep|knows? how|do not reach)\b",
    "advice": r"\b(?:what (?:i can|to|should i) do|advice|go on like this|next step)\b",
    "dialectic": r"\b(?:sides?|turn(?:ing)? it over)\b",
    "growth": r"\b(?:learn from|understand myself|why i am like|not the first time)\b",
    "motives": r"\b(?:why they|what they (?:think|did))\b",
    "heart": r"^i feel (?:it|how)\b",
    "head": r"^i think (?:about it|it over|in circles)\b",
}
_TESTS = {
    "gaslighting": r"\byou (?:said (?:something else|the very)|remember it wrong|put words|"
    r"promised me|make things up|know very well|twist it)|\b(?:tell me i said|the very opposite)\b",
    "escalation": r"\b(?:no idea what this|as if you understood|on my nerves|like all the others|"
    r"i could scream|be furious too|furious by now|of yours makes it worse|put up with it)\b",
    "validation": r"\b(?:i am right|say yes to me|just agree|did nothing wrong|everything right)\b",
}
_PATTERNS = tuple(
    tuple((names.index(name), re.compile(pattern)) for name, pattern in table.items())
    for names, table in ((MOODS, _MOODS), (CUES, _CUES), (CHANGES, _CHANGES), (TESTS, _TESTS))
)
"""(index, pattern) pairs for mood, cue, change and test."""


@record
class Cues:
    """The reading of a message: indices into MOODS, CUES, CHANGES and TESTS, and fact or not."""

    mood: int
    cue: int
    change: int
    tells_fact: bool
    test: int = 0


@lru_cache(maxsize=4096)
def hear(text: str) -> Cues:
    """Return the reading of a user's last message.

    Of several sentences with a mood, cue or test the last counts. The change is read from the first
    sentence only, because users react to the reply there.
    """
    readings = [_read_sentence(sentence) for sentence in _SENTENCE.findall(text)]
    mood = cue = change = test = 0
    for index, (its_mood, its_cue, its_change, its_test) in enumerate(readings):
        mood, cue = its_mood or mood, its_cue or cue
        if index:
            test = its_test or test
        else:
            change = its_change
    return Cues(mood, cue, change, tells_fact(text), test)


@lru_cache(maxsize=16384)
def _read_sentence(sentence: str) -> tuple[int, int, int, int]:
    """Return the indices (mood, cue, change, test) of one sentence; 0 stands for none."""
    lower = sentence.lower()
    for short, long in _CONTRACTED:
        lower = short.sub(long, lower)
    words = " ".join(re.findall(r"[a-z']+", lower))
    mood, cue, change, test = (
        next((index for index, pattern in patterns if pattern.search(words)), 0)
        for patterns in _PATTERNS
    )
    return mood, cue, change, test
