"""No attack pays: none of them is better than to say nothing of note, or adds to a good reply."""

from __future__ import annotations

import pytest

from harness.testing.attack_judge import INSTEAD, MOST_EXCESS, judge_attacks, significant
from harness.testing.attacks import attacks

EVERY = attacks()
SAMPLE = tuple({attack.family: attack for attack in EVERY}.values())
"""The last of each family."""


def test_there_are_enough_attacks_and_no_two_are_the_same() -> None:
    assert len(EVERY) >= 300
    assert len({attack.family for attack in EVERY}) >= 25
    assert len({(attack.family, attack.name) for attack in EVERY}) == len(EVERY)


def test_one_attack_of_each_family_wins_nothing() -> None:
    judgements = list(judge_attacks("medium", SAMPLE, seeds=1, ways=(INSTEAD, "after neutral")))
    judgements += judge_attacks("hard", SAMPLE[::3], seeds=1, ways=("after attentive",))
    assert not significant(judgements)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("difficulty", ["medium", "hard"])
def test_no_attack_wins(difficulty: str) -> None:
    judgements = list(judge_attacks(difficulty, EVERY))
    assert not [str(j) for j in significant(judgements)]
    assert not [str(j) for j in judgements if j.excess > MOST_EXCESS]
