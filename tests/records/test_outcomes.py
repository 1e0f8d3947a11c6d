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


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", '{"step": 1}', '{"step": 1, "reward": {"own": []}}',
        '{"step": 1, "reward": {"own": [[]]}}', '{"step": 1, "reward": {"own": [[1], [1, 0]]}}',
        '{"step": 1, "reward": {"own": [[2]]}}', '{"step": 1, "reward": {"own": [[true]]}}',
        '{"step": 1, "reward": {"own": [[NaN]]}}', '{"step": 1, "reward": 3}',
    ],
)  # fmt: skip
def test_another_shape_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "outcomes.json").write_text(text)
    with pytest.raises(DataError, match=r"outcomes\.json: must hold"):
        outcomes.read(tmp_path / "outcomes.json")
    with pytest.raises(DataError):
        outcomes.read(tmp_path / "missing.json")
