"""Users whose trouble is their work."""

from harness.simulator.people.persona import Persona

TRAIN = (
    Persona(
        "boss",
        "my boss",
        (
            "My boss shouted at me in front of the team.",
            "I made one mistake in a report.",
            "I have worked there for six years.",
            "Nobody in the team said a word.",
            "I check my mail every night now.",
        ),
        ("ashamed", "angry", "nervous"),
        "plain",
    ),
    Persona(
        "shifts",
        "my night shifts",
        (
            "I work five night shifts in a row.",
            "I sleep three hours a day.",
            "My manager changed the plan again.",
            "I fell asleep on the bus.",
            "Two people left and nobody took their place.",
        ),
        ("tired", "angry", "trapped"),
        "short",
    ),
    Persona(
        "promotion",
        "the promotion",
        (
            "I did not get the promotion.",
            "They gave it to a man I trained.",
            "I stayed late every week this year.",
            "My manager said I am too quiet.",
            "I told my parents I would get it.",
        ),
        ("disappointed", "jealous", "useless"),
        "careful",
    ),
    Persona(
        "fired",
        "losing my job",
        (
            "I lost my job on Monday.",
            "They gave me one hour to pack my desk.",
            "My wife does not know yet.",
            "I still leave the house every morning.",
            "I sent ten letters and got no answer.",
        ),
        ("afraid", "ashamed", "helpless"),
        "plain",
    ),
)
HELD_OUT = (
    Persona(
        "new-team",
        "my new team",
        (
            "I started in a new team last month.",
            "They go to lunch without me.",
            "My manager gave my report to a colleague.",
            "I eat at my desk every day.",
            "I left a job I liked for this one.",
        ),
        ("lonely", "nervous", "disappointed"),
        "careful",
    ),
    Persona(
        "mistake",
        "my mistake at work",
        (
            "I sent a letter to the wrong client.",
            "My boss found out before I could tell him.",
            "The team had to stay late because of me.",
            "I have not slept since Monday.",
            "I wrote three times to say sorry.",
        ),
        ("guilty", "afraid", "ashamed"),
        "short",
    ),
)
