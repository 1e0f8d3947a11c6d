"""Users whose trouble is a loss."""

from harness.simulator.people.persona import Persona

TRAIN = (
    Persona(
        "dog",
        "my dog",
        (
            "My dog died on Friday.",
            "I had him for twelve years.",
            "I had to say yes to the doctor.",
            "His bed is still in the kitchen.",
            "My boss says it was only a dog.",
        ),
        ("sad", "guilty", "empty"),
        "plain",
    ),
    Persona(
        "husband",
        "my husband",
        (
            "My husband died in March.",
            "We were married for thirty years.",
            "I still cook for two.",
            "My friends do not say his name.",
            "His coat is still at the door.",
        ),
        ("empty", "lonely", "sad"),
        "careful",
    ),
    Persona(
        "grandmother",
        "my grandmother",
        (
            "My grandmother died last week.",
            "I did not visit her in the end.",
            "She taught me how to cook.",
            "My family fights over her house.",
            "I was on a trip when they called.",
        ),
        ("guilty", "sad", "angry"),
        "short",
    ),
    Persona(
        "pregnancy",
        "the child we lost",
        (
            "We lost a child in the fifth month.",
            "We had a name for her.",
            "My husband does not want to talk about it.",
            "My sister is having a baby in June.",
            "The doctor says we can try again.",
        ),
        ("empty", "guilty", "sad"),
        "careful",
    ),
)
HELD_OUT = (
    Persona(
        "cat",
        "my cat",
        (
            "My cat did not come home.",
            "I had her for ten years.",
            "I look for her every night.",
            "I left the door open.",
            "My neighbour says I should get a new one.",
        ),
        ("sad", "empty", "lonely"),
        "short",
    ),
    Persona(
        "brother",
        "my brother",
        (
            "My brother died in a car.",
            "We had a fight the day before.",
            "My mother does not leave her room.",
            "I have his phone and cannot open it.",
            "He was to come to my wedding.",
        ),
        ("sad", "angry", "guilty"),
        "plain",
    ),
)
