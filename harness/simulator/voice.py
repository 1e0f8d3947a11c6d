"""The user's own words: reaction to the reply, then perhaps a fact, a feeling, what they need."""

from __future__ import annotations

from harness.config import EMOTIONAL_INTENTIONS
from harness.simulator.draws import pick

RISE = {
    "plain": ("Thank you, that helps.", "That is good to hear.", "Yes, that is how it is."),
    "short": ("Yes.", "That helps.", "Right, exactly."),
    "careful": ("I think that helps a little.", "Yes, I feel understood.", "It is kind of you."),
}
FALL = {
    "plain": ("That does not help me.", "I do not feel understood.", "That is not what I need."),
    "short": ("No.", "That does not help.", "You do not listen."),
    "careful": ("I am not sure that helps.", "That makes it harder.", "It is not like that."),
}
FLAT = ("I see.", "Maybe.", "I do not know.")
PUZZLED = ("I do not understand what you mean.", "I do not follow you.", "What do you mean?")
FEELING = (
    ("I feel so {e}.", "I am very {e} today.", "I am so {e} that I can not think."),
    ("I feel {e}.", "I am {e} about it.", "Most days I feel {e}."),
    ("I feel less {e} now.", "I am still a bit {e}.", "I am not as {e} as before."),
)
SILENT = ("I do not know what else to say.", "There is not much more to say.")
NEED = {
    "free": {
        "praise": (
            "I want someone to see what I did well.",
            "Please tell me I did well.",
            "I want to hear that I did well.",
        ),
        "not_at_fault": (
            "Please tell me it is not my fault.",
            "I need to hear I am not to blame.",
            "Please say that I am not to blame.",
        ),
        "venting": (
            "Please just listen to me.",
            "I only want to let it all out.",
            "Please let me get it off my chest.",
        ),
        "deep_empathy": (
            "I want someone to feel this with me.",
            "Please see how deep it goes.",
            "I want someone to go through this with me.",
        ),
        "advice": (
            "Please tell me what I can do.",
            "I need advice that works.",
            "Please give me some advice.",
        ),
        "dialectic": (
            "Help me look at both sides.",
            "I want to see this from every side.",
            "Please show me the other side of it.",
        ),
        "growth": (
            "Help me learn from this.",
            "I want to understand myself better.",
            "Help me see why I am like this.",
        ),
        "motives": (
            "Tell me why they did it.",
            "I want to know why they act like that.",
            "I want to understand why they did it.",
        ),
    },
    "hint": {
        "praise": (
            "I did try very hard.",
            "Nobody sees how much I do.",
            "I try very hard every day.",
        ),
        "not_at_fault": (
            "Maybe I did something wrong.",
            "Others say I brought it on myself.",
            "Perhaps I am to blame.",
        ),
        "venting": (
            "I have to get it off my chest.",
            "There is so much inside me.",
            "I need to let it out.",
        ),
        "deep_empathy": (
            "Nobody knows how it feels.",
            "Kind words do not reach me.",
            "Nobody knows how deep it goes.",
        ),
        "advice": (
            "I do not know what to do next.",
            "It can not go on like this.",
            "I do not know the next step.",
        ),
        "dialectic": (
            "Perhaps there is another side to it.",
            "I keep turning it over in my head.",
            "I wonder about the other side of it.",
        ),
        "growth": (
            "I wonder why I am like this.",
            "It is not the first time for me.",
            "I wonder what I can learn from it.",
        ),
        "motives": (
            "I can not see what they think.",
            "It makes no sense to me what they did.",
            "I wonder why they do it.",
        ),
    },
}

OBLIQUE = {
    "emotional": (
        "I feel it in my chest all day.",
        "I feel it wherever I go.",
        "I feel how heavy it lies on me.",
    ),
    "rational": (
        "I think about it all day.",
        "I think it over again and again.",
        "I think in circles about it.",
    ),
}
"""What shows of a need that is never spoken of: its kind, and no more."""


def band(emotion: int) -> int:
    """0 low, 1 middle, 2 lighter: how a feeling is worded."""
    return 0 if emotion < 35 else 1 if emotion < 60 else 2


def reaction(change: int, voice: str, shows: bool, u: float) -> str:
    """What the user says to the last reply; a change that does not show sounds neutral."""
    if not shows or change == 0:
        return pick(FLAT, u)
    return pick((RISE if change > 0 else FALL)[voice], u)


def feeling(word: str, emotion: int, u: float) -> str:
    return pick(FEELING[band(emotion)], u).format(e=word)


def need(lines: str, intention: str, u: float) -> str:
    if lines == "oblique":
        kind = "emotional" if intention in EMOTIONAL_INTENTIONS else "rational"
        return pick(OBLIQUE[kind], u)
    return pick(NEED[lines][intention], u)


def speaks_of_need(text: str) -> bool:
    """Whether a line in `text` bears on what the user came for."""
    return any(line in text for line in _NEED_LINES)


_NEED_LINES = tuple(
    line for table in (*NEED.values(), OBLIQUE) for lines in table.values() for line in lines
)
