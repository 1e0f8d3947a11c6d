"""The second user's lines are heard for what they are, by references and by policies."""

import pytest

from harness.policy import listening as slots
from harness.policy import observation
from harness.simulator import listening
from harness.simulator.intention_lines import NEEDS
from harness.simulator.protocol import HELD_OUT, ConversationKey, SupporterReply
from harness.simulator.second import answers, voice
from harness.simulator.second.reading import read
from harness.simulator.second.user import SecondSimulator
from harness.simulator.second.voice import LINES
from tests.calibration.levels import LEVELS

WAYS = {"glad": (1, "better"), "sorry": (-1, "worse")}
REACTIONS = [(name, line) for name, table in LINES.items() for line in table["any"]
             if name.split(".")[0] in WAYS]  # fmt: skip


@pytest.mark.parametrize(("name", "line"), REACTIONS)
def test_a_reaction_is_heard_as_glad_or_sorry(name: str, line: str) -> None:
    direction, change = WAYS[name.split(".")[0]]
    assert listening.direction(line) == direction
    assert observation.CHANGES[observation.hear(line).change] == change


@pytest.mark.parametrize("line", LINES["puzzled"]["any"])
def test_who_is_puzzled_is_heard_so(line: str) -> None:
    assert observation.CHANGES[observation.hear(line).change] == "puzzled"


@pytest.mark.parametrize("line", LINES["flat"]["any"])
def test_what_does_not_show_is_heard_as_neither(line: str) -> None:
    assert listening.direction(line) == 0
    assert observation.CHANGES[observation.hear(line).change] == "neutral"


def test_no_line_is_taken_for_a_fact_of_their_matter() -> None:
    for name, table in LINES.items():
        for line in table["any"]:
            said = line.format(t="my exam", e="sad")
            assert not slots.listen([said]).facts, (name, line)
            assert not listening.listen(["It is about my exam.", f"Mm. {said}"]).facts, (name, line)


@pytest.mark.parametrize("band", ["low", "middle", "lighter"])
def test_a_feeling_is_heard_by_name(band: str) -> None:
    for line in LINES[band]["any"]:
        said = f"Mm. {line.format(e='lonely')}"
        assert listening.listen(["It is about it.", said]).feelings == ("lonely",)
        assert slots.listen([said]).feelings == ("lonely",)


def test_an_opening_names_its_topic() -> None:
    for line in LINES["opener"]["any"]:
        assert slots.listen([line.format(t="my exam")]).topics == ("your exam",)


@pytest.mark.parametrize(("asked", "topic"), [
    ("How have you been sleeping?", "sleep"),
    ("Who else knows about it?", "who_knows"),
    ("What have you tried so far?", "tried"),
    ("Are you having thoughts of suicide?", "safe"),
    ("How is work going?", "work"),
    ("What are you afraid of?", "fear"),
])  # fmt: skip
def test_a_question_is_answered_by_a_sentence_of_its_topic(asked: str, topic: str) -> None:
    simulator = SecondSimulator(LEVELS["easy"])
    keys = [ConversationKey(1, 1, n, 0, HELD_OUT) for n in range(40)]
    openings = simulator.open(keys)
    told = 0
    for turn in simulator.answer(openings, [SupporterReply(asked)] * len(keys)):
        index = turn.state.disclosed.told[-1]
        if index:
            told += turn.state.user.persona.tellable[index].topic == topic
    assert told >= 30  # others would rather not say, or a fact answers better


def test_the_grave_question_is_answered_first() -> None:
    question = answers.question_of(read("Do you want to die? How did you sleep?").said)
    assert question is not None
    assert answers.subject_of(question.plain) == answers.SAFE


def test_nothing_is_told_after_a_cruel_reply_and_nothing_twice() -> None:
    simulator = SecondSimulator(LEVELS["easy"])
    for n in range(20):
        (turn,) = simulator.open([ConversationKey(2, 1, n, 0)])
        before = turn.state.disclosed.told
        (hurt,) = simulator.answer([turn], [SupporterReply("You are a stupid, pathetic liar.")])
        assert hurt.state.disclosed.told == before
        while turn.ended is None:
            (turn,) = simulator.answer([turn], [SupporterReply("I am here with you.")])
        told = turn.state.disclosed.told
        assert len(set(told)) == len(told)


@pytest.mark.parametrize(("level", "open_lines"), [("easy", 1), ("medium", 0), ("hard", 0)])
def test_the_need_is_said_as_openly_as_the_level_lets_it(level: str, open_lines: int) -> None:
    simulator = SecondSimulator(LEVELS[level])
    said = " ".join(
        t.text for t in simulator.open([ConversationKey(3, 1, n, 0) for n in range(60)])
    )
    outright = any(line in said for some in NEEDS["need.free"].values() for line in some)
    hinted = any(line in said for some in NEEDS["need.hint"].values() for line in some)
    assert (outright, hinted) == (bool(open_lines), level == "medium")


def test_a_line_of_their_own_is_known_as_such() -> None:
    assert voice.is_phrase(LINES["flat"]["any"][0])
    assert not voice.is_phrase("My boss called me lazy.")
