"""An endpoint that goes away: it is waited for, nothing is lost, no row is of half the users."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.errors import EndpointError
from harness.execution import progress, progress_view
from harness.records.run_folder import RunFolder
from harness.simulator.served.faults import EndpointFault, Outages
from harness.testing.commands import wait_until
from tests.faults.outages import ANSWERS, BUSY, REFUSED, a_run, away, lost
from tests.simulator.endpoint import HANG, Body, completion, data, play, purpose, response, serving
from tests.train.made import go_on, status
from tests.train.made_served_runs import events, rows

Record = Callable[[str, object], None]


@contextlib.contextmanager
def child_of(run: RunFolder) -> Iterator[subprocess.Popen[str]]:
    """The run's process, ended on the way out."""
    words = [sys.executable, "-P", "-m", "harness.train", str(run.path)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


@pytest.mark.attack(
    "the endpoint refuses, or answers 503 or not at all, for 2 s in the middle of a run",
    "the run waits, says so, and goes on with the same requests: exit 0, no conversation lost",
)
@pytest.mark.parametrize("wire", [REFUSED, BUSY, HANG], ids=["refused", "503", "hangs"])
def test_an_outage_is_waited_out(
    tmp_path: Path, wire: bytes | str, record_property: Record
) -> None:
    with serving(away(2.0, wire)) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url, deadline_s=0.5)
        code, _, err = go_on(run)
    assert code == 0, err
    assert (len(rows(run)), lost(run)) == (3, 0)
    (outage,) = events(run, "outage")
    assert outage["answered"]
    assert 0.5 < outage["seconds"] < 10
    assert f"{run.path}: {endpoint.url} does not answer, " in err
    assert "; waiting up to 60 s (simulator.outage_s)" in err
    assert f"{run.path}: {endpoint.url} answers again, after " in err
    assert status(run)["reason"] is None
    record_property("seen", f"exit {code}, {outage['seconds']} s waited, 0 lost")


@pytest.mark.attack("the endpoint is not there yet when a run begins", "it is waited for: exit 0")
def test_an_outage_at_the_start_is_waited_out(tmp_path: Path, record_property: Record) -> None:
    with serving(away(2.0, after=0)) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url)
        code, _, err = go_on(run)
    assert (code, lost(run)) == (0, 0), err
    record_property("seen", f"exit {code}, {events(run, 'outage')[0]['seconds']} s waited")


@pytest.mark.attack(
    "the endpoint stays away for longer than simulator.outage_s",
    "exit 69, resumable; no row of that step, so that all are asked again",
)
def test_one_that_stays_away_stops_the_run(tmp_path: Path, record_property: Record) -> None:
    with serving(away(1e6)) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url, outage_s=1.5)
        code, _, err = go_on(run)
        told = f"simulator.base_url: {endpoint.url} must answer within 1.5 s (simulator.outage_s), "
        assert (code, rows(run)) == (69, [])
        assert f"{told}got connection: " in err
        found = status(run)
        assert (found["status"], found["reason"][: len(told)]) == ("stopped", told)
        assert [event["answered"] for event in events(run, "outage")] == [False]
        endpoint.script = ANSWERS
        assert go_on(run)[0] == 0
        assert lost(run) == 0
    record_property("seen", f"exit {code}: {err.splitlines()[-1]}")


@pytest.mark.attack(
    "SIGTERM while a run waits for its endpoint",
    "exit 75 after trainer.grace_s; until then run.json and the progress say what is waited for",
)
def test_a_stop_ends_the_wait(tmp_path: Path, record_property: Record) -> None:
    with serving(away(1e6)) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url, trainer={"grace_s": 0.5})
        with child_of(run) as child:
            wait_until(lambda: status(run)["reason"], "word of the outage")
            waiting = status(run)
            shown = progress_view.line(progress.RunWatcher(run.path, "run", 3).read())
            child.send_signal(signal.SIGTERM)
            began = time.monotonic()
            err = child.communicate(timeout=60)[1]
            seconds = time.monotonic() - began
    assert waiting["status"] == "running"
    assert f"{endpoint.url} does not answer, connection" in waiting["reason"]
    assert waiting["reason"] in shown
    assert child.returncode == 75, err
    assert "0.5 s after a stop request (trainer.grace_s)" in status(run)["reason"]
    assert 0.4 < seconds < 20
    record_property("seen", f"exit {child.returncode}: {err.splitlines()[-1]}")


@pytest.mark.slow
@pytest.mark.attack(
    "an outage that lasts longer than trainer.deadline_s",
    "no deadline runs meanwhile: the run goes on to exit 0",
)
def test_an_outage_is_no_step_that_hangs(tmp_path: Path, record_property: Record) -> None:
    with serving(away(7.0)) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url, trainer={"deadline_s": 5.0})
        with child_of(run) as child:
            err = child.communicate(timeout=120)[1]
    assert child.returncode == 0, err
    (outage,) = events(run, "outage")
    assert outage["seconds"] > 5
    record_property("seen", f"exit {child.returncode}, {outage['seconds']} s waited")


@pytest.mark.parametrize(
    "wire", [BUSY, response("", "400 Bad Request"), completion("{")], ids=["503", "400", "cut"]
)
@pytest.mark.attack(
    "one request alone fails always", "its conversation is lost, the run goes on and waits for none"
)
def test_a_fault_of_one_request_is_no_outage(
    tmp_path: Path, wire: bytes, record_property: Record
) -> None:
    marked: list[str] = []

    def script(number: int, body: Body) -> bytes | None:
        if purpose(body) != "appraise" or number < 60:
            return None
        marked.append(json.dumps(data(body)))
        return wire if marked[-1] == marked[0] else None

    with serving(script) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url)
        code, _, err = go_on(run)
    assert code == 0, err
    found = rows(run)
    failed = sum(row["sim/failed"] + sum(row[f"eval/{n}/failed"] or 0 for n in LEVELS)
                 for row in found)  # fmt: skip
    assert failed >= 1
    assert events(run, "outage") == []
    record_property("seen", f"exit {code}, {failed:g} lost, no outage")


LEVELS = ("easy", "medium", "hard")


def test_with_outage_s_0_nothing_is_waited_for(tmp_path: Path) -> None:
    with serving(away(1e6, after=0)) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url, outage_s=0.0)
        began = time.monotonic()
        code, _, err = go_on(run)
    assert code == 69
    assert f"simulator.base_url: {endpoint.url} must answer as 'm', got connection" in err
    assert "does not answer" not in err
    assert time.monotonic() - began < 10


@pytest.mark.attack(
    "an endpoint answers each probe and goes away again before anything else is answered",
    "its outages are one: after simulator.outage_s in all the run is given up",
)
def test_outages_that_no_answer_comes_between_are_one(record_property: Record) -> None:
    async def scenario() -> int:
        met = itertools.cycle([EndpointFault("connection", "refused"), None])

        async def probe() -> EndpointFault | None:
            return next(met)

        outages = Outages("http://h/v1", 1.5, probe)
        while outages.over < 5:
            assert await outages.is_away()
        return outages.over

    with pytest.raises(
        EndpointError, match=r"must answer within 1\.5 s \(simulator\.outage_s\)"
    ) as given_up:
        asyncio.run(scenario())
    record_property("seen", str(given_up.value))


@pytest.mark.attack(
    "another model comes up where the first one went away", "exit 69 before it counts"
)
def test_another_model_after_an_outage_is_refused(tmp_path: Path, record_property: Record) -> None:
    gone = away(1.0)

    def script(number: int, body: Body) -> bytes | str | None:
        model = "A" if number < 30 else "B"
        return gone(number, body) or completion(play(body), model=model)

    with serving(script) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url)
        code, _, err = go_on(run)
    assert (code, rows(run)) == (69, []), err
    assert "at first 'A', got 'B'" in err
    record_property("seen", f"exit {code}: {err.splitlines()[-1]}")
