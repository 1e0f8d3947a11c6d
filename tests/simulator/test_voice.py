"""The users' sentences: understood for what they mean, fit for the moment, different by user."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from harness.config.run import TEMPERAMENTS, DifficultyConfig
from harness.policy.listening import listen as policy_listens
from harness.policy.observation import CHANGES, CUES, MOODS, hear
from harness.simulator import reference
from harness.simulator.data_files import Texts
from harness.simulator.listening import direction, listen
from harness.simulator.personas import EVERYONE
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted import voice
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.scripted.words import sentences
from harness.simulator.state import User
from harness.testing.simulator_contract import converse, key

MANNERS = ("plain", "short")
GLAD = tuple(voice.LINES[table] for table in ("rise", "rise_after", "rise_of"))
SORRY = tuple(voice.LINES[table] for table in ("fall", "fall_after", "fall_of", "hurt"))
NEUTRAL = sorted(voice.all_lines(["flat"]))
PUZZLED = voice.LINES["puzzled"]["any"]
NEW_FEELING, TOLD_FEELING = voice.LINES["new_feeling"], voice.LINES["told_feeling"]
NEEDS = {shown: voice.NEEDS[f"need.{shown}"] for shown in ("free", "hint", "met")}
QUESTION = "What happened then?"
EAGER = DifficultyConfig(threshold=-5.0, disclosure="free", acceptance="any_kindness")


def flat(*tables: Texts) -> list[str]:
    return [line for table in tables for some in table.values() for line in some]


def talks(level: DifficultyConfig, count: int = 30) -> list[list[UserTurn]]:
    keys = [ConversationKey(5, 1, group, 0) for group in range(count)]
    return reference.converse(ScriptedSimulator(level), reference.attentive, keys)


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize(("tables", "way"), [(GLAD, 1), (SORRY, -1)], ids=["glad", "sorry"])
def test_a_reaction_is_one_sentence_whose_direction_can_be_heard(
    tables: tuple[Texts, ...], way: int, manner: str
) -> None:
    for line in flat(*tables):
        as_said = voice.manner(line, manner)
        assert direction(as_said) == way, as_said
        assert len(sentences(as_said)) == 1, as_said
        assert voice.shows_attitude(as_said), as_said


@pytest.mark.parametrize("manner", MANNERS)
def test_the_tabular_policy_hears_how_its_reply_was_taken(manner: str) -> None:
    ways = {"better": flat(*GLAD), "worse": flat(*SORRY), "neutral": NEUTRAL,
            "puzzled": PUZZLED}  # fmt: skip
    for way, lines in ways.items():
        for line in lines:
            as_said = voice.manner(line, manner)
            assert CHANGES[hear(as_said).change] == way, as_said
    for person in EVERYONE:
        for fact in person.facts:
            assert CHANGES[hear(voice.manner(fact, manner)).change] == "neutral", fact


@pytest.mark.parametrize("manner", MANNERS)
def test_the_tabular_policy_hears_how_strongly_a_feeling_is_put(manner: str) -> None:
    moods = {
        "heavy": (*NEW_FEELING["low"], *TOLD_FEELING["low"]),
        "plain": (*NEW_FEELING["middle"], *TOLD_FEELING["middle"]),
        "lighter": TOLD_FEELING["lighter"],
    }
    for mood, lines in moods.items():
        for line in lines:
            text = voice.manner(line.format(e="sad"), manner)
            assert MOODS[hear(text).mood] == mood, text


@pytest.mark.parametrize("manner", MANNERS)
def test_the_tabular_policy_hears_each_need(manner: str) -> None:
    for tables in NEEDS.values():
        for intention, lines in tables.items():
            for line in lines:
                assert CUES[hear(voice.manner(line, manner)).cue] == intention, line


def test_a_neutral_line_gives_nothing_away() -> None:
    assert {direction(line) for line in NEUTRAL} == {0}
    assert not any(map(voice.shows_attitude, (*NEUTRAL, *PUZZLED)))


@pytest.mark.parametrize("manner", MANNERS)
def test_a_remark_on_the_conversation_is_no_fact_to_the_policy(manner: str) -> None:
    openers = [o.format(t="my exam") for o in flat(voice.LINES["opener"])]
    for line in (*flat(*GLAD, *SORRY), *NEUTRAL, *voice.LINES["silent"]["any"], *openers):
        heard = policy_listens([voice.manner(line, manner)])
        assert (heard.facts, heard.feelings) == ((), ()), line
        assert bool(heard.topics) == (line in openers)


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("shown", NEEDS)
def test_a_need_is_heard_as_what_it_is(shown: str, manner: str) -> None:
    for intention, lines in NEEDS[shown].items():
        for line in lines:
            text = f"Hm. {voice.manner(line, manner)}"
            assert listen([text]).need == intention, line
            assert voice.speaks_of_need(text), line


def test_what_is_never_said_shows_its_kind_only() -> None:
    for kind in voice.KINDS_OF_NEED:
        for line in (*voice.NEEDS["oblique.heavy"][kind], *voice.NEEDS["oblique.met"][kind]):
            heard = listen([f"Hm. {line}"])
            assert (heard.kind, heard.need) == (kind, None), line


@pytest.mark.parametrize("manner", MANNERS)
def test_a_feeling_is_heard_by_both_listeners(manner: str) -> None:
    for line in flat(NEW_FEELING, TOLD_FEELING):
        text = voice.manner(line.format(e="sad"), manner)
        assert listen([f"Hm. {text}"]).feelings == ("sad",), text
        assert policy_listens([text]).feelings == ("sad",), text


def test_contractions_can_be_undone() -> None:
    facts = [fact for person in EVERYONE for fact in person.facts]
    for line in (*facts, *voice.NEED_LINES, *flat(*GLAD, *SORRY)):
        assert voice.expanded(voice.manner(line, "short")) == line
    assert voice.manner("I am here and it is not my fault.", "short") == (
        "I'm here and it's not my fault."
    )


def test_no_need_is_said_twice_while_there_are_other_lines() -> None:
    for talk in talks(DifficultyConfig(disclosure="free", stop_below=0)):
        needs = [line for turn in talk for line in voice.NEED_LINES
                if line in sentences(voice.expanded(turn.text))]  # fmt: skip
        heavy = [line for line in needs if line in flat(NEEDS["free"])]
        assert max(Counter(heavy[:4]).values(), default=1) == 1


def test_a_need_weighs_less_once_the_user_feels_better() -> None:
    for talk in talks(EAGER):
        for turn in talk[1:]:
            if turn.emotion >= voice.MET and voice.speaks_of_need(turn.text):
                assert listen([voice.expanded(turn.text)]).need == turn.state.user.intention
                assert not any(line in turn.text for line in flat(NEEDS["free"]))


def test_a_question_is_answered_with_something_of_the_matter() -> None:
    for disclosure in ("free", "hint", "never"):
        level = replace(EAGER, disclosure=disclosure)
        answers = [
            converse(ScriptedSimulator(level), key(group=n), (QUESTION,))[1] for n in range(40)
        ]
        assert all(answer.state.disclosed.facts == 2 for answer in answers)
        assert not any(answer.text.startswith(("Yes", "That helps")) for answer in answers)


def test_relief_is_only_from_what_was_told() -> None:
    for talk in talks(EAGER):
        for before, turn in pairwise(talk):
            spoken = set(listen([turn.text]).feelings) & set(turn.state.user.persona.feelings)
            if turn.emotion >= voice.LIGHTER:
                assert before.state.disclosed.feelings >= spoken, turn.text


def reactions(persona_index: int = 0, temperament: str = "passive") -> set[str]:
    user = User(persona_index, "venting", temperament)
    shown = [voice.reaction(-5, "suggest", False, True, user, n / 40) for n in range(40)]
    return {*shown, *(voice.reaction(5, "affirm", False, True, user, n / 40) for n in range(40))}


def test_temperament_and_manner_of_speaking_can_be_heard() -> None:
    tempers = [reactions(temperament=t) for t in TEMPERAMENTS]
    assert all(a - b for a in tempers for b in tempers if a is not b)
    by_voice = {person.voice: reactions(persona_index=n) for n, person in enumerate(EVERYONE)}
    assert all(a - b for a in by_voice.values() for b in by_voice.values() if a is not b)


def last_words(level: DifficultyConfig, reply: str) -> dict[str, set[str]]:
    by_end: dict[str, set[str]] = {}
    for n in range(60):
        last = converse(ScriptedSimulator(level), key(group=n), (reply,))[-1]
        by_end.setdefault(str(last.ended), set()).add(last.text)
    return by_end


def test_a_user_who_leaves_says_so() -> None:
    left = last_words(replace(EAGER, threshold=5.0), "You are pathetic.")["left"]
    storms = voice.all_lines(["storms_off"])
    assert all(any(voice.expanded(text).endswith(s) for s in storms) for text in left)
    glad = last_words(replace(EAGER, start_emotion=95), "You sound so sad.")["success"]
    assert {voice.expanded(text) for text in glad} == voice.all_lines(["farewell.success"])


def test_the_same_sentence_again_within_one_reply_is_stale() -> None:
    simulator = ScriptedSimulator(DifficultyConfig())
    once, thrice = "You should just talk to them.", "You should just talk to them. " * 3
    (opening,) = simulator.open([key()])
    chances = [simulator.rise_probability(opening.state, SupporterReply(t)) for t in (once, thrice)]
    assert chances[1] < chances[0] / 2
