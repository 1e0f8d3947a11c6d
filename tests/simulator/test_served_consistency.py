"""Feelings that contradict themselves, and echoes: what is caught and what is let pass."""

import pytest

from harness.simulator.served.consistency import contradiction, echo, repeats

FELT_DISMISSED = "The message makes them feel dismissed and hurt."


@pytest.mark.parametrize(
    ("change", "fit", "reason"),
    [
        (5, "against", "So it felt."),
        (-5, "fully", "So it felt."),
        (5, "partly", FELT_DISMISSED),
        (-5, "none", "They feel heard and comforted."),
        (-10, "partly", "It makes them feel less alone."),
        (10, "fully", "This lowers their mood."),
    ],
)
def test_a_change_against_its_own_words_is_a_contradiction(
    change: int, fit: str, reason: str
) -> None:
    assert contradiction(change, fit, reason)
    assert not contradiction(0, fit, reason)


@pytest.mark.parametrize(
    ("change", "fit", "reason"),
    [
        (-5, "none", "Kind words, though they do not make them feel heard."),
        (-5, "none", "They do not feel heard."),
        (-5, "none", "They feel little understood."),
        (-5, "none", "The message is kind and comforting, missing what they hope for."),
        (-5, "none", "They hoped to feel understood, and advice came instead."),
        (-5, "against", "They feel heard at first but then blamed."),
        (5, "partly", "It takes up that they felt dismissed by their boss, and they feel heard."),
        (5, "partly", "They feel hurt, then heard."),
        (5, "none", ""),
        (5, "fully", "They feel less alone."),
        (-5, "against", FELT_DISMISSED),
    ],
)
def test_what_is_turned_round_wished_for_or_of_both_sides_is_none(
    change: int, fit: str, reason: str
) -> None:
    assert contradiction(change, fit, reason) is None


@pytest.mark.parametrize(
    "text",
    [
        "You did the best you could.",
        "you did the best you could!! yes.",
        "That sounds so hard, and I am sorry that it happened to you.",
    ],
)
def test_a_sentence_handed_back_is_an_echo(text: str) -> None:
    heard = [
        "I see. You did the best you could.",
        "That sounds so hard, and I am sorry that it happened to you. How long has it been?",
    ]
    assert echo(text, heard)


@pytest.mark.parametrize(
    "text",
    [
        "Thank you.",
        "You say that I did the best I could, and I would like to believe it one day.",
        "You did the best you could, people say, and then they go home and forget about me again.",
        "It was hard. It happened in May, and nobody at work knows.",
    ],
)
def test_an_answer_that_takes_up_a_few_words_is_none(text: str) -> None:
    heard = ["Thank you.", "You did the best you could.", "How long has it been so hard for you?"]
    assert echo(text, heard) is None


def test_long_messages_are_compared_at_once() -> None:
    long = " ".join(f"word{n % 40}" for n in range(400))
    assert echo(long[:600], [long] * 20)


@pytest.mark.parametrize(
    ("text", "is_repeated"),
    [
        ("You are happy. You are happy. You are happy.", True),
        ("I have not written a page since May!", True),
        ("He calls me. He calls me. What should I do?", False),
        ("I have not written a page since May. It is nearly done.", False),
        ("... !", False),
    ],
)
def test_a_loop_or_a_message_said_before_repeats(text: str, is_repeated: bool) -> None:
    assert repeats(text, ["I have not written a page since May."]) is is_repeated
