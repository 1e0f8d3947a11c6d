"""Statements that would hold, or look balanced, whatever the runs do are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.study import file
from tests.study.made import SMALL, written


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "arm: hard, against: medium, direction: less, margin: 0.05",
            "arm: hard, direction: more, margin: 0.05, spread: true",
            "hard gains less.spread must be false without against: the distance from a median is "
            "never below 0, got true",
        ),
        (
            "links:",
            "best: {top: [hard, medium, hard]}\nlinks:",
            "best.top must name each arm once, so that the choices of two sides can be compared, "
            "got 'hard' twice",
        ),
    ],
)
def test_it_is_refused(
    old: str, new: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert old in SMALL
    written(tmp_path, SMALL.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        file.read("mine")
    assert str(caught.value).endswith(said)
