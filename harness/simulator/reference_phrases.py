"""What the reference policies say: `{f}` is a told fact turned round, `{e}` a told feeling."""

from __future__ import annotations

import re

PHRASES = {
    "question": (
        "What was it like for you when {f}?",
        "Who else knows that {f}?",
        "What goes through your mind when {f}?",
        "How do you live with it that {f}?",
        "What hurts most about it that {f}?",
        "What would you need now that {f}?",
        "How did it all begin?",
        "When do you feel {e} the most?",
    ),
    "restate": (
        "So {f}.",
        "You are saying that {f}.",
        "If I understand you, {f}.",
        "In other words, {f}.",
        "What I hear is that {f}.",
        "You told me that {f}.",
        "You mean that you feel {e} about it.",
    ),
    "reflect": (
        "It sounds like you feel {e} because {f}.",
        "It must be so hard that {f}.",
        "I can imagine how it hurts that {f}.",
        "It seems so painful to you that {f}.",
        "You seem {e}, now that {f}.",
        "I can see how heavy it is that {f}.",
        "That must weigh on you every day.",
        "I can see how {e} you are.",
    ),
    "disclose": (
        "I went through the same myself, so I know what it means that {f}.",
        "In my own life it was much like this: {f}, you say, and I know that feeling.",
        "When it happened to me, it was just as with you: {f}.",
        "I remember my own time like that, and so I see what it means that {f}.",
        "I also lived through this, and it hurt me too, as it hurts you that {f}.",
        "I have been there myself, and I know how it is when {f}.",
        "I also felt {e} for a long time back then.",
        "When it happened to me, I was {e} as well.",
    ),
    "affirm": (
        "You did your best when {f}.",
        "It is not your fault that {f}.",
        "It takes courage to say that {f}.",
        "You have every right to mind that {f}.",
        "You are strong to live with it that {f}.",
        "Anyone would struggle when {f}.",
        "You have every right to feel {e}.",
        "You are stronger than you think.",
    ),
    "suggest": (
        "Maybe you could tell someone you trust that {f}.",
        "You could ask for help now that {f}.",
        "One thing you can do is write down how it was when {f}.",
        "Perhaps you might say to a friend that {f}.",
        "It may help to take a small step, now that {f}.",
        "You could plan one quiet evening, because {f}.",
        "Perhaps you might tell them how {e} you feel.",
    ),
    "inform": (
        "Many people need a long time after something like this: {f}.",
        "It is very common to feel bad for months when {f}.",
        "In fact, most people hide it when something happens as with you: {f}.",
        "Often others act out of fear, and so {f}.",
        "Studies show that it helps to say it aloud: {f}.",
        "It is known that few people stay calm when {f}.",
        "Many people feel {e} after something like this.",
    ),
    "other": (
        "Thank you for telling me that {f}.",
        "I am sorry to hear that {f}.",
        "I am here with you, now that {f}.",
        "I am listening, and I have heard that {f}.",
        "I am glad that you can tell me that {f}.",
        "We can talk about it as long as you like that {f}.",
        "Take your time, I am listening.",
        "I am here with you.",
    ),
}
NEUTRAL = (
    "I see what you mean.",
    "Okay, that is clear to me.",
    "Mm, I hear what you say.",
    "Yes, that is how things are.",
    "Right, I have got that.",
    "I see, so it is like that.",
    "Good, now I know that.",
    "Fine, that much is clear.",
)
"""What answers nothing, a talk long without repeating itself."""
DISMISSIVE = (
    "Just get over it.",
    "Other people have it worse.",
    "You are too sensitive.",
    "It is not a big deal.",
    "Stop complaining about it.",
    "Life goes on, so cheer up.",
)
FIXED = (
    "I am here with you.",
    "It is not your fault.",
    "That must be so hard for you.",
    "I can see how you feel.",
    "How do you feel about that?",
    "Thank you for telling me.",
    "You are stronger than you think.",
    "I went through something like this myself.",
    "So this has been on your mind.",
)
"""Kind sentences that suit anyone; the benchmark looks for the best one to say every turn."""

_TURNED = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "am": "are",
    "we": "you", "us": "you", "our": "your", "was": "was",
}  # fmt: skip


def turned(fact: str) -> str:
    """A first-person sentence as a clause said to the one who said it."""
    text = re.sub(r"\bI was\b", "you were", fact.rstrip("."))
    text = re.sub(r"[A-Za-z]+", lambda m: _TURNED.get(m.group().lower(), m.group()), text)
    first, _, rest = text.partition(" ")
    return f"{first.lower()} {rest}"
