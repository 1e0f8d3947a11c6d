"""What may pass by itself is tried again, a few times; what would fail again is not."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness import simulator
from harness.execution import ledger, retry, stop_requests
from harness.records import run_status, sweep_file
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import LedgerRow, Sweep
from harness.testing.commands import wait_until
from tests.faults.limited import quick
from tests.simulator.endpoint import response, serving
from tests.simulator.served import config as served
from tests.train.made import make_run, status


def planned(root: Path) -> RunFolder:
    return make_run(root / "run", quick(steps=2))


def without_its_events_file(root: Path) -> RunFolder:
    """A folder lies in its place: an I/O error like any other, as the run's process sees it."""
    run = planned(root)
    run.events.mkdir()
    return run


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "WAIT_S", 0.1)


@contextlib.contextmanager
def once_failed(run: RunFolder, act: Callable[[], object]) -> Iterator[None]:
    """Meanwhile `act`, as soon as run.json says that the run has failed."""

    def wait() -> None:
        wait_until(lambda: status(run)["status"] == "failed", "a failure")
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    yield
    thread.join()


@pytest.mark.slow
def test_what_passes_is_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "WAIT_S", 1.0)
    run = without_its_events_file(tmp_path)
    with once_failed(run, run.events.rmdir):
        outcome = retry.execute(run.path, retries=3)
    assert (outcome.status, outcome.exit_code) == ("done", 0)
    assert status(run)["attempts"] > 1


@pytest.mark.slow
def test_what_stays_is_a_row_that_counts_the_attempts(tmp_path: Path) -> None:
    run = without_its_events_file(tmp_path)
    assert retry.execute(run.path, retries=2).exit_code == 74
    row = LedgerRow("run", str(run.path), ())
    sweep_file.write(tmp_path, Sweep(str(tmp_path), {}, [row]))
    (found,) = ledger.read(tmp_path).runs
    assert (found.status, found.exit_code) == ("failed", 74)
    assert found.reason == f"{run.events}: Is a directory (attempt 3)"


def _a_link(run: RunFolder) -> None:
    run.metrics.symlink_to(run.path.parent / "elsewhere.jsonl")


def _another_row(run: RunFolder) -> None:
    """A row of today's users that no such run has."""
    began = replace(run_status.read(run.status), simulator_version=simulator.VERSION)
    run_status.write(run.status, began)
    run.metrics.write_bytes(b'{"step": 1, "entropy": 1}\n')


def _another_seed(run: RunFolder) -> object:
    return run.config.write_text(run.config.read_text().replace("seed: 1", "seed: 2"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("poison", "code"), [(_a_link, 65), (_another_row, 70), (_another_seed, 2)]
)
def test_what_would_fail_again_is_tried_once(
    tmp_path: Path, poison: Callable[[RunFolder], object], code: int
) -> None:
    run = planned(tmp_path)
    poison(run)
    assert retry.execute(run.path, retries=5).exit_code == code
    assert status(run)["attempts"] <= 1


def test_a_refused_key_is_tried_once_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", "sk-expired-0123")
    refused = response("expired", "401 Unauthorized")
    with serving(lambda number, body: refused if number > 20 else None) as endpoint:
        simulator = served(endpoint.url, api_key_env="A_KEY")
        run = make_run(tmp_path / "run", replace(quick(steps=2), simulator=simulator))
        assert simulator.required_grant is not None
        outcome = retry.execute(run.path, retries=5, granted=frozenset({simulator.required_grant}))
    rule = f"$A_KEY must hold a key that {endpoint.url} accepts, got request: 401 expired"
    assert (outcome.status, outcome.exit_code) == ("failed", 2)
    assert outcome.reason == f"simulator.api_key_env: {rule}"
    assert status(run)["attempts"] == 1


def test_a_sweep_that_stops_waits_for_no_retry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "WAIT_S", 1e6)
    run = without_its_events_file(tmp_path)
    with once_failed(run, lambda: stop_requests.request(tmp_path, stop_requests.NO_NEW_RUNS)):
        assert retry.execute(run.path, retries=1).exit_code == 74
    assert status(run)["attempts"] == 1
