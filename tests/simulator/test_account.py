"""What is recorded of a conversation says what its user did: who, what they heard, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config.run import INTENTIONS, TEMPERAMENTS, DifficultyConfig
from harness.simulator import account
from harness.simulator.personas import EVERYONE, VOICES
from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.second.user import SecondSimulator
from harness.simulator.state import draw_user
from harness.testing.simulator_contract import HOSTILE, REPLIES, converse
from tests.calibration.levels import LEVELS
from tests.simulator.endpoint import purpose, response, serving
from tests.simulator.served import BRIEF, connected, row, talk_with, users, written

OURS = (ScriptedSimulator, SecondSimulator)
CRUEL = ("You are pathetic.", "Get over it.", "Shut up, nobody cares.", "I am so sorry for that.")
Simulator = ScriptedSimulator | SecondSimulator


def said_back(turn: UserTurn) -> str:
    """A reply that names a sentence told and a feeling shown, as a supporter who listens would."""
    told = turn.state.disclosed
    sentence = turn.state.user.persona.tellable[told.told[-1]].text.removesuffix(".")
    feeling = min(told.feelings, default="sad")
    return f"It sounds as if you feel {feeling}, now that it is so: {sentence.lower()}."


@dataclass(frozen=True)
class Answered:
    """A turn, a reply to it and the answer."""

    before: UserTurn
    reply: SupporterReply
    after: UserTurn


def answered(
    simulator: Simulator, replies: Sequence[str | None], group: int = 0
) -> Iterator[Answered]:
    """Hold a conversation; None stands for what `said_back` says."""
    (turn,) = simulator.open([ConversationKey(3, 1, group, 0)])
    for text in replies:
        if turn.ended is not None:
            return
        reply = SupporterReply(said_back(turn) if text is None else text)
        (after,) = simulator.answer([turn], [reply])
        yield Answered(turn, reply, after)
        turn = after


replies = st.lists(
    st.none() | st.sampled_from([*REPLIES, *CRUEL, *HOSTILE]), min_size=1, max_size=8
)
levels = st.sampled_from(sorted(LEVELS))


@given(replies, levels, st.integers(0, 40))
def test_effects_add_up_to_the_chance_of_a_rise(said: list[str | None], name: str, g: int) -> None:
    simulator = ScriptedSimulator(LEVELS[name])
    for one in answered(simulator, said, g):
        moved = account.emotion_causes(one.before, one.after)
        total = sum(moved.effects.values())
        assert moved.unit == account.LOG_ODDS
        chance = simulator.rise_probability(one.before.state, one.reply)
        assert moved.rise_probability == pytest.approx(chance)
        # the simulator's own formula: 1% of the changes are a coin toss
        assert 0.99 / (1 + math.exp(-total)) + 0.005 == pytest.approx(chance, abs=1e-4)


@given(replies, levels, st.integers(0, 40))
def test_effects_add_up_to_the_move_of_the_mood(said: list[str | None], name: str, g: int) -> None:
    simulator = SecondSimulator(LEVELS[name])
    for one in answered(simulator, said, g):
        moved, before, after = account.emotion_causes(one.before, one.after), one.before, one.after
        assert moved.unit in (account.POINTS, None)
        mood = after.state.mood - before.state.mood
        assert sum(moved.effects.values()) == pytest.approx(mood, abs=1e-4)
        chance = simulator.rise_probability(before.state, one.reply)
        assert moved.rise_probability == pytest.approx(chance)


@pytest.mark.parametrize("kind", OURS)
@given(said=replies, name=levels, group=st.integers(0, 40))
def test_what_was_taken_up_is_what_the_appraisal_counts(
    kind: type[Simulator], said: list[str | None], name: str, group: int
) -> None:
    for one in answered(kind(LEVELS[name]), said, group):
        taken = account.taken_up_texts(one.before, one.reply, one.after)
        effects = account.emotion_causes(one.before, one.after).effects
        counted = effects.get("pick_up", 0.0) + effects.get("taken_up", 0.0) > 0
        assert taken is not None
        if one.after.flagged:
            assert taken == ()
        elif kind is ScriptedSimulator or not effects.get("doubt", 0) + effects.get("hurt", 0):
            assert bool(taken) == counted
        told = one.before.state.disclosed
        persona = one.before.state.user.persona
        known = {persona.tellable[n].text for n in told.told} | told.feelings | {persona.topic}
        assert {*taken} <= known, "only what was told"


@pytest.mark.parametrize("kind", OURS)
def test_who_says_back_what_was_told_takes_it_up(kind: type[Simulator]) -> None:
    (one,) = answered(kind(DifficultyConfig()), [None])
    state = one.before.state
    newest = state.user.persona.tellable[state.disclosed.told[-1]].text
    assert newest in (account.taken_up_texts(one.before, one.reply, one.after) or ())
    (other,) = answered(kind(DifficultyConfig()), ["I am here with you."])
    assert account.taken_up_texts(other.before, other.reply, other.after) == ()


def test_cruelty_and_a_reply_that_is_no_language_are_told_apart() -> None:
    cruel, babble = (
        next(answered(ScriptedSimulator(DifficultyConfig()), [text]))
        for text in ("You are pathetic.", "xq zzt qqq wvw")
    )
    assert account.emotion_causes(cruel.before, cruel.after).effects["hurt"] == -5
    assert account.emotion_causes(cruel.before, cruel.after).not_language is None
    assert account.emotion_causes(babble.before, babble.after).not_language == "vocabulary"
    assert account.emotion_causes(babble.before, babble.after).effects["puzzled"] == -5


@pytest.mark.parametrize("kind", OURS)
@pytest.mark.parametrize("group", range(8))
def test_traits_are_those_the_user_was_drawn_with(kind: type[Simulator], group: int) -> None:
    key = ConversationKey(3, 1, group, 5)
    user, _ = draw_user(key, LEVELS["hard"])
    opening, *_, last = converse(kind(LEVELS["hard"]), key)
    assert account.traits_of(opening) == account.traits_of(last)
    traits = account.traits_of(opening)
    assert (traits.intention, traits.temperament) == (user.intention, user.temperament)
    persona = next(p for p in EVERYONE if p.name == traits.persona)
    assert persona is user.persona
    assert (traits.topic, traits.voice) == (persona.topic, persona.voice)
    assert traits.voice in VOICES


def test_a_served_user_gives_a_reason_and_a_fit_and_what_they_lack_is_none() -> None:
    (opening, answer, *_), _, _ = talk_with(lambda number, body: None)
    traits, moved = account.traits_of(opening), account.emotion_causes(opening, answer)
    assert traits.intention in INTENTIONS
    assert traits.temperament in TEMPERAMENTS
    assert traits.persona in {persona.name for persona in EVERYONE}
    assert (moved.fit, moved.reason) == ("fully", "So it felt.")
    assert (moved.effects, moved.unit, moved.rise_probability) == ({}, None, None)
    assert account.taken_up_texts(opening, SupporterReply(REPLIES[0]), answer) is None


def test_a_served_user_of_a_profile_is_named_by_its_id(tmp_path: Path) -> None:
    path = written(tmp_path / "users.jsonl", row(7, split="train"), row(8, split="held_out"))
    with serving() as endpoint, connected(endpoint.url, profiles=str(path)) as line:
        (opening,) = users(line).open([ConversationKey(1, 1, 0, 0)])
    traits = account.traits_of(opening)
    assert (traits.persona, traits.topic, traits.voice) == ("u7", None, None)


def test_a_user_who_could_not_be_asked_has_a_fault_and_heard_nothing_known() -> None:
    def failing(number: int, body: dict[str, Any]) -> bytes | None:
        return response("{}", "500 Oh") if purpose(body) == "appraise" else None

    (opening, failed), _, _ = talk_with(failing, retries=0)
    moved = account.emotion_causes(opening, failed)
    assert (moved.fault, moved.effects) == ("server", {})
    assert account.taken_up_texts(opening, SupporterReply(REPLIES[0]), failed) is None
    assert math.isnan(failed.reported_emotion)


def test_users_of_a_plug_in_keep_what_they_name_and_the_rest_is_none() -> None:
    (opening,) = ScriptedSimulator(BRIEF).open([ConversationKey(1, 1, 0, 0)])

    @dataclass(frozen=True)
    class Patient:
        persona: str = "Ada"
        intention: int = 7

    @dataclass(frozen=True)
    class Memory:
        user: Patient = Patient()

    bare = replace(opening, state=object())
    assert account.traits_of(bare) == account.Traits(*(None,) * 6)
    named = replace(opening, state=Memory(), why={"warmth": 1.25, "cold": 0.0, "reason": "So."})
    assert account.traits_of(named) == account.Traits("Ada", *(None,) * 5)
    moved = account.emotion_causes(bare, named)
    assert (moved.effects, moved.unit, moved.reason) == ({"warmth": 1.25}, None, "So.")
    assert account.taken_up_texts(bare, SupporterReply("Hm."), named) is None
