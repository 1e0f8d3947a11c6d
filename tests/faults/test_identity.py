"""What is not the run's own: changed rows, other runs' checkpoints, other models, other code."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from harness.records import metric_rows
from harness.records.run_folder import RunFolder
from harness.testing.commands import here
from tests.faults.limited import quick
from tests.train.made import go_on, killed_after, make_run

Seen = Callable[[str, object], None]


@pytest.fixture(scope="module")
def killed_once(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Killed after row 12 or later: of 24, with checkpoints of step 5 and 10 or later."""
    return killed_after(make_run(tmp_path_factory.mktemp("killed") / "run", quick()), 12)


@pytest.fixture
def killed(killed_once: RunFolder, tmp_path: Path) -> RunFolder:
    return RunFolder(shutil.copytree(killed_once.path, tmp_path / "run"))


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[int, RunFolder]:
    """Seed 1 stopped after step 7, seed 2 after step 12: of equal configs but for the seed."""
    root = tmp_path_factory.mktemp("seeds")
    made = {seed: make_run(root / f"seed{seed}", quick(seed=seed)) for seed in (1, 2)}
    assert [go_on(made[1], 7)[0], go_on(made[2], 12)[0]] == [75, 75]
    return made


def resumed(run: RunFolder) -> CompletedProcess[str]:
    return here("resume", str(run.path), cwd=run.path.parent)


def seen(record: Seen, done: CompletedProcess[str]) -> str:
    """The last sentence on stderr, which goes into the table of attacks."""
    last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.stdout[-200:]
    record("seen", f"exit {done.returncode}: {last}")
    return last


def change_a_digit(run: RunFolder, step: int) -> None:
    """One digit of the reward in row `step`, as a bad disk or a hand would."""
    rows = run.metrics.read_bytes().splitlines(keepends=True)
    at = rows[step - 1].index(b'"reward": 0.') + len('"reward": 0.')
    digit = b"8" if rows[step - 1][at : at + 1] != b"8" else b"7"
    rows[step - 1] = rows[step - 1][:at] + digit + rows[step - 1][at + 1 :]
    run.metrics.write_bytes(b"".join(rows))


def tree(root: Path) -> dict[str, str]:
    """Every file below `root` with the sum of its bytes."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return {str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.mark.attack(
    "change one digit of a row that a checkpoint stands on, then resume",
    "65, naming the file and the line; nothing is changed",
)
def test_a_changed_row_under_a_checkpoint_is_refused(
    killed: RunFolder, record_property: Seen
) -> None:
    change_a_digit(killed, 2)
    before = killed.metrics.read_bytes()
    done = resumed(killed)
    last = seen(record_property, done)
    assert done.returncode == 65
    assert last == (
        f"harness: {killed.metrics}:2: row 2 must match its checksum, but does not: it was changed "
        "after it was written; without checkpoints/ the rows are computed again"
    )
    assert killed.metrics.read_bytes() == before


@pytest.mark.attack(
    "change one digit of a row past the newest checkpoint, then resume",
    "it is said, kept aside and computed again; the rows are those of an uninterrupted run",
)
def test_a_changed_row_past_the_checkpoint_is_computed_again(
    killed: RunFolder, whole: bytes, record_property: Seen
) -> None:
    shutil.rmtree(killed.checkpoints)
    change_a_digit(killed, 3)
    changed = killed.metrics.read_bytes()
    done = resumed(killed)
    record_property("seen", f"exit {done.returncode}: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    assert f"{killed.metrics}:3: row 3 must match its checksum, but does not" in done.stderr
    assert "it and later rows were moved to metrics.superseded.jsonl" in done.stderr
    assert killed.metrics.read_bytes() == whole
    aside = (killed.path / "metrics.superseded.jsonl").read_bytes()
    assert aside == b"".join(changed.splitlines(keepends=True)[2:])


@pytest.mark.attack(
    "change one digit of a row of a run that is done, then resume and verify",
    "both end with 65 and name file and line",
)
def test_a_changed_row_of_a_done_run_is_found(tmp_path: Path, record_property: Seen) -> None:
    run = make_run(tmp_path / "run", quick(steps=3))
    assert go_on(run)[0] == 0
    change_a_digit(run, 2)
    code, _, err = go_on(run)
    record_property("seen", f"exit {code}: {err.splitlines()[-1]}")
    assert code == 65
    assert f"{run.metrics}:2: row 2 must match its checksum, but does not" in err
    assert here("verify", "run", cwd=tmp_path).returncode == 65


@pytest.mark.attack(
    "cut the checksum off a row that was changed",
    "65: the rows before it have one",
)
def test_a_row_that_lost_its_checksum_is_refused(killed: RunFolder, record_property: Seen) -> None:
    rows = killed.metrics.read_bytes().splitlines(keepends=True)
    rows[2] = metric_rows.without_checksum(rows[2])
    killed.metrics.write_bytes(b"".join(rows))
    done = resumed(killed)
    last = seen(record_property, done)
    assert done.returncode == 65
    assert f"{killed.metrics}:3: row 3 must match its checksum like the rows before it" in last


@pytest.mark.attack(
    "copy step-00010 of seed 2's run into the checkpoints of seed 1's, then resume seed 1",
    "65, naming the checkpoint and both seeds; it is never loaded",
)
def test_a_checkpoint_of_another_seed_is_refused(
    seeds: dict[int, RunFolder], tmp_path: Path, record_property: Seen
) -> None:
    run = RunFolder(shutil.copytree(seeds[1].path, tmp_path / "run"))
    theirs = shutil.copytree(seeds[2].checkpoints / "step-00010", run.checkpoints / "step-00010")
    before = run.metrics.read_bytes()
    run.metrics.write_bytes(seeds[2].metrics.read_bytes())  # with its rows it would go on unseen
    done = resumed(run)
    last = seen(record_property, done)
    assert done.returncode == 65
    assert last == (
        f"harness: {theirs}/manifest.json: a checkpoint must be of the run that it lies in, got "
        "one of seed 2 instead of the run's 1; move step-00010 away to go on from what is the "
        "run's own"
    )
    run.metrics.write_bytes(before)
    theirs.rename(tmp_path / "away")
    assert resumed(run).returncode == 0, "as the advice says"


@pytest.mark.attack(
    "copy a checkpoint of the same seed at another learning rate into a run, then resume",
    "65, naming the checkpoint and both configs",
)
def test_a_checkpoint_of_another_config_is_refused(
    killed: RunFolder, tmp_path: Path, record_property: Seen
) -> None:
    other = make_run(tmp_path / "other", quick(steps=30))
    assert go_on(other, 20)[0] == 75
    shutil.copytree(other.checkpoints / "step-00020", killed.checkpoints / "step-00099")
    done = resumed(killed)
    last = seen(record_property, done)
    assert done.returncode == 65
    assert "step-00099/manifest.json: a checkpoint must be of the step that its name says" in last
    (killed.checkpoints / "step-00099").rename(killed.checkpoints / "step-00020")
    done = resumed(killed)
    last = seen(record_property, done)
    assert done.returncode == 65
    assert "must be of the run that it lies in, got one of config hash" in last


def written_with(run: RunFolder, **versions: str) -> None:
    """As if the run's first attempt had run with these."""
    lines = [json.loads(line) for line in run.events.read_text().splitlines()]
    for event in lines:
        if "versions" in event:
            event["versions"] |= versions
    run.events.write_text("".join(json.dumps(event) + "\n" for event in lines))


@pytest.mark.attack(
    "resume under another numpy than the rows were written with, where a row comes out otherwise",
    "it is said at the start; 70, naming both versions and what to do",
)
def test_a_row_that_another_numpy_wrote_is_told_by_its_version(
    killed: RunFolder, record_property: Seen
) -> None:
    import numpy

    shutil.rmtree(killed.checkpoints)
    written_with(killed, numpy="1.26.4")
    rows = killed.metrics.read_bytes().splitlines(keepends=True)
    row = json.loads(metric_rows.without_checksum(rows[1]))
    rows[1] = metric_rows.encode(row | {"reward": row["reward"] + 1e-12})
    killed.metrics.write_bytes(b"".join(rows))
    done = resumed(killed)
    last = seen(record_property, done)
    change = f"numpy 1.26.4 -> {numpy.__version__}"
    assert done.returncode == 70
    assert done.stderr.startswith(f"harness: {killed.path}: row ")
    assert f"was written with other versions ({change}), which may compute" in done.stderr
    assert f"it was written with other versions ({change}): resume with those" in last
    assert "move the rows after row 0 out of metrics.jsonl to continue with the present" in last


def test_equal_versions_leave_the_sentence_as_it_is(killed: RunFolder) -> None:
    shutil.rmtree(killed.checkpoints)
    rows = killed.metrics.read_bytes().splitlines(keepends=True)
    row = json.loads(metric_rows.without_checksum(rows[1]))
    rows[1] = metric_rows.encode(row | {"reward": 2.0})
    killed.metrics.write_bytes(b"".join(rows))
    code, _, err = go_on(killed)
    assert code == 70
    assert "other versions" not in err
    assert err.splitlines()[-1] == (
        f"harness: {killed.metrics}:2: a recomputed row must equal the one on disk; "
        f"reward was 2.0, is now {row['reward']}"
    )


def test_equal_rows_go_on_under_other_versions_and_each_attempt_says_its_own(
    killed: RunFolder, whole: bytes
) -> None:
    written_with(killed, numpy="1.26.4")
    planned = json.loads(killed.status.read_text())["versions"]
    done = resumed(killed)
    assert done.returncode == 0
    assert "numpy 1.26.4 -> " in done.stderr
    assert killed.metrics.read_bytes() == whole
    events = [json.loads(line) for line in killed.events.read_text().splitlines()]
    told = [e["versions"]["numpy"] for e in events if e["event"] in ("start", "resume")]
    assert told == ["1.26.4", planned["numpy"]]
    assert json.loads(killed.status.read_text())["versions"] == planned


def damage_each(run: RunFolder) -> dict[str, Callable[[], Any]]:
    """Part of a run -> what damages it."""
    table = next(run.checkpoints.glob("*/table.npy"))
    turns = next(run.conversations.iterdir())
    return {
        "rows": lambda: change_a_digit(run, 2),
        "checkpoints": lambda: table.write_bytes(table.read_bytes()[:-8] + b"\0\0\0\0\0\0\0\1"),
        "config": lambda: run.config.write_text(
            run.config.read_text().replace("seed: 1", "seed: 3")
        ),
        "conversations": lambda: os.truncate(turns, turns.stat().st_size - 9),
        "status": lambda: run.status.write_text('{"status": "\x1b]0;pwned\x07"'),
    }


@pytest.mark.attack(
    "damage rows, a checkpoint, config.yaml, conversations or run.json, one run each, then verify",
    "each is found and named by its part; verify changes no file",
)
def test_verify_names_the_part_that_is_damaged(
    seeds: dict[int, RunFolder], tmp_path: Path, record_property: Seen
) -> None:
    parts = list(damage_each(seeds[1]))
    for part in parts:
        damage_each(RunFolder(shutil.copytree(seeds[1].path, tmp_path / "all" / f"of-{part}")))[
            part
        ]()
    before = tree(tmp_path)
    done = here("verify", "all", "--json", cwd=tmp_path)
    runs = json.loads(done.stdout)["runs"]
    found = {
        Path(r["run"]).name: {f["part"] for f in r["findings"] if f["level"] == "damaged"}
        for r in runs
    }
    record_property("seen", f"exit {done.returncode}: {len(found)} damaged, each by its part")
    assert done.returncode == 65
    assert found == {f"of-{part}": {part} for part in parts}
    assert tree(tmp_path) == before
    shutil.copytree(seeds[1].path, tmp_path / "all" / "whole")
    assert here("verify", "all", cwd=tmp_path).returncode == 3


@pytest.mark.attack(
    "put escape sequences where verify prints text of files",
    "they are shown as text, none reaches the terminal",
)
def test_verify_shows_hostile_text_literally(
    seeds: dict[int, RunFolder], tmp_path: Path, record_property: Seen
) -> None:
    run = RunFolder(shutil.copytree(seeds[1].path, tmp_path / "a\x1b[2Jrun"))
    rows = run.metrics.read_bytes().splitlines(keepends=True)
    run.metrics.write_bytes(rows[0] + b"\x1b]0;pwned\x07\n" + rows[2])
    values = json.loads(run.status.read_text())
    values["git"] = values["git"] + "\x1b[31m"
    run.status.write_text(json.dumps(values))
    done = here("verify", ".", cwd=tmp_path)
    record_property("seen", f"exit {done.returncode}: {done.stdout.splitlines()[1][:60]}")
    assert done.returncode == 65
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert "\\x1b" in done.stdout
