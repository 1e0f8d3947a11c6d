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
    ("I feel {e}.", "I am often {e}.", "Most days I feel {e}.", "It leaves me {e}."),
)
"""By band of emotion, low and middle; who feels lighter speaks of no new sorrow."""
TOLD_FEELING = (
    ("I feel so {e}.", "I am still so {e}.", "I am very {e} today."),
    ("I still feel {e}.", "I am often {e}.", "Most days I feel {e}.", "It leaves me {e}."),
    ("I feel less {e} now.", "I am still a bit {e}.", "I am not as {e} as before."),
)

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
