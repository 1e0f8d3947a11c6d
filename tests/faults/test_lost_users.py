"""An evaluation that lost many of its users is no row, and a resume asks them again."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.records.run_folder import RunFolder
from harness.train.loop import served_users
from tests.faults.outages import ANSWERS, a_run, lost
from tests.simulator.endpoint import Body, Endpoint, Script, purpose, response, serving
from tests.simulator.endpoint import level as level_of
from tests.train.made import go_on, status
from tests.train.made_served_runs import rows

Record = Callable[[str, object], None]


def failing_users(share: float, level: str) -> Script:
    """Of the held-out users of a level, that share cannot be asked."""
    counted = itertools.count()

    def script(number: int, body: Body) -> bytes | None:
        if purpose(body) != "appraise" or level_of(body) != level:
            return None
        return response("", "400 Bad Request") if next(counted) % 8 < share * 8 else None

    return script


def an_evaluation(endpoint: Endpoint, path: Path, share: float) -> tuple[RunFolder, int, str]:
    endpoint.script = failing_users(share, "hard")
    run = a_run(path, endpoint.url)
    code, _, err = go_on(run)
    return run, code, err


@pytest.mark.attack(
    "an evaluation loses half of the users of one level",
    "exit 69 before the row of that step; a resume asks those again and goes on",
)
def test_an_evaluation_of_half_the_users_is_no_row(tmp_path: Path, record_property: Record) -> None:
    with serving() as endpoint:
        run, code, err = an_evaluation(endpoint, tmp_path / "run", 0.5)
        assert (code, rows(run)) == (69, [])
        assert (
            f"{run.path}: step 1: at most 20% of the 8 held-out conversations of a level may be "
            f"lost in an evaluation on {endpoint.url}, 4 at hard were; its row is not written, and "
            f"asks them again. Once it answers, continue with `harness resume {run.path}`"
        ) in err
        assert (status(run)["status"], status(run)["exit_code"]) == ("stopped", 69)
        endpoint.script, calls = ANSWERS, len(endpoint.bodies)
        assert go_on(run)[0] == 0
        asked = [b for b in endpoint.bodies[calls:] if purpose(b) == "appraise"]
    assert lost(run) == 0
    assert rows(run)[0]["eval/hard/failed"] == 0
    assert len(asked) == 1 + 4 + 2 * 8 + 3 * 8, "the check, those lost, two steps, one evaluation"
    record_property("seen", f"exit {code}: {err.splitlines()[-1]}")


def test_an_evaluation_that_lost_few_is_a_row_that_counts_them(tmp_path: Path) -> None:
    with serving() as endpoint:
        run, code, err = an_evaluation(endpoint, tmp_path / "run", 0.125)
    assert code == 0, err
    assert [row["eval/hard/failed"] for row in rows(run)] == [1, None, 1]


def test_the_row_of_an_evaluation_that_is_on_disk_is_history(tmp_path: Path) -> None:
    """As a run of an older version left it: it is computed again and found equal."""
    with serving() as endpoint:
        with pytest.MonkeyPatch.context() as once:
            once.setattr(served_users, "MOST_LOST", 1.0)
            run, code, err = an_evaluation(endpoint, tmp_path / "run", 0.5)
            assert code == 0, err
        before = run.metrics.read_bytes()
        (run.checkpoints / "step-00003" / "manifest.json").unlink()
        (run.checkpoints / "step-00002" / "manifest.json").unlink()
        run.status.write_text(json.dumps(status(run) | {"status": "stopped"}))
        code, _, err = go_on(run)
    assert code == 0, err
    assert run.metrics.read_bytes() == before
