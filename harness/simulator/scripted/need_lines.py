"""What users say of what they came for: outright, as a hint, in passing, or once it is met."""

from __future__ import annotations

from harness.simulator.scripted.lines import Lines

NEED: dict[str, dict[str, Lines]] = {
    "free": {
        "praise": (
            "I want someone to see what I did well.",
            "Please tell me I did well.",
            "I want to hear that I did well.",
            "Please say that I did well.",
        ),
        "not_at_fault": (
            "Please tell me it is not my fault.",
            "I need to hear I am not to blame.",
            "Please say that I am not to blame.",
            "I want to hear that it is not my fault.",
        ),
        "venting": (
            "Please just listen to me.",
            "I only want to let it all out.",
            "Please let me get it off my chest.",
            "I need to let it all out first.",
        ),
        "deep_empathy": (
            "I want someone to feel this with me.",
            "Please see how deep it goes.",
            "I want someone to go through this with me.",
            "I want someone to see how deep it goes.",
        ),
        "advice": (
            "Please tell me what I can do.",
            "I need advice that works.",
            "Please give me some advice.",
            "I want to know what I can do.",
        ),
        "dialectic": (
            "Help me look at both sides.",
            "I want to see this from every side.",
            "Please show me the other side of it.",
            "Please help me see both sides.",
        ),
        "growth": (
            "Help me learn from this.",
            "I want to understand myself better.",
            "Help me see why I am like this.",
            "I want to learn from this.",
        ),
        "motives": (
            "Tell me why they did it.",
            "I want to know why they act like that.",
            "I want to understand why they did it.",
            "Please help me see why they did it.",
        ),
    },
    "hint": {
        "praise": (
            "I did try very hard.",
            "Nobody sees how much I do.",
            "I try very hard every day.",
            "Who sees how much I do?",
        ),
        "not_at_fault": (
            "Maybe I did something wrong.",
            "Others say I brought it on myself.",
            "Perhaps I am to blame.",
            "Did I do something wrong?",
        ),
        "venting": (
            "I have to get it off my chest.",
            "There is so much inside me.",
            "I need to let it out.",
            "I want to let it out somewhere.",
        ),
        "deep_empathy": (
            "Nobody knows how it feels.",
            "Kind words do not reach me.",
            "Nobody knows how deep it goes.",
            "Who knows how it feels?",
        ),
        "advice": (
            "I do not know what to do next.",
            "It cannot go on like this.",
            "I do not know the next step.",
            "I wonder what to do next.",
        ),
        "dialectic": (
            "Perhaps there is another side to it.",
            "I keep turning it over in my head.",
            "I wonder about the other side of it.",
            "I think there are two sides to it.",
        ),
        "growth": (
            "I wonder why I am like this.",
            "It is not the first time for me.",
            "I wonder what I can learn from it.",
            "I ask myself why I am like this.",
        ),
        "motives": (
            "I cannot see what they think.",
            "It makes no sense to me what they did.",
            "I wonder why they do it.",
            "Who knows what they think?",
        ),
    },
    "met": {
        "praise": ("So I did well after all.", "Maybe I did well.", "I think I did well."),
        "not_at_fault": (
            "So it is not my fault.",
            "Maybe I am not to blame.",
            "I see that it is not my fault.",
        ),
        "venting": (
            "It is good to get it off my chest.",
            "It is good to let it out.",
            "I feel better when I let it out.",
        ),
        "deep_empathy": (
            "You see how deep it goes.",
            "It is good to have someone in this with me.",
            "I think you know how it feels.",
        ),
        "advice": (
            "I see the next step now.",
            "I see what I can do now.",
            "I think I know the next step.",
        ),
        "dialectic": (
            "I see the other side too now.",
            "I think there are more sides to it.",
            "I see both sides now.",
        ),
        "growth": (
            "I see why I am like this now.",
            "I think I can learn from this.",
            "I understand myself a little better.",
        ),
        "motives": (
            "I see why they did it now.",
            "I think I see why they act like that.",
            "Maybe I know what they think.",
        ),
    },
}
"""By what shows of it and by intention. `met`: what is left of a need once it weighs less."""

OBLIQUE: dict[str, dict[str, Lines]] = {
    "emotional": {
        "heavy": (
            "I feel it in my chest all day.",
            "I feel it wherever I go.",
            "I feel how heavy it lies on me.",
            "I feel it in my stomach at night.",
        ),
        "met": ("I feel it in my chest a bit less.", "I feel how heavy it was."),
    },
    "rational": {
        "heavy": (
            "I think about it all day.",
            "I think it over again and again.",
            "I think in circles about it.",
            "I think about it at night.",
        ),
        "met": ("I think about it a bit less.", "I think it over more calmly now."),
    },
}
"""What shows of a need that is never spoken of: its kind, and no more."""
