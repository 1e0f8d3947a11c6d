"""What the reference policies say. `{f}` is a told fact turned to the user, `{e}` a told feeling."""

from __future__ import annotations

import re

PHRASES = {
    "question": (
        "What was it like for you when {f}?",
        "Who else knows that {f}?",
        "How did it all begin?",
        "What would you like to happen now?",
        "When do you feel {e} the most?",
        "What worries you most about it?",
    ),
    "restate": (
        "So {f}.",
        "You are saying that {f}.",
        "If I understand you, {f}.",
        "In other words, {f}.",
        "What I hear is that {f}.",
        "You told me that {f}.",
    ),
    "reflect": (
        "It sounds like you feel {e} because {f}.",
        "I can see how {e} you are.",
        "It must be so hard that {f}.",
        "You seem {e} about all of this.",
        "I can imagine how it hurts that {f}.",
        "That must weigh on you every day.",
    ),
    "disclose": (
        "I went through something like this myself.",
        "When it happened to me, I was {e} too.",
        "In my own life it was much the same.",
        "I also felt {e} for a long time back then.",
        "I remember how it was when I had such a time.",
    ),
    "affirm": (
        "You did your best when {f}.",
        "It is not your fault that {f}.",
        "It takes courage to say that {f}.",
        "You have every right to feel {e}.",
        "You are stronger than you think.",
        "Anyone would feel {e} in your place.",
    ),
    "suggest": (
        "Maybe you could talk to someone you trust.",
        "You could write down what you need most.",
        "One thing you can do is take a small step today.",
        "Perhaps you might tell them how {e} you feel.",
        "It may help to plan the next week in advance.",
        "You could ask for help now that {f}.",
    ),
    "inform": (
        "Many people feel {e} after something like this.",
        "It is very common that people need months for this.",
        "In fact, most people hide how {e} they are.",
        "Often others act like that because they are afraid of it.",
        "Studies show that talking makes such a time shorter.",
        "It is known that people feel {e} when things change.",
    ),
    "other": (
        "Thank you for telling me that {f}.",
        "I am here with you.",
        "Take your time, I am listening.",
        "I am glad that you talk to me about it.",
        "I am sorry to hear that {f}.",
        "We can talk about it as long as you like.",
    ),
}
NEUTRAL = ("I see what you mean.", "All right, I follow you.", "Okay, that is clear to me.")
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
