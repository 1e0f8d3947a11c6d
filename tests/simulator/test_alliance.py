"""Bond, goal and task: counted by hand on scripted talks, and as far as other users keep them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config.run import INTENTIONS, DifficultyConfig
from harness.simulator.alliance import NOT_MEASURED, Alliance, alliance, wants_solving
from harness.simulator.protocol import ConversationKey, IndexedState, SupporterReply, UserTurn
from harness.simulator.scripted.user import ScriptedSimulator
from harness.simulator.second.user import SecondSimulator
from harness.simulator.state import Disclosures, State, User
from harness.testing.simulator_contract import REPLIES
from tests.simulator.served import talk_with

KEY = ConversationKey(1, 1, 0, 0)


def talk(
    intention: str, *replies: tuple[tuple[str, ...], int], flagged: Sequence[int] = ()
) -> list[UserTurn]:
    """The turns of a scripted user: what they heard in each reply, and their trust after it."""
    state = State(KEY, User(0, intention, "passive"), 50, 50.0, Disclosures())
    turns = [UserTurn("Hm.", 50, None, 50.0, None, (), False, {}, state)]
    for number, (heard, trust) in enumerate(replies):
        after = replace(state, trust=trust)
        is_flagged = number in flagged
        turns.append(UserTurn("Hm.", 50, 0, 50.0, None, heard, is_flagged, {}, after))
    return turns


@pytest.mark.parametrize(
    ("turns", "wanted"),
    [
        # reflect suits who wants empathy (.8), suggest never does; both leave a feeling be but one
        (talk("deep_empathy", (("reflect",), 1), (("suggest",), 2)), (2 / 3, 1 / 2, 1 / 2)),
        # question suits early (.8) and works on no problem; suggest suits late (1.0)
        (talk("advice", (("question",), 2), (("suggest",), 3)), (1.0, 1.0, 1 / 2)),
        # the mean of .8 and -.9 is no fit, and no solving is wanted; nothing heard is nothing done
        (talk("deep_empathy", (("reflect", "suggest"), 0), ((), 0)), (0.0, 0.0, 0.0)),
        # at a trust of 1 suggest is .6, and what is no language serves nobody
        (
            talk("advice", (("suggest",), 1), (("suggest",), 1), flagged=[1]),
            (1 / 3, 1 / 2, 1 / 2),
        ),
    ],
)
def test_it_is_what_is_counted_by_hand(
    turns: list[UserTurn], wanted: tuple[float, float, float]
) -> None:
    found = alliance(turns)
    assert (found.bond, found.goal, found.task) == pytest.approx(wanted)
    assert found.mean == pytest.approx(sum(wanted) / 3)


def test_a_fit_of_half_is_enough_and_trust_before_the_reply_decides() -> None:
    """disclose is worth -.2 to who wants praise as long as trust is low, .6 from 2 on."""
    early = alliance(talk("praise", (("disclose",), 2)))
    late = alliance(talk("praise", (("affirm",), 2), (("disclose",), 2)))
    assert (early.goal, late.goal) == (0.0, 1.0)


def test_who_is_met_beside_others_counts_alike() -> None:
    turns = talk("deep_empathy", (("reflect",), 1), (("suggest",), 2))
    beside = [turn.with_state(IndexedState(1, turn.state)) for turn in turns]
    assert alliance(beside) == alliance(turns)


def test_what_follows_a_failure_does_not_count() -> None:
    turns = talk("deep_empathy", (("reflect",), 3), (("suggest",), 0))
    turns[-1] = replace(turns[-1], ended="failed")
    assert alliance(turns) == Alliance(1.0, 1.0, 1.0)
    assert alliance([turns[0], turns[-1]]) == NOT_MEASURED


@given(
    intention=st.sampled_from(INTENTIONS),
    group=st.integers(0, 5),
    texts=st.lists(st.sampled_from(REPLIES), min_size=1, max_size=6),
)
def test_scripted_users_have_parts_of_0_to_1(intention: str, group: int, texts: list[str]) -> None:
    level = DifficultyConfig(intentions=[intention])
    for users, has_bond in ((ScriptedSimulator(level), True), (SecondSimulator(level), False)):
        turns = users.open([ConversationKey(1, 1, group, 0)])
        for text in texts:
            if turns[-1].ended is None:
                turns += users.answer(turns[-1:], [SupporterReply(text)])
        found = alliance(turns)
        assert (found.bond is not None) == has_bond
        for part in (found.goal, found.task, found.mean):
            assert part is not None
            assert 0 <= part <= 1


def test_a_served_user_says_whether_a_reply_serves_and_keeps_no_trust() -> None:
    turns, _, _ = talk_with(lambda number, body: None)
    found = alliance(turns)
    assert found.bond is None
    assert found.goal == 1.0  # the endpoint finds every reply fitting
    assert found.task is not None
    assert found.mean == pytest.approx((found.goal + found.task) / 2)


def test_an_intention_of_a_plug_in_alone_says_nothing_of_the_task() -> None:
    user = SimpleNamespace(intention="companionship")
    (turn,) = talk("advice")
    turns = [turn.with_state(SimpleNamespace(user=user))] * 2
    assert (wants_solving(turns[0]), alliance(turns)) == (None, NOT_MEASURED)


def test_a_second_user_is_served_by_what_they_came_for() -> None:
    def goal(intention: str, text: str) -> float | None:
        users = SecondSimulator(DifficultyConfig(intentions=[intention]))
        turns = users.open([KEY])
        turns += users.answer(turns, [SupporterReply(text)])
        return alliance(turns).goal

    felt = "That must hurt so much, and I can feel how sad this makes you."
    assert (goal("deep_empathy", felt), goal("advice", felt)) == (1.0, 0.0)
