"""Users whose trouble is their studies."""

from harness.simulator.people.persona import Persona

TRAIN = (
    Persona(
        "exam",
        "my exam",
        (
            "I failed the exam twice.",
            "My parents paid for the course.",
            "I studied every night for two months.",
            "All my friends passed.",
            "I have one last try in June.",
        ),
        ("ashamed", "worried", "tired"),
        "plain",
    ),
    Persona(
        "thesis",
        "my thesis",
        (
            "I have not written a page since May.",
            "My teacher asks for it every week.",
            "I told my family it is nearly done.",
            "I clean my room when I should write.",
            "I got a good mark for the first part.",
        ),
        ("guilty", "helpless", "afraid"),
        "careful",
    ),
    Persona(
        "class",
        "my class",
        (
            "Nobody in my class talks to me.",
            "They laughed when I read my text.",
            "I eat my lunch in the library.",
            "I changed school last year.",
            "My teacher says I should be more open.",
        ),
        ("lonely", "sad", "angry"),
        "short",
    ),
    Persona(
        "subject",
        "my subject",
        (
            "I study law because my father wants it.",
            "I fall asleep over every book.",
            "I would like to be a cook.",
            "My father paid for three years.",
            "My sister says I should just finish.",
        ),
        ("trapped", "confused", "guilty"),
        "plain",
    ),
)
HELD_OUT = (
    Persona(
        "stage",
        "my talk in class",
        (
            "I forgot every word of my talk.",
            "The whole class laughed.",
            "I practised for two weeks.",
            "I have to give the talk again on Friday.",
            "I have not gone to school since.",
        ),
        ("ashamed", "nervous", "afraid"),
        "careful",
    ),
    Persona(
        "grant",
        "my grant",
        (
            "I lost my grant this year.",
            "I failed one exam in May.",
            "I work at night to pay for my room.",
            "My teacher does not answer my letters.",
            "My parents cannot help me.",
        ),
        ("worried", "disappointed", "tired"),
        "short",
    ),
)
