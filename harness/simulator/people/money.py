"""Users whose trouble is money."""

from harness.simulator.people.persona import Persona

TRAIN = (
    Persona(
        "debt",
        "my debt",
        (
            "I owe the bank a lot of money.",
            "I hide the letters from my wife.",
            "I lost a part of it in a game.",
            "They will come to the house in May.",
            "I sold the ring of my mother.",
        ),
        ("ashamed", "afraid", "trapped"),
        "careful",
    ),
    Persona(
        "rent",
        "the rent",
        (
            "The rent went up again.",
            "I pay half of what I earn for it.",
            "My daughter sleeps in the kitchen.",
            "I wrote to the owner and got no answer.",
            "I have two jobs already.",
        ),
        ("worried", "angry", "tired"),
        "short",
    ),
    Persona(
        "loan",
        "the money I lent",
        (
            "I lent my brother all I had saved.",
            "He bought a car with it.",
            "He does not answer my calls.",
            "My wife told me not to do it.",
            "I need the money for the roof.",
        ),
        ("angry", "disappointed", "guilty"),
        "plain",
    ),
    Persona(
        "shop",
        "my shop",
        (
            "My shop has no clients any more.",
            "A big store opened in our street.",
            "I could not pay my two workers.",
            "My father built the shop.",
            "I work every day until ten at night.",
        ),
        ("afraid", "helpless", "tired"),
        "plain",
    ),
)
HELD_OUT = (
    Persona(
        "bills",
        "my bills",
        (
            "I have not opened my bills since March.",
            "They turned off the light last week.",
            "I told my son it was a game.",
            "My sister paid for my food this month.",
            "I lost my second job.",
        ),
        ("afraid", "ashamed", "worried"),
        "short",
    ),
    Persona(
        "savings",
        "my savings",
        (
            "A man on the phone took all my savings.",
            "He said he was from the bank.",
            "I gave him my number.",
            "My children think I am too old to live alone.",
            "The bank will not pay it back.",
        ),
        ("ashamed", "angry", "helpless"),
        "careful",
    ),
)
