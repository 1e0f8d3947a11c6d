"""simulator.VERSION stands for what users say and feel: cards and start models rely on it."""

import hashlib
import json
from dataclasses import replace

import pytest

from harness import simulator
from harness.calibration import population
from harness.compose import planner
from harness.config.run import LEVELS as NAMES
from harness.execution import difficulty_cards
from harness.simulator.reference import REFERENCES
from harness.simulator.state import Disclosed
from tests.calibration.levels import LEVELS

USERS = 12
CONVERSATIONS = {1: "a144e49404e3fac2"}
"""Digest of what users say and feel, by version of the simulator."""


def conversations() -> str:
    digest = hashlib.sha256()
    for level in LEVELS.values():
        for name in sorted(REFERENCES):
            for turns in population.named(level, name, USERS).turns:
                for turn in turns:
                    known = (turn.text, turn.emotion, turn.change, turn.ended)
                    digest.update(repr(known).encode())
    return digest.hexdigest()[:16]


def test_users_say_and_feel_what_those_of_their_version_did():
    due = "users have changed: raise simulator.VERSION, run `make cards`, and add the new digest"
    assert conversations() == CONVERSATIONS.get(simulator.VERSION), due


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_card_is_what_measuring_gives(name):
    config = planner.plan([f"difficulty={name}"]).points[0].config
    path = difficulty_cards.SHIPPED / difficulty_cards.file_name(difficulty_cards.key(config))
    shipped = json.loads(path.read_text())
    due = "cards have changed: raise calibration.VERSION, and run `make cards`"
    assert json.loads(json.dumps(difficulty_cards.measure(config))) == shipped, due


def test_a_record_with_one_field_changed_keeps_the_others():
    """By name: a field that is added later is not lost on the way."""
    (turns,) = population.named(LEVELS["easy"], "attentive", 1).turns
    turn = turns[1]
    assert turn.with_state(None) == replace(turn, state=None)
    disclosed = Disclosed(facts=2)
    assert turn.state.with_disclosed(disclosed) == replace(turn.state, disclosed=disclosed)
