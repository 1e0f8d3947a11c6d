"""Records: compared and hashed by their fields, and changed by copying."""

import pytest

from harness.utils.record import changed, record


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
    new = changed(old, "y", 5)
    assert (new, type(new)) == (Named(1, 5, "home"), Named)
    assert old == Named(1, 2, "home")


def test_a_field_that_is_not_there_can_not_be_changed() -> None:
    with pytest.raises(ValueError, match="not in list"):
        changed(Point(1), "z", 3)
