"""simulator.VERSION stands for what users say and feel: cards and start models rely on it."""

import hashlib
import json
from dataclasses import fields, replace
from typing import Any

import pytest

from harness import simulator
from harness.calibration import population
from harness.compose import planner
from harness.config.run import LEVELS as NAMES
from harness.execution import difficulty_cards
from harness.simulator.protocol import UserTurn
from harness.simulator.reference import REFERENCES
from harness.simulator.state import Disclosures, State
from harness.utils.record import record
from tests.calibration.levels import LEVELS

USERS = 12
CONVERSATIONS = {3: "8db39d2cc5d8a153"}
"""Digest of what users say and feel, by version of the simulator."""


def conversations() -> str:
    digest = hashlib.sha256()
    for level in LEVELS.values():
        for name in sorted(REFERENCES):
            for turns in population.converse_with_reference(level, name, USERS).turns:
                for turn in turns:
                    shown = (turn.text, turn.emotion, turn.change, turn.ended)
                    digest.update(repr(shown).encode())
    return digest.hexdigest()[:16]


def test_users_say_and_feel_what_those_of_their_version_did() -> None:
    due = "users have changed: raise simulator.VERSION, run `make cards`, and add the new digest"
    assert conversations() == CONVERSATIONS.get(simulator.VERSION), due


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "adversarial"])
def test_a_shipped_card_is_what_measuring_gives(name: str) -> None:
    config = planner.plan([f"difficulty={name}"]).points[0].config
    path = difficulty_cards.SHIPPED / difficulty_cards.file_name(difficulty_cards.key(config))
    shipped = json.loads(path.read_text())
    due = "cards have changed: raise calibration.VERSION, and run `make cards`"
    measured = json.loads(json.dumps(difficulty_cards.measure(config)))
    assert measured == nearly(shipped), due


def nearly(value: Any) -> Any:
    """A card as what equals it on other CPUs, where some numbers have other last digits."""
    if isinstance(value, dict):
        return {key: nearly(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [nearly(inner) for inner in value]
    return pytest.approx(value, rel=1e-6) if isinstance(value, float) else value


@record
class LaterTurn(UserTurn):
    """A turn with the field of a later version."""

    later: int = 0


@record
class LaterState(State):
    """A state with the field of a later version."""

    later: int = 0


def values_of(record: UserTurn | State) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def test_a_record_with_one_field_changed_keeps_the_others() -> None:
    """Also a field that is added later, which a copy by position would lose."""
    (turns,) = population.converse_with(range(1), LEVELS["easy"], REFERENCES["attentive"]).turns
    turn = LaterTurn(**values_of(turns[1]), later=7)
    assert turn.with_state(None) == replace(turn, state=None)
    state = LaterState(**values_of(turn.state), later=7)
    disclosed = Disclosures(told=(0, 1))
    assert state.with_disclosed(disclosed) == replace(state, disclosed=disclosed)
