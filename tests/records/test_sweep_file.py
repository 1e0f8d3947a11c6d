"""The file of a sweep and its ledger: read back as written, and named where it is damaged."""

import json
from pathlib import Path

import pytest

from harness.compose import planner
from harness.errors import DataError
from harness.records import compatibility, sweep_file
from harness.records.sweep_file import LedgerRow, Sweep


def test_a_sweep_survives_a_round_trip(tmp_path: Path) -> None:
    rows = (
        LedgerRow("0-easy", "/runs/0-easy", ["difficulty=easy", "seed=1"], "done", None, 0),
        LedgerRow("1-hard", None, ["difficulty=hard", "seed=1"]),
    )
    written = Sweep(str(tmp_path), {"difficulty": ["easy", "hard"], "seed": [1]}, rows)
    sweep_file.write(tmp_path, written)
    read = sweep_file.read(tmp_path)
    assert (read.dir, read.axes, read.runs) == (written.dir, written.axes, written.runs)
    saved = json.loads((tmp_path / "sweep.json").read_text())
    assert list(saved)[:4] == ["schema", "dir", "axes", "runs"]


def test_each_run_has_its_swept_values_as_planned() -> None:
    """Also null, lists and flags, which Hydra writes as null, [a,b] and True."""
    plan = planner.plan(
        [
            "policy=tabular",
            "algorithm.learning_rate=1e-1,.5",
            "eval.turn_cap=null,4",
            "eval.deaf=true,false",
            "difficulty.intentions=[praise],[venting,advice]",
            "remedy=none,clip_cov",
            "seed=1,2",
        ]
    )
    rows = [LedgerRow(str(n), None, point.overrides) for n, point in enumerate(plan.points)]
    found = Sweep(None, plan.axes, rows).by_run()
    assert len(found) == 64
    for name, point in zip(found, plan.points, strict=True):
        assert found[name] == {key: point.values[key] for key in plan.axes}


@pytest.mark.parametrize(
    "axis",
    [
        "Be kind.,Be brief.",
        r"Say\, then ask.,'Say, then ask: why?'",
        r"""'It\'s','"so"',"a\"b" """,
        r"'ends in \\','\d','a\\\'b'",
        "yes,'null','1',' a','a '",
    ],
)
def test_a_swept_text_is_found_however_hydra_writes_it(axis: str) -> None:
    plan = planner.plan(["policy=qwen3_0_6b", f"policy.system_prompt={axis.strip()}"])
    rows = [LedgerRow(str(n), None, point.overrides) for n, point in enumerate(plan.points)]
    found = Sweep(None, plan.axes, rows).by_run().values()
    assert [*found] == [{key: point.values[key] for key in plan.axes} for point in plan.points]


@pytest.mark.parametrize("text", ["", "[]", '{"runs": 3}', '{"dir": null, "axes": {}}'])
def test_a_ledger_that_cannot_be_read_says_where(tmp_path: Path, text: str) -> None:
    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(DataError, match=r"sweep.json: cannot be read"):
        sweep_file.read(tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": 5}, r"runs\[0\].name must be text, got 5"),
        ({"name": "../../t1"}, r"runs\[0\].name must be at most 96 letters, .*, got '../../t1'"),
        ({"name": "\0"}, r"runs\[0\].name must be at most 96 letters, .*, got '\\x00'"),
        ({"name": ""}, r"runs\[0\].name must be at most 96 letters, .*, got ''"),
        ({"name": ".."}, r"runs\[0\].name must be at most 96 letters, .*, got '..'"),
        ({"overrides": "seed=1"}, r"runs\[0\].overrides must be a list of text, got 'seed=1'"),
        ({"dir": 3}, r"runs\[0\].dir must be text or null, got 3"),
    ],
)
def test_a_changed_row_of_a_ledger_is_named(
    tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    sweep_file.write(tmp_path, Sweep(None, {}, [LedgerRow("0-easy", None, ["seed=1"])]))
    saved = json.loads((tmp_path / "sweep.json").read_text())
    saved["runs"][0] |= change
    (tmp_path / "sweep.json").write_text(json.dumps(saved))
    with pytest.raises(DataError, match=rf"sweep.json: cannot be read: {sentence}"):
        sweep_file.read(tmp_path)


def test_runs_that_are_no_list_are_damage_and_no_newer_version(tmp_path: Path) -> None:
    sweep_file.write(tmp_path, Sweep(None, {}, []))
    values = json.loads((tmp_path / "sweep.json").read_text())
    (tmp_path / "sweep.json").write_text(json.dumps({**values, "runs": 5}))
    compatibility.refuse_newer_sweep(tmp_path)
    with pytest.raises(DataError, match=r"json: cannot be read: runs must be a list .* got 5"):
        sweep_file.read(tmp_path)
