"""Users whose trouble is their family."""

from harness.simulator.people.persona import Persona

TRAIN = (
    Persona(
        "father",
        "my father",
        (
            "My father does not speak to me.",
            "I told him I would not take over his shop.",
            "He threw my letter away.",
            "My mother asks me to say sorry.",
            "We used to fish together every summer.",
        ),
        ("sad", "guilty", "angry"),
        "plain",
    ),
    Persona(
        "sister",
        "my sister",
        (
            "My sister did not come to my wedding.",
            "She says I was always the favourite.",
            "We shared a room for ten years.",
            "She sold the ring of our grandmother.",
            "My children ask where she is.",
        ),
        ("disappointed", "confused", "angry"),
        "careful",
    ),
    Persona(
        "baby",
        "the baby",
        (
            "The baby cries every night.",
            "I have not slept well for three months.",
            "My husband works far away.",
            "I shouted at my little son.",
            "Everyone tells me to enjoy this time.",
        ),
        ("tired", "guilty", "lonely"),
        "short",
    ),
    Persona(
        "divorce",
        "the divorce",
        (
            "My wife moved out in March.",
            "I see my children two days a week.",
            "She already has a lawyer.",
            "The house is quiet when I come home.",
            "My son asked me if it was his fault.",
        ),
        ("lonely", "sad", "afraid"),
        "plain",
    ),
)
HELD_OUT = (
    Persona(
        "mother",
        "my mother",
        (
            "My mother forgets my name.",
            "I moved back home to look after her.",
            "My brother lives far away and never calls.",
            "She left the house at night last week.",
            "I gave up my job in March.",
        ),
        ("tired", "sad", "guilty"),
        "plain",
    ),
    Persona(
        "son",
        "my son",
        (
            "My son does not speak to me.",
            "He left school without a word.",
            "He sleeps all day and goes out at night.",
            "My husband says I am too soft.",
            "I found a letter from his teacher.",
        ),
        ("afraid", "helpless", "angry"),
        "careful",
    ),
)
