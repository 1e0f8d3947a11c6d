"""outcomes.json: written whole, read back, refused where it is another's."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from harness.errors import DataError
from harness.records import outcomes


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.json"
    outcomes.write(path, 1, {"own": [[0.0, 1.0]]})
    outcomes.write(path, 9, {"own": [[0.25, math.nan]], "hard": [[0.5, 0.75]]})
    read = outcomes.read(path)
    assert read.step == 9
    assert read.by_level == {"own": [[0.25, None]], "hard": [[0.5, 0.75]]}


USER = "must be a list of one length for all users, a number a conversation"
SHARE = "must lie between 0 and 1, or be null for a lost conversation"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ": must be JSON, as a run writes it; got Expecting value: line 1 column 1 (char 0)"),
        ('{"step": 9, "rew', ": must be JSON, as a run writes it; got Unterminated string starting "
         "at: line 1 column 13 (char 12)"),
        ("[]", ": step: must be that of the evaluation, from 1; got None"),
        ('{"step": 1}', ": reward: must hold the outcomes by level; got None"),
        ('{"step": 1, "reward": 3}', ": reward: must hold the outcomes by level; got 3"),
        ('{"step": 1, "reward": {"own": []}}',
         ": reward.own: must be a list with a row for each user; got []"),
        ('{"step": 1, "reward": {"own": [[]]}}', f": reward.own[0]: {USER}; got []"),
        ('{"step": 1, "reward": {"own": [[1], [1, 0]]}}', f": reward.own[1]: {USER}; got [1, 0]"),
        ('{"step": 1, "reward": {"hard": [[1], 0.5]}}', f": reward.hard[1]: {USER}; got 0.5"),
        ('{"step": 1, "reward": {"own": [[0.5, 2]]}}', f": reward.own[0][1]: {SHARE}; got 2"),
        ('{"step": 1, "reward": {"own": [[true]]}}', f": reward.own[0][0]: {SHARE}; got True"),
        ('{"step": 1, "reward": {"own": [[NaN]]}}', f": reward.own[0][0]: {SHARE}; got nan"),
    ],
)  # fmt: skip
def test_damage_is_told_with_its_place_and_what_stands_there(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "outcomes.json"
    path.write_text(text)
    with pytest.raises(DataError) as refused:
        outcomes.read(path)
    assert str(refused.value) == f"{path}{problem}"


def test_a_file_that_is_missing_is_no_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        outcomes.read(tmp_path / "missing.json")
