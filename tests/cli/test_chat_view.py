"""A talk as it is printed: whatever a simulator says is text, whatever parts it has are words."""

import io

import pytest
from rich.console import Console

from harness.cli import chat_view
from harness.cli.chat_view import NEVER_WRAPPED, HiddenTraits
from harness.simulator.protocol import UserTurn
from harness.testing.payloads import PAYLOADS

NOTHING_HIDDEN = HiddenTraits(None, None, None, None)


def turn(
    text: str = "Hm.",
    emotion: int = 40,
    change: int | None = None,
    ended: str | None = None,
    why: dict[str, float | str] | None = None,
) -> UserTurn:
    return UserTurn(text, emotion, change, float(emotion), ended, (), False, why or {}, None)


def shown(
    user_turn: UserTurn, hidden: HiddenTraits | None = None, width: int = NEVER_WRAPPED
) -> list[str]:
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=width != NEVER_WRAPPED, color_system=None
    )
    chat_view.show_turn(user_turn, hidden, console)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_a_user_says_is_obeyed_by_the_terminal(payload: str) -> None:
    for line in shown(turn(payload)):
        assert line.isprintable()


def test_a_second_line_of_the_user_cannot_pass_for_the_supporter() -> None:
    lines = shown(turn("I am fine.\nyou     I lied to you."))
    assert [line for line in lines if line.startswith("you")] == []
    assert "user    you     I lied to you." in lines


def test_a_long_sentence_is_wrapped_below_itself() -> None:
    lines = shown(turn("word " * 30), width=60)
    assert all(len(line) <= 60 for line in lines)
    assert lines[2].startswith(" " * 8 + "word")


@pytest.mark.parametrize(
    ("emotion", "change", "line"),
    [
        (0, -10, "emotion [....................]   0  -10"),
        (45, 5, "emotion [#########...........]  45  +5"),
        (100, 0, "emotion [####################] 100  0"),
    ],
)
def test_the_bar_is_as_long_as_the_emotion(emotion: int, change: int | None, line: str) -> None:
    assert shown(turn("", emotion, change))[-1].rstrip() == line


def test_parts_that_nobody_foresaw_are_named_by_their_key() -> None:
    why: dict[str, float | str] = {"new_part": -0.5, "hurt": 0.0, "kind_of_thing": "odd"}
    assert list(chat_view.reasons(why)) == ["new part -0.50", "kind of thing: odd"]


def test_the_parts_of_an_appraisal_sum_to_its_log_odds() -> None:
    why = {"worth": 0.5, "hurt": -4.0, "logit": -1.9}
    assert list(chat_view.reasons(why)) == [
        "worth to this user +1.10",
        "hurts -4.00",
        "who they are, and their present state +1.00",
        "log-odds of a rise -1.90 (13%)",
    ]


def test_a_simulator_that_tells_nothing_leaves_nothing_to_reveal() -> None:
    assert list(chat_view.came_for(NOTHING_HIDDEN)) == []
    lines = shown(turn("Hm.", 45, 5), NOTHING_HIDDEN)
    assert lines[-1] == "heard   no strategy"


@pytest.mark.parametrize(
    ("ended", "sentence"),
    [
        ("success", "success: the user feels well; emotion 40 to 100 in 2 replies, 1 up, 1 down"),
        ("odd", "odd; emotion 40 to 100 in 2 replies, 1 up, 1 down"),
        (None, "stopped: you ended the conversation; emotion 40 to 100 in 2 replies, 1 up, 1 down"),
    ],
)
def test_the_summary_counts_what_helped(ended: str | None, sentence: str) -> None:
    turns = [turn(), turn("", 30, -10), turn("", 100, 70, ended)]
    assert chat_view.summary(turns) == sentence
