"""Held-out users answer from memory what they would answer anew."""

from dataclasses import replace

import pytest

from harness.config.run import DifficultyConfig, SimulatorConfig
from harness.policy.grammar import speak
from harness.simulator.factory import make
from harness.simulator.protocol import (
    HELD_OUT,
    TRAIN,
    ConversationKey,
    SupporterReply,
    UserSimulator,
    UserTurn,
)
from harness.simulator.scripted.held_out_cache import HeldOutCache
from harness.simulator.scripted.user import ScriptedSimulator

WAYS = (("reflect", "affirm", "question"), ("reflect", "affirm", "suggest"))
"""Two policies' strategies by turn, alike at first."""
KEYS = [ConversationKey(5, 0, user, 0, HELD_OUT) for user in range(6)]

MADE: list[UserSimulator] = []


def talk(simulator: ScriptedSimulator, way: tuple[str, ...]) -> list[UserTurn]:
    """All turns of the users of KEYS, with a supporter who always takes the first wording."""
    turns = simulator.open(KEYS)
    said, heard = list(turns), [[turn.text] for turn in turns]
    for strategy in way:
        replies = [SupporterReply(speak(strategy, texts, lambda: 0.0)) for texts in heard]
        turns = simulator.answer(turns, replies)
        said += turns
        heard = [[*texts, turn.text] for texts, turn in zip(heard, turns, strict=True)]
    return said


def test_users_met_again_answer_as_those_met_for_the_first_time() -> None:
    simulator = ScriptedSimulator(DifficultyConfig(stop_below=0))
    for way in (*WAYS, *WAYS):
        assert talk(simulator, way) == talk(ScriptedSimulator(simulator.difficulty), way)


def test_what_was_said_before_is_not_worked_out_again() -> None:
    simulator = ScriptedSimulator(DifficultyConfig(stop_below=0))
    first, again = talk(simulator, WAYS[0]), talk(simulator, WAYS[0])
    assert [a is b for a, b in zip(first, again, strict=True)] == [True] * len(first)
    other = talk(simulator, WAYS[1])
    alike = len(KEYS) * len(WAYS[0])  # the openings, and all answers but the last
    assert [a is b for a, b in zip(first, other, strict=True)][:alike] == [True] * alike


def test_users_in_training_are_not_remembered() -> None:
    simulator = ScriptedSimulator(DifficultyConfig())
    (turn,) = simulator.open([ConversationKey(5, 1, 0, 0, TRAIN)])
    reply = SupporterReply("It must be painful that all of this goes on.")
    first, again = (simulator.answer([turn], [reply])[0] for _ in range(2))
    assert first == again
    assert first is not again


@pytest.mark.parametrize("cut", [True, False])
def test_another_reply_in_the_same_words_is_another(cut: bool) -> None:
    memory, (turn,) = HeldOutCache(), ScriptedSimulator(DifficultyConfig()).open(KEYS[:1])
    memory.keep_answer(turn.state, SupporterReply("I see.", cut=cut), turn)
    assert memory.answer(turn.state, SupporterReply("I see.", cut=cut)) is turn
    assert memory.answer(turn.state, SupporterReply("I see.", cut=not cut)) is None
    assert memory.answer(turn.state, SupporterReply("I see.", cut=cut, start_z=1.0)) is None


def test_the_answers_used_longest_ago_are_forgotten() -> None:
    memory, turns = HeldOutCache(most=2), ScriptedSimulator(DifficultyConfig()).open(KEYS[:3])
    reply = SupporterReply("I see.")
    for turn in turns[:2]:
        memory.keep_answer(turn.state, reply, turn)
    assert memory.answer(turns[0].state, reply) is turns[0]
    memory.keep_answer(turns[2].state, reply, turns[2])
    known = [memory.answer(turn.state, reply) for turn in turns]
    assert known == [turns[0], None, turns[2]]


def test_the_openings_met_longest_ago_are_forgotten() -> None:
    memory, turns = HeldOutCache(most=2), ScriptedSimulator(DifficultyConfig()).open(KEYS[:3])
    for key, turn in zip(KEYS[:2], turns, strict=False):
        memory.keep_opening(key, turn)
    assert memory.opening(KEYS[0]) is turns[0]
    memory.keep_opening(KEYS[2], turns[2])
    assert [memory.opening(key) for key in KEYS[:3]] == [turns[0], None, turns[2]]


def test_no_other_state_is_taken_for_one_that_was_replied_to() -> None:
    """States are told apart by their place in memory, so what is remembered must keep its own."""
    memory, (turn,) = HeldOutCache(), ScriptedSimulator(DifficultyConfig()).open(KEYS[:1])
    reply = SupporterReply("I see.")
    memory.keep_answer(replace(turn.state), reply, turn)
    others = [replace(turn.state, emotion=emotion) for emotion in range(50)]
    assert [memory.answer(other, reply) for other in others] == [None] * 50


@pytest.mark.parametrize("time", ["first", "second"])
def test_a_config_has_one_simulator_and_each_test_its_own(time: str) -> None:
    users = make(SimulatorConfig(), DifficultyConfig())
    assert make(SimulatorConfig(), DifficultyConfig()) is users
    assert not any(users is other for other in MADE)
    MADE.append(users)
