"""The users' sentences: understood for what they mean, fit for the moment, different by user."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from harness.config.run import TEMPERAMENTS, DifficultyConfig
from harness.policy.listening import listen as policy_listens
from harness.policy.observation import CHANGES, CUES, MOODS, hear
from harness.simulator import intention_lines, reference
from harness.simulator.listening import direction, listen
from harness.simulator.personas import EVERYONE, VOICES
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted import lines
from harness.simulator.scripted.feelings_and_needs import LIGHTER, MET
from harness.simulator.scripted.lines import LINES, manner, rows_of
from harness.simulator.scripted.reactions import ReplyEffect, reaction
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.scripted.words import sentences
from harness.testing.simulator_contract import converse, key

MANNERS = ("plain", "short")
GLAD = [line for name in LINES if name.startswith("rise") for line in rows_of(LINES[name])]
SORRY = [
    line for name in LINES if name.startswith(("fall", "hurt")) for line in rows_of(LINES[name])
]
NEUTRAL = sorted(lines.all_lines(["flat"]))
PUZZLED = LINES["puzzled"]["any"]
NEW_FEELING, TOLD_FEELING = LINES["new_feeling"], LINES["told_feeling"]
NEEDS = {
    name: table for name, table in intention_lines.NEEDS.items() if name.startswith("need")
}  # fmt: skip
QUESTION = "What happened then?"
EAGER = DifficultyConfig(threshold=-5.0, disclosure="free", acceptance="any_kindness")
FILLED = {"x": "my nights", "e": "sad", "n": "4"}


def filled(table: str, line: str) -> str:
    text = line.format(**{**FILLED, **({"x": "medication"} if table == "nothing_of" else {})})
    return text[:1].upper() + text[1:]


REMARKS = [
    filled(name, line)
    for name, table in lines.ANSWERS.items()
    for line in rows_of(table)
    if name != "name"
]


def talks(level: DifficultyConfig, count: int = 30) -> list[list[UserTurn]]:
    keys = [ConversationKey(5, 1, group, 0) for group in range(count)]
    return reference.converse(ScriptedSimulator(level), reference.attentive, keys)


@pytest.mark.parametrize("by", MANNERS)
@pytest.mark.parametrize(("some", "way"), [(GLAD, 1), (SORRY, -1)], ids=["glad", "sorry"])
def test_a_reaction_is_one_sentence_whose_direction_can_be_heard(
    some: list[str], way: int, by: str
) -> None:
    for line in some:
        as_said = manner(line, by)
        assert direction(as_said) == way, as_said
        assert len(sentences(as_said)) == 1, as_said
        assert lines.shows_attitude(f"{as_said} I slept."), as_said


@pytest.mark.parametrize("by", MANNERS)
def test_the_tabular_policy_hears_how_its_reply_was_taken(by: str) -> None:
    ways = {"better": GLAD, "worse": SORRY, "neutral": NEUTRAL, "puzzled": PUZZLED}
    for way, some in ways.items():
        for line in some:
            as_said = manner(line, by)
            assert CHANGES[hear(as_said).change] == way, as_said
    for person in EVERYONE:
        for told in person.tellable:
            heard = hear(f"Hm. {manner(told.text, by)}")
            assert CHANGES[heard.change] == "neutral", told.text


@pytest.mark.parametrize("by", MANNERS)
def test_the_tabular_policy_hears_how_strongly_a_feeling_is_put(by: str) -> None:
    moods = {
        "heavy": (*NEW_FEELING["low"], *TOLD_FEELING["low"]),
        "plain": (*NEW_FEELING["middle"], *TOLD_FEELING["middle"]),
        "lighter": TOLD_FEELING["lighter"],
    }
    for mood, some in moods.items():
        for line in some:
            text = manner(line.format(e="sad"), by)
            assert MOODS[hear(text).mood] == mood, text


@pytest.mark.parametrize("by", MANNERS)
def test_the_tabular_policy_hears_each_need(by: str) -> None:
    for tables in NEEDS.values():
        for intention, some in tables.items():
            for line in some:
                assert CUES[hear(manner(line, by)).cue] == intention, line


def test_a_neutral_line_gives_nothing_away() -> None:
    assert {direction(line) for line in NEUTRAL} == {0}
    assert not any(lines.shows_attitude(f"{line} I slept.") for line in (*NEUTRAL, *PUZZLED))


@pytest.mark.parametrize("by", MANNERS)
def test_a_remark_on_the_conversation_is_no_fact_to_a_listener(by: str) -> None:
    openers = [o.format(t="my exam") for o in rows_of(LINES["opener"])]
    for line in (*GLAD, *SORRY, *NEUTRAL, *LINES["silent"]["any"], *openers, *REMARKS):
        heard = policy_listens([manner(line, by)])
        assert (heard.facts, heard.feelings) == ((), ()), line
        assert bool(heard.topics) == (line in openers)
    for line in REMARKS:
        notes = listen([f"Hm. {manner(line, by)}"])
        assert (notes.facts, notes.feelings, notes.need) == ((), (), None), line


def test_nearly_all_that_can_be_told_is_a_fact_to_the_reference_listener() -> None:
    told = [sentence.text for person in EVERYONE for sentence in person.tellable]
    facts = [listen([f"Hm. {text}"]).facts == (text,) for text in told]
    assert sum(facts) > 0.95 * len(facts)
    assert all(listen([f"Hm. {person.facts[0]}"]).facts for person in EVERYONE)


@pytest.mark.parametrize("by", MANNERS)
@pytest.mark.parametrize("shown", NEEDS)
def test_a_need_is_heard_as_what_it_is(shown: str, by: str) -> None:
    for intention, some in NEEDS[shown].items():
        for line in some:
            text = f"Hm. {manner(line, by)}"
            assert listen([text]).need == intention, line
            assert lines.speaks_of_need(text), line


def test_what_is_never_said_shows_its_kind_only() -> None:
    for kind in intention_lines.KINDS_OF_NEED:
        for line in (
            *intention_lines.NEEDS["oblique.heavy"][kind],
            *intention_lines.NEEDS["oblique.met"][kind],
        ):
            heard = listen([f"Hm. {line}"])
            assert (heard.kind, heard.need) == (kind, None), line


@pytest.mark.parametrize("by", MANNERS)
def test_a_feeling_is_heard_by_both_listeners(by: str) -> None:
    for line in (*rows_of(NEW_FEELING), *rows_of(TOLD_FEELING)):
        text = manner(line.format(e="sad"), by)
        assert listen([f"Hm. {text}"]).feelings == ("sad",), text
        assert policy_listens([text]).feelings == ("sad",), text


def test_contractions_can_be_undone() -> None:
    told = [sentence.text for person in EVERYONE for sentence in person.tellable]
    for line in (*told, *lines.NEED_LINES, *GLAD, *SORRY):
        assert lines.expand_contractions(manner(line, "short")) == line
    assert manner("I am here and it is not my fault.", "short") == (
        "I'm here and it's not my fault."
    )


def test_each_reason_has_twelve_lines_and_no_voice_less_than_six() -> None:
    reasons = [f"rise.{r}" for r in lines.RISES] + [f"fall.{r}" for r in lines.FALLS]
    for name in reasons:
        assert len(set(rows_of(LINES[name]))) >= 12, name
        assert all(len(lines.of_user(name, by)) >= 6 for by in VOICES), name


@pytest.mark.parametrize("disclosure", ["free", "hint", "never"])
def test_nothing_is_said_or_told_twice_while_there_is_something_else(disclosure: str) -> None:
    told = {sentence.text for person in EVERYONE for sentence in person.tellable}
    for talk in talks(DifficultyConfig(disclosure=disclosure, stop_below=0)):
        spoken = Counter(
            lines.expand_contractions(s) for turn in talk for s in sentences(turn.text)
        )
        assert max((n for s, n in spoken.items() if s in told), default=1) == 1
        reactions = Counter(sentences(turn.text)[0] for turn in talk[1:] if turn.text)
        assert max(reactions.values()) == 1
        spoken_of = [lines.expand_contractions(turn.text) for turn in talk if turn.emotion < MET]
        needs = [line for text in spoken_of for line in lines.NEED_LINES if line in text]
        assert max(Counter(needs[:4]).values(), default=1) == 1


def test_a_need_weighs_less_once_the_user_feels_better() -> None:
    for talk in talks(EAGER):
        for turn in talk[1:]:
            if turn.emotion >= MET and lines.speaks_of_need(turn.text):
                assert (
                    listen([lines.expand_contractions(turn.text)]).need == turn.state.user.intention
                )
                assert not any(line in turn.text for line in rows_of(NEEDS["need.free"]))


def test_relief_is_only_from_what_was_told() -> None:
    for talk in talks(EAGER):
        for before, turn in pairwise(talk):
            named = turn.state.disclosed.feelings - before.state.disclosed.feelings
            if turn.emotion >= LIGHTER:
                assert not named, turn.text


def reactions(persona_index: int = 0, temperament: str = "passive") -> set[str]:
    (opening,) = ScriptedSimulator(DifficultyConfig()).open([key()])
    user = replace(opening.state.user, persona_index=persona_index, temperament=temperament)
    state = replace(opening.state, user=user)
    heard = (
        ReplyEffect(-5, "suggest", None, "suggest", frozenset()),
        ReplyEffect(5, "affirm", None, "affirm", frozenset()),
    )
    return {reaction(state, h, True, n / 40) for h in heard for n in range(40)}


def test_temperament_and_manner_of_speaking_can_be_heard() -> None:
    tempers = [reactions(temperament=t) for t in TEMPERAMENTS]
    assert all(a - b for a in tempers for b in tempers if a is not b)
    by_voice = {person.voice: reactions(persona_index=n) for n, person in enumerate(EVERYONE)}
    assert all(a - b for a in by_voice.values() for b in by_voice.values() if a is not b)


NOT_HELPED_BY = {
    "question": ("What happened then?",),
    "asked_again": ("What happened then?", "And when did it start?"),
    "cold": ("There is a form for that on the website.",),
    "early": ("You could write it all down tonight.",),
    "reflect": ("You must feel so guilty and jealous and ashamed.",),
    "short": ("It is hard.",),
    "empty": ("You have a way of handling things.",),
}
"""By reason, the replies of which the last one fails by it."""
HELPED_BY = {
    "question": ("What happened then?",),
    "presence": ("I am here with you and I am listening.",),
    "affirm": ("It is not your fault.",),
    "reflect": ("That sounds very hard for you.",),
}


@pytest.mark.parametrize(
    ("way", "reason", "replies"),
    [("fall", reason, said) for reason, said in NOT_HELPED_BY.items()]
    + [("rise", reason, said) for reason, said in HELPED_BY.items()],
)
def test_a_user_says_why_a_reply_helped_or_did_not(
    way: str, reason: str, replies: tuple[str, ...]
) -> None:
    """Of those whose words show it, and who say more than how they are by temperament."""
    simulator = ScriptedSimulator(
        replace(EAGER, stop_below=0, threshold=5.0 if way == "fall" else -5.0)
    )
    own = Counter[str]()
    for group in range(60):
        turn = converse(simulator, key(group=group), replies)[len(replies)]
        first = sentences(lines.expand_contractions(turn.text))[0]
        own.update(name for name in LINES if name.startswith(f"{way}.")
                   and first in rows_of(LINES[name]))  # fmt: skip
    assert own[f"{way}.{reason}"] >= 20
    assert own[f"{way}.{reason}"] > 0.6 * own.total()


def last_words(level: DifficultyConfig, reply: str) -> dict[str, set[str]]:
    by_end: dict[str, set[str]] = {}
    for n in range(60):
        last = converse(ScriptedSimulator(level), key(group=n), (reply,))[-1]
        by_end.setdefault(str(last.ended), set()).add(last.text)
    return by_end


def test_a_user_who_leaves_says_so() -> None:
    left = last_words(replace(EAGER, threshold=5.0), "You are pathetic.")["left"]
    storms = lines.all_lines(["storms_off"])
    assert all(any(lines.expand_contractions(text).endswith(s) for s in storms) for text in left)
    glad = last_words(replace(EAGER, start_emotion=95), "You sound so sad.")["success"]
    assert {lines.expand_contractions(text) for text in glad} == lines.all_lines(
        ["farewell.success"]
    )


def test_the_same_sentence_again_within_one_reply_is_stale() -> None:
    simulator = ScriptedSimulator(DifficultyConfig())
    once, thrice = "You should just talk to them.", "You should just talk to them. " * 3
    (opening,) = simulator.open([key()])
    chances = [simulator.rise_probability(opening.state, SupporterReply(t)) for t in (once, thrice)]
    assert chances[1] < chances[0] / 2
