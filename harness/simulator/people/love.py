"""Users whose trouble is love."""

from harness.simulator.people.persona import Persona

TRAIN = (
    Persona(
        "breakup",
        "my girlfriend",
        (
            "My girlfriend left me in May.",
            "We were together for four years.",
            "She has someone new already.",
            "I still have her key.",
            "We wanted to get married.",
        ),
        ("sad", "lonely", "empty"),
        "plain",
    ),
    Persona(
        "cheating",
        "my marriage",
        (
            "My husband lied to me for a year.",
            "I found a letter in his coat.",
            "She works in his team.",
            "He says it is over.",
            "My children do not know yet.",
        ),
        ("angry", "ashamed", "confused"),
        "careful",
    ),
    Persona(
        "distance",
        "my boyfriend",
        (
            "My boyfriend works far away.",
            "He calls me once a week.",
            "He forgot my birthday.",
            "I gave up a job to be near him.",
            "My mother says I should leave him.",
        ),
        ("lonely", "worried", "jealous"),
        "short",
    ),
    Persona(
        "alone",
        "being alone",
        (
            "I have been alone for six years.",
            "All my friends are married.",
            "I went to a wedding alone last week.",
            "My mother asks me about it every Sunday.",
            "I cried in the car on my way home.",
        ),
        ("lonely", "sad", "jealous"),
        "plain",
    ),
)
HELD_OUT = (
    Persona(
        "refused",
        "the man I love",
        (
            "I told a colleague that I love him.",
            "He said nothing and left the room.",
            "I see him at work every day.",
            "The whole team knows about it.",
            "I wrote him a letter last night.",
        ),
        ("ashamed", "sad", "nervous"),
        "careful",
    ),
    Persona(
        "fights",
        "my wife",
        (
            "My wife and I fight every evening.",
            "She sleeps in the other room now.",
            "Our little son hears it all.",
            "I shouted at her on Friday.",
            "She wants to see a lawyer.",
        ),
        ("tired", "angry", "afraid"),
        "short",
    ),
)
