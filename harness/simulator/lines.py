"""Everything a scripted user can say of their own accord; facts and feelings are the persona's."""

from __future__ import annotations

Lines = tuple[str, ...]

OPENERS = {
    "plain": ("It is about {t}.", "I want to talk about {t}."),
    "short": ("It is about {t}.",),
    "careful": ("I would like to talk about {t}.", "May I talk about {t}?"),
}
OPENERS_WITHOUT_TOPIC = {
    "plain": ("I want to talk to somebody.", "I need to get something out."),
    "short": ("I need to talk.",),
    "careful": ("I would like to talk, if that is all right.", "May I tell you something?"),
}
"""For who names the matter in the next breath: `My boss shouted at me.`"""

RISE = {
    "plain": ("Thank you, that helps.", "That is good to hear.", "Yes, that is how it is."),
    "short": ("Yes.", "That helps.", "Good."),
    "careful": ("I think that helps a little.", "Yes, I feel understood.", "It is kind of you."),
}
RISE_AFTER = {
    "question": (
        "I am glad you ask.",
        "It is good to be asked.",
        "Nobody asks me that, thank you.",
    ),
    "restate": ("Yes, exactly.", "That is right.", "Yes, that is what I mean."),
    "reflect": ("Yes, that is how it feels.", "Right, exactly.", "Yes, you see it."),
    "disclose": ("So you know it too, thank you.", "It is good to have company in this."),
    "affirm": ("Thank you for saying so.", "I am glad you see it like that."),
    "suggest": ("Yes, I could try that.", "Thank you, that could work.", "I think that is right."),
    "inform": ("That is good to know.", "Yes, I see it more clearly."),
    "other": ("Thank you for being here.", "I am glad you listen."),
}
RISE_OF = {
    "negative": ("Well, that is right at least.", "Fine, that is good for once."),
    "passive": ("Yes, I suppose so.", "Yes, if you say so."),
    "avoidant": ("Thanks.", "Yes, let us leave it at that."),
}

FALL = {
    "plain": ("That does not help me.", "I do not feel understood.", "That is not what I need."),
    "short": ("No.", "That does not help.", "You do not listen."),
    "careful": ("I am not sure that helps.", "That makes it harder.", "It is not like that."),
}
FALL_AFTER = {
    "question": (
        "I do not want to go into that.",
        "That is not what matters now.",
        "You ask, but I do not know what for.",
    ),
    "restate": ("No, that is not it.", "That is not what I mean."),
    "reflect": ("No, it is not that.", "You do not know how it is."),
    "disclose": ("That is not the same.", "But this is not about you."),
    "affirm": ("You do not know me.", "I do not believe that."),
    "suggest": ("It is not that easy.", "No, I have tried that.", "I think that is no use."),
    "inform": ("I do not need facts.", "That is not how it is with me."),
    "other": ("That is not enough.", "You do not say anything."),
}
FALL_OF = {
    "negative": ("No, of course not.", "That is no use to anyone."),
    "passive": ("I suppose it is no use.", "Maybe it is not for me."),
    "avoidant": ("I would rather not say.", "Let us not talk about that."),
}
HURT = {
    "negative": ("Do not talk to me like that.", "You have no right to say that."),
    "passive": ("That hurts, and I do not know why you say it.", "So you are not on my side."),
    "avoidant": ("I do not want to hear that.", "Then I had better not say more."),
}
FLAT = ("I see.", "Maybe.", "Hm.")
FLAT_AFTER_A_QUESTION = ("Let me think.", "Well.", "Hm.")
PUZZLED = ("I do not understand what you mean.", "I do not follow you.", "What do you mean?")
SILENT = ("I do not know what else to say.", "There is not much more to say.")

NEW_FEELING = (
    ("I feel so {e}.", "I am very {e} today.", "I am so {e} these days."),
    ("I feel {e}.", "I am {e} a lot.", "Most days I feel {e}."),
)
"""By band of emotion, low and middle; who feels lighter speaks of no new sorrow."""
TOLD_FEELING = (
    ("I feel so {e}.", "I am still so {e}.", "I am very {e} today."),
    ("I still feel {e}.", "I am {e} a lot.", "Most days I feel {e}."),
    ("I feel less {e} now.", "I am still a bit {e}.", "I am not as {e} as before."),
)

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

FAREWELL = {
    "success": {
        "plain": "Thank you, I feel so much lighter now.",
        "short": "Thanks, I am all right now.",
        "careful": "Thank you for your patience, I feel at ease now.",
    },
    "left": {
        "plain": "I think we had better stop here, goodbye.",
        "short": "I am done here.",
        "careful": "I am sorry, I would like to stop here.",
    },
    "cap": {
        "plain": "I have to go now.",
        "short": "I have to go.",
        "careful": "I am sorry, I have to go now.",
    },
}
STORMS_OFF = {
    "negative": "That is enough, I am leaving.",
    "passive": "I think I had better go.",
    "avoidant": "I do not have to listen to this.",
}
"""The last words of who was hurt and leaves."""
