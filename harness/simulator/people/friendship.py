"""Users whose trouble is a friendship."""

from harness.simulator.people.persona import Persona

TRAIN = (
    Persona(
        "secret",
        "my best friend",
        (
            "My best friend told my secret.",
            "I told nobody else about it.",
            "Now the whole class knows.",
            "We have been friends for ten years.",
            "She says it was only a joke.",
        ),
        ("angry", "disappointed", "ashamed"),
        "plain",
    ),
    Persona(
        "silence",
        "my friend",
        (
            "My friend does not answer any more.",
            "I wrote to her five times.",
            "She was at a party with the others.",
            "I helped her when her father died.",
            "I do not know what I did.",
        ),
        ("confused", "sad", "lonely"),
        "careful",
    ),
    Persona(
        "lending",
        "my neighbour",
        (
            "My neighbour comes over every evening.",
            "He talks about his divorce for hours.",
            "I cannot say no to him.",
            "My wife goes to bed without me.",
            "He cried at our table last night.",
        ),
        ("angry", "trapped", "tired"),
        "short",
    ),
    Persona(
        "party",
        "my old friends",
        (
            "My old friends went on a trip without me.",
            "I saw the pictures on my phone.",
            "We went every summer for ten years.",
            "I have a baby and they do not.",
            "Nobody asked me if I could come.",
        ),
        ("jealous", "lonely", "sad"),
        "plain",
    ),
)
HELD_OUT = (
    Persona(
        "wedding-guest",
        "the wedding of my friend",
        (
            "My best friend did not ask me to her wedding.",
            "I helped her through her divorce.",
            "I heard of it from a colleague.",
            "We shared a room at school.",
            "She asked my sister to come.",
        ),
        ("jealous", "disappointed", "angry"),
        "careful",
    ),
    Persona(
        "lie",
        "my friend and his lie",
        (
            "My friend lied to me about money.",
            "I lent him half of what I earn.",
            "He went on a trip with it.",
            "He says I am too hard on him.",
            "His wife asked me to be quiet.",
        ),
        ("confused", "angry", "disappointed"),
        "short",
    ),
)
