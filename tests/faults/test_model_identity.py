"""Another model behind the URL: one run has users of one model, or it stops and says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import DataError
from harness.simulator.served.model_identity import ModelIdentity
from tests.simulator.endpoint import Body, completion, play, serving
from tests.train.made import go_on, status
from tests.train.made_served_runs import a_run, rows

Record = Callable[[str, object], None]


def as_model(model: str, build: str = "b1") -> Callable[[int, Body], bytes]:
    return lambda number, body: completion(play(body), model=model, system_fingerprint=build)


def test_another_model_stops_the_run_before_it_counts_and_the_first_one_goes_on(
    tmp_path: Path,
) -> None:
    with serving(as_model("A-0718")) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url, steps=2)
        code, _, err = go_on(run, stop_after=1)
        assert code == 75, err
        endpoint.script = as_model("B-1121")
        code, _, err = go_on(run)
        assert code == 69
        assert f"simulator.base_url: {endpoint.url} must serve one model during a whole run" in err
        assert "at first 'A-0718', got 'B-1121'" in err
        assert (status(run)["status"], len(rows(run))) == ("stopped", 1)
        endpoint.script = as_model("A-0718", build="b2")
        code, _, err = go_on(run)
        assert code == 0, err
    assert err.count("answers from another build of 'A-0718', 'b2' (system_fingerprint)") == 1
    found = json.loads((run.simulator / "answerer.json").read_text())
    assert found == {"model": "A-0718", "builds": ["b1", "b2"]}


@pytest.mark.slow
def test_a_model_that_changes_on_the_way_leaves_no_row_of_both(tmp_path: Path) -> None:
    def script(number: int, body: Body) -> bytes:
        return as_model("B" if number > 150 else "A")(number, body)

    with serving(script) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url, steps=20)
        code, _, err = go_on(run)
        assert code == 69
        assert "at first 'A', got 'B'" in err
        before = rows(run)
        endpoint.script = as_model("A")
        assert go_on(run)[0] == 0
    assert 0 < len(before) < 20
    assert rows(run)[: len(before)] == before


def test_an_endpoint_that_says_nothing_of_itself_is_let_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answerer = ModelIdentity("http://here/v1")
    answerer.keep_in(tmp_path)
    answerer.observe(None, None)
    assert list(tmp_path.iterdir()) == []
    answerer.observe("A", None)
    answerer.observe(None, None)
    answerer.observe("A", "b1")
    assert capsys.readouterr().err == ""
    (tmp_path / "answerer.json").write_text("[]")
    with pytest.raises(DataError, match=r"answerer.json: must say model and builds"):
        ModelIdentity("http://here/v1").keep_in(tmp_path)


def written_bytes() -> int:
    """By this process so far, whatever the file."""
    found = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(found["wchar"])


def heard(folder: Path, answers: int, a_step: int) -> int:
    """Bytes written for so many answers, each of another build, flushed one by one."""
    folder.mkdir()
    answerer, before = ModelIdentity("http://here/v1"), written_bytes()
    answerer.keep_in(folder)
    for number in range(answers):
        if number % a_step == 0:
            answerer.at_step()
        answerer.observe("A", f"fp_{number:012}")
        answerer.flush()
    answerer.at_step()
    return written_bytes() - before


@pytest.mark.attack(
    "5,000 answers, each with another system_fingerprint",
    "a small file, bytes that do not grow with the square of the answers, one line on stderr",
)
def test_a_build_that_changes_at_every_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], record_property: Record
) -> None:
    written = heard(tmp_path / "5000", 5000, a_step=50)
    path = tmp_path / "5000" / "answerer.json"
    found = json.loads(path.read_text())
    assert written / 5000 < 40
    assert path.stat().st_size < 2000
    assert (len(found["builds"]), found["builds"][1], found["others"]) == (
        50,
        "fp_000000000050",
        4950,
    )
    assert capsys.readouterr().err.count("another build") == 1
    again = ModelIdentity("http://here/v1")
    again.keep_in(tmp_path / "5000")
    again.observe("A", "fp_another")
    again.at_step()
    assert json.loads(path.read_text())["others"] == 4951
    record_property("seen", f"{written:,} bytes for 5,000, a file of {path.stat().st_size:,}")


def test_a_run_says_once_that_builds_change_and_keeps_one_a_step(tmp_path: Path) -> None:
    def script(number: int, body: Body) -> bytes:
        return as_model("A", build=f"b{number}")(number, body)

    with serving(script) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url, steps=3)
        code, _, err = go_on(run)
    assert code == 0, err
    assert err.count("answers from another build of 'A'") == 1
    found = json.loads((run.simulator / "answerer.json").read_text())
    assert found["builds"][0] == "b0"
    assert len(found["builds"]) == 1 + 3, "the check, and one a step"
    assert found["others"] == len(endpoint.bodies) - 4
