"""Which conversations are shown: the rule, on cases whose answer is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.records.saved_conversations import SavedConversation, SavedTurn
from harness.report.html import choice, talks
from harness.report.html.choice import (
    AFTER,
    BEFORE,
    BEST,
    FIRST,
    LAST,
    MIDDLE,
    WORST,
    ChosenConversation,
)


def talk(
    sample: int, reward: float | None, level: str = "hard", ended: str = "cap", emotion: int = 50
) -> SavedConversation:
    turns = (
        SavedTurn(0, "user", "Hello.", emotion=40),
        SavedTurn(1, "user", "Bye.", emotion=emotion),
    )
    last = SavedTurn(2, "user", "", emotion=emotion, ended=ended)
    who = (None,) * 6
    return SavedConversation(1, 0, sample, level, *who, reward, (*turns, last))


def ranks(rewards: Sequence[float | None]) -> dict[str, float | None]:
    of_step = choice.choose_of_step([talk(n, r) for n, r in enumerate(rewards)], (FIRST,))
    return {one.rank: one.conversation.reward for one in of_step}


@pytest.mark.parametrize(
    ("steps", "onset", "expected"),
    [
        ((), 5.0, {}),
        ((1,), None, {1: (FIRST,)}),
        ((1, 60), None, {1: (FIRST,), 60: (LAST,)}),
        ((1, 20, 40, 60), 40.0, {1: (FIRST,), 20: (BEFORE,), 40: (AFTER,), 60: (LAST,)}),
        ((1, 20, 60), 30.5, {1: (FIRST,), 20: (BEFORE,), 60: (LAST, AFTER)}),
        ((1, 60), 90.0, {1: (FIRST,), 60: (LAST, BEFORE)}),
        ((10, 60), 3.0, {10: (FIRST, AFTER), 60: (LAST,)}),
    ],
)
def test_steps_are_first_last_and_those_next_to_the_onset(
    steps: tuple[int, ...], onset: float | None, expected: dict[int, tuple[str, ...]]
) -> None:
    assert choice.moments_of(steps, onset) == expected


@pytest.mark.parametrize(
    ("rewards", "expected"),
    [
        ([], {}),
        ([0.4], {MIDDLE: 0.4}),
        ([0.4, 0.2], {MIDDLE: 0.2, BEST: 0.4}),
        ([0.9, 0.1, 0.5], {WORST: 0.1, MIDDLE: 0.5, BEST: 0.9}),
        ([0.9, 0.1, 0.5, 0.6], {WORST: 0.1, MIDDLE: 0.5, BEST: 0.9}),
        ([0.3] * 4, {MIDDLE: 0.3}),
        ([0.1, 0.3, 0.3], {WORST: 0.1, MIDDLE: 0.3}),
    ],
)
def test_worst_middle_and_best_by_reward(rewards: list[float], expected: dict[str, float]) -> None:
    assert ranks(rewards) == expected


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=20))
def test_no_conversation_is_taken_twice_and_the_extremes_are_extreme(
    rewards: list[float | None],
) -> None:
    made = [talk(n, r, emotion=50) for n, r in enumerate(rewards)]
    chosen = list(choice.choose_of_step(made, (LAST,)))
    assert len({one.conversation.sample for one in chosen}) == len(chosen) <= 3
    scores = [one.score for one in made]
    by_rank = {one.rank: one.conversation.score for one in chosen}
    assert by_rank.get(WORST, by_rank[MIDDLE]) == min(s for s in scores if s is not None)
    assert by_rank.get(BEST, by_rank[MIDDLE]) == max(s for s in scores if s is not None)


def test_each_level_has_its_own_and_what_was_lost_is_none() -> None:
    made = [talk(0, 0.2, "easy"), talk(1, 0.3, "hard"), talk(2, None, "hard", "failed")]
    chosen = list(choice.choose_of_step(made, (FIRST,)))
    assert [(one.conversation.level, one.rank) for one in chosen] == [
        ("easy", MIDDLE),
        ("hard", MIDDLE),
    ]


def test_without_a_reward_the_final_emotion_counts() -> None:
    made = [talk(n, None, emotion=emotion) for n, emotion in enumerate((60, 0, 100))]
    by_rank = {one.rank: one.conversation.sample for one in choice.choose_of_step(made, (LAST,))}
    assert by_rank == {WORST: 1, MIDDLE: 0, BEST: 2}


@pytest.mark.parametrize(
    ("moments", "rank", "kind"),
    [
        ((FIRST,), MIDDLE, 0),
        ((LAST, AFTER), BEST, 1),
        ((BEFORE,), MIDDLE, 2),
        ((AFTER,), WORST, 3),
    ],
)
def test_a_conversation_is_of_the_first_kind_that_it_fits(
    moments: tuple[str, ...], rank: str, kind: int
) -> None:
    assert choice.ChosenConversation(talk(0, 0.5), moments, rank).kind == kind


def test_a_folder_without_conversations_has_none(tmp_path: Path) -> None:
    assert choice.choose_conversations(tmp_path, 12.0) == choice.RunConversations((), 0, ())


def test_who_leaves_is_told_with_what_the_reply_did_before() -> None:
    turns = (
        SavedTurn(0, "user", "Hello.", emotion=40),
        SavedTurn(1, "user", "Bye.", emotion=0, change=-10, ended="left"),
    )
    left = SavedConversation(1, 0, 0, "hard", *(None,) * 6, 0.0, turns)
    shown = talks.view(ChosenConversation(left, (FIRST,), WORST), "0-hard", "hard", 1, 2.0)
    assert shown.turns[1].facts[0] == "emotion 0 (-10, then left)"


def test_the_curve_of_a_talk_taken_over_late_is_as_wide_as_the_others() -> None:
    numbers = [-4, -3, -2, -1, 0, 1, 2]
    turns = tuple(SavedTurn(n, "user", "Hello.", emotion=40) for n in numbers)
    late = replace(talk(1, 0.4), turns=turns)
    shown = talks.view(ChosenConversation(late, (FIRST,), WORST), "0-hard", "hard", 1, 2.0)
    assert (
        shown.emotion_path.rpartition("L")[2].split()[0] == f"{talks.CURVE_WIDTH - talks.EDGE:.0f}"
    )
