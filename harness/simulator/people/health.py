"""Users whose trouble is a health worry."""

from harness.simulator.people.persona import Persona

TRAIN = (
    Persona(
        "scan",
        "my scan",
        (
            "The doctor found a spot on my lung.",
            "I have to wait three weeks for the result.",
            "My aunt died of cancer at my age.",
            "I read about it every night.",
            "I have not told my children.",
        ),
        ("afraid", "nervous", "lonely"),
        "careful",
    ),
    Persona(
        "back",
        "my back",
        (
            "My back has hurt for a year.",
            "I had to give up my garden.",
            "The doctor says there is nothing on the scan.",
            "My boss thinks I am lazy.",
            "I cannot lift my little daughter.",
        ),
        ("angry", "useless", "tired"),
        "short",
    ),
    Persona(
        "panic",
        "my heart",
        (
            "My heart races on the train.",
            "I thought I would die last Friday.",
            "The doctor says my heart is fine.",
            "I walk to work now for an hour.",
            "My friends think I avoid them.",
        ),
        ("afraid", "ashamed", "helpless"),
        "plain",
    ),
    Persona(
        "sleep",
        "my sleep",
        (
            "I lie awake until four in the morning.",
            "I take pills that do not work.",
            "I fell asleep in a meeting.",
            "My wife sleeps in the other room.",
            "It began when my father fell ill.",
        ),
        ("tired", "worried", "nervous"),
        "plain",
    ),
)
HELD_OUT = (
    Persona(
        "knee",
        "my operation",
        (
            "I need an operation on my knee.",
            "I have to wait for six months.",
            "I live alone on the third floor.",
            "I used to run every morning.",
            "My brother cannot come to help me.",
        ),
        ("worried", "angry", "helpless"),
        "short",
    ),
    Persona(
        "sugar",
        "my illness",
        (
            "The doctor says I have diabetes.",
            "I hide it from my colleagues.",
            "My mother lost a foot to it.",
            "I ate a whole cake last night.",
            "I have to check my blood every day.",
        ),
        ("ashamed", "worried", "tired"),
        "careful",
    ),
)
