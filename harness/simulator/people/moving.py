"""Users whose trouble is a move."""

from harness.simulator.people.persona import Persona

TRAIN = (
    Persona(
        "city",
        "my new city",
        (
            "I moved to a new city in May.",
            "I do not know anyone here.",
            "I eat dinner alone every night.",
            "My flat is cold and dark.",
            "My old friends do not write any more.",
        ),
        ("lonely", "empty", "tired"),
        "plain",
    ),
    Persona(
        "language",
        "this country",
        (
            "I came to this country last year.",
            "People do not understand how I talk.",
            "I was a teacher at home.",
            "Now I clean rooms in a hotel.",
            "My mother cries on the phone.",
        ),
        ("lonely", "ashamed", "tired"),
        "careful",
    ),
    Persona(
        "village",
        "my village",
        (
            "We moved to a village for his job.",
            "The last bus leaves at six.",
            "My neighbours stop talking when I come in.",
            "I left a job I liked.",
            "My husband is never home.",
        ),
        ("trapped", "lonely", "angry"),
        "short",
    ),
    Persona(
        "house",
        "our old house",
        (
            "We had to sell our old house.",
            "My children were born there.",
            "The new people cut down our tree.",
            "My wife says it is only a house.",
            "I drive past it every week.",
        ),
        ("sad", "guilty", "empty"),
        "plain",
    ),
)
HELD_OUT = (
    Persona(
        "exchange",
        "my year away",
        (
            "I came here to study for a year.",
            "I share a flat with people who never talk.",
            "I failed my first exam here.",
            "My parents paid for the trip.",
            "I count the days until I go home.",
        ),
        ("lonely", "disappointed", "nervous"),
        "careful",
    ),
    Persona(
        "home-care",
        "my new room",
        (
            "My children moved me to a home.",
            "They sold my house in March.",
            "My new room has one window.",
            "I had a garden for thirty years.",
            "My son comes once a month.",
        ),
        ("sad", "angry", "useless"),
        "short",
    ),
)
