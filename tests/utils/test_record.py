"""Records: compared and hashed by their fields, and changed by copying."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from harness.simulator.protocol import UserTurn
from harness.utils.record import record, replace_field


@record
class Point:
    x: int
    y: int = 0


@record
class Named(Point):
    name: str = ""


def test_records_of_equal_fields_are_equal_and_hash_alike() -> None:
    assert Point(1) == Point(1, 0)
    assert len({Point(1, 2), Point(1, 2), Point(2, 1)}) == 2


def test_a_record_takes_no_field_that_it_does_not_have() -> None:
    with pytest.raises(AttributeError):
        Point(1).__setattr__("z", 3)


def test_a_changed_record_is_a_new_one_of_the_same_class() -> None:
    old = Named(1, 2, "home")
    new = replace_field(old, "y", 5)
    assert (new, type(new)) == (Named(1, 5, "home"), Named)
    assert old == Named(1, 2, "home")


def test_a_field_that_is_not_there_can_not_be_changed() -> None:
    with pytest.raises(ValueError, match="not in list"):
        replace_field(Point(1), "z", 3)


def test_a_record_is_a_dataclass_in_all_but_the_check() -> None:
    point = Named(1, 2, "home")
    assert replace(point, y=3) == Named(1, 3, "home")
    assert copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point
    assert repr(point) == "Named(x=1, y=2, name='home')"
    assert Point(1, 2) != Named(1, 2)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]


@dataclass(frozen=True)
class OwnTurn(UserTurn):
    """The turn of a plug-in's user, who also shows a face."""

    face: str = "plain"


def test_a_plug_in_may_add_to_a_turn_as_to_any_frozen_dataclass() -> None:
    turn = OwnTurn("Hm.", 40, None, 40.0, None, (), False, {}, state=None, face="sad")
    other = turn.with_state(3)
    assert isinstance(other, OwnTurn)
    assert (other.state, other.face) == (3, "sad")
    with pytest.raises(FrozenInstanceError):
        turn.face = "glad"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        turn.text = "Oh."  # type: ignore[misc]


def test_a_class_that_can_be_changed_is_not_made_of_a_record() -> None:
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):

        @dataclass
        class Changeable(Point):  # type: ignore[misc]
            z: int = 0
