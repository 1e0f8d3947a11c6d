"""Links among the runs of a fit: none leads out of the named path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.fitted import fitted
from tests.law import ended

Seen = Callable[[str, object], None]


@pytest.mark.attack(
    "a link to / lies among the runs",
    "it is not entered: the fit takes seconds, finds no other run, and names the link",
)
def test_a_link_to_the_root_of_the_disk_is_not_entered(
    tmp_path: Path, record_property: Seen
) -> None:
    ended.run(tmp_path / "runs" / "a")
    (tmp_path / "runs" / "everything").symlink_to("/")
    found, _ = fitted("runs", cwd=tmp_path, real=True)
    assert [run["run"] for run in found["runs"]] == ["runs/a"]
    reason = "a link that leads out of runs, to /; name it directly to include it"
    assert found["skipped"] == [{"path": "runs/everything", "reason": reason}]
    record_property("seen", reason)


@pytest.mark.attack(
    "a run folder links to a run, or to a file of one, outside the named path",
    "nothing of it is read, and the link is named; named directly it is read",
)
@pytest.mark.parametrize("part", ["", "metrics.jsonl", "run.json", "config.yaml"])
def test_a_link_out_of_the_named_path_is_not_read(
    tmp_path: Path, part: str, record_property: Seen
) -> None:
    ended.run(tmp_path / "runs" / "a")
    outside = ended.run(tmp_path / "elsewhere" / "b", 2)
    link = tmp_path / "runs" / "b" / part if part else tmp_path / "runs" / "b"
    if part:
        ended.run(tmp_path / "runs" / "b", 2)
        link.unlink()
    link.symlink_to(outside / part)
    found, _ = fitted("runs", cwd=tmp_path, real=not part)
    assert [run["run"] for run in found["runs"]] == ["runs/a"]
    (entry,) = found["skipped"]
    assert Path(entry["path"]) == link.relative_to(tmp_path)
    assert entry["reason"].startswith(f"a link that leads out of runs, to {outside / part}; name")
    if not part:
        named, _ = fitted("runs", "runs/b", cwd=tmp_path)
        assert [run["run"] for run in named["runs"]] == ["runs/a", "runs/b"]
    record_property("seen", entry["reason"])


def test_links_that_stay_inside_and_circles_are_each_run_once(tmp_path: Path) -> None:
    run = ended.run(tmp_path / "runs" / "a")
    (tmp_path / "runs" / "same").symlink_to(run)
    (run / "up").symlink_to(tmp_path / "runs")
    (tmp_path / "named").symlink_to(tmp_path / "runs")
    found, _ = fitted("named", cwd=tmp_path)
    assert [run["run"] for run in found["runs"]] == ["named/a"]
    assert found["skipped"] == []
