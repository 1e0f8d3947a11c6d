"""Whether a sweep goes on, by how its runs so far have ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.config.run import RunConfig
from harness.execution import retry
from harness.records import run_folder, run_status
from harness.records.run_folder import RunFolder

LATE = "ended within step {n}, after 60 s in it (trainer.deadline_s)"
TOLD = "{dir}: stopped by SIGTERM after step {n}; continue with `harness resume {dir}`"


def ended(root: Path, *ends: tuple[str, str]) -> list[str]:
    """Runs of a launch that began before them, each with its status and its reason."""
    root.mkdir(exist_ok=True)
    (root / ".holder").touch()
    dirs = []
    for n, (status, reason) in enumerate(ends):
        run = RunFolder(root / f"{n}-run")
        run_folder.create(run, RunConfig(seed=n))
        reason = reason.format(n=n, dir=run.path)
        was = run_status.read(run.status)
        run_status.write(run.status, replace(was, status=status, reason=reason, exit_code=75))
        dirs.append(str(run.path))
    return dirs


@pytest.mark.parametrize(
    ("ends", "no_more"),
    [
        ([("failed", "x {dir}")] * 3, True),
        ([("failed", "x")] * 2, False),
        ([("failed", "x"), ("failed", "x"), ("failed", "y")], False),
        ([("failed", "x")] * 3 + [("done", "")], False),
        ([("stopped", LATE)] * 3, True),
        ([("stopped", LATE)] * 3 + [("done", "")], False),
        ([("stopped", TOLD)] * 3, False),
    ],
)
def test_three_that_end_alike_and_none_done_are_enough(
    tmp_path: Path, ends: list[tuple[str, str]], no_more: bool
) -> None:
    assert retry.breaker_trips(ended(tmp_path / "sweep", *ends)) is no_more


@pytest.mark.parametrize(
    "reason",
    [
        "r: stopped by SIGTERM after step 3; continue with ...",
        "ended within step 3, 60 s after a stop request (trainer.grace_s)",
        "ended within step 3, interrupted twice",
    ],
)
def test_a_run_that_was_told_to_stop_has_not_given_up(reason: str) -> None:
    assert not retry.has_failed("stopped", reason)
    assert not retry.has_failed("done", None)
