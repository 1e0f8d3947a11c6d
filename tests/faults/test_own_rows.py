"""Rows and configs of another run in a run's folder: each is sound by itself, and not the run's."""

from __future__ import annotations

import dataclasses
import json
import shutil
import zlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.law.analysis import analyse
from harness.records import config_file, metric_rows, run_status
from harness.records.run_folder import RunFolder
from harness.testing.commands import here
from tests.faults.limited import quick
from tests.law import ended
from tests.train.made import go_on, make_run

Seen = Callable[[str, object], None]
OTHERS = "the checksum in run.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seeds 1 and 2, done, and seed 3, stopped after step 7; of equal configs but for the seed."""
    root = tmp_path_factory.mktemp("made")
    runs = [make_run(root / f"s{seed}", quick(seed=seed, steps=12)) for seed in (1, 2, 3)]
    assert [go_on(runs[0])[0], go_on(runs[1])[0], go_on(runs[2], 7)[0]] == [0, 0, 75]
    return root


@pytest.fixture
def seeds(made: Path, tmp_path: Path) -> dict[int, RunFolder]:
    copied = shutil.copytree(made, tmp_path / "runs")
    return {seed: RunFolder(copied / f"s{seed}") for seed in (1, 2, 3)}


def swapped(one: Path, other: Path) -> None:
    mine, theirs = one.read_bytes(), other.read_bytes()
    one.write_bytes(theirs)
    other.write_bytes(mine)


def told(path: Path) -> tuple[int, str]:
    """The exit code of verify, and the damage that it names."""
    done = here("verify", str(path), "--json", cwd=path.parent)
    findings = [f for run in json.loads(done.stdout)["runs"] for f in run["findings"]]
    return done.returncode, "\n".join(f["message"] for f in findings if f["level"] == "damaged")


def sealed(path: Path, seed: int, **standing: Any) -> Path:
    """A made-up run that is done, with the sum of its rows in run.json."""
    run = ended.run(path, seed, **standing)
    sums = metric_rows.sums((run / "metrics.jsonl").read_bytes().splitlines(keepends=True))
    assert sums is not None
    ended.stands(run, rows=asdict(sums))
    return run


@pytest.mark.attack(
    "swap metrics.jsonl between two finished seeds of one config, each row sound by itself",
    "verify and resume end with 65, and a fit names both and has neither in a mean",
)
def test_rows_of_another_seed_are_told_from_the_runs_own(
    seeds: dict[int, RunFolder], record_property: Seen
) -> None:
    swapped(seeds[1].metrics, seeds[2].metrics)
    code, why = told(seeds[1].path)
    assert code == 65
    assert f"{seeds[1].metrics}: rows 1 to 12 must have the checksum in run.json" in why
    assert "rows 1 to 10 must be those that step-00010 was saved after" in why
    done = here("resume", str(seeds[1].path), cwd=seeds[1].path.parent)
    record_property("seen", f"exit {done.returncode}: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 65
    assert f"{seeds[1].metrics}: rows 1 to 12 must be those that step-00012 was" in done.stderr
    found = analyse([seeds[2].path])
    (one,), (group,) = found.runs, found.groups
    assert one.unfinished is not None
    assert OTHERS in str(one.unfinished.reason)
    assert group.runs == []


@pytest.mark.attack(
    "put the rows of another seed in the place of a stopped run's, then resume",
    "65, naming the file and the checkpoint; its state is not led on over others' rows",
)
def test_a_run_goes_on_from_its_own_rows_only(
    seeds: dict[int, RunFolder], record_property: Seen
) -> None:
    shutil.copyfile(seeds[1].metrics, seeds[3].metrics)
    before = seeds[3].metrics.read_bytes()
    code, _, err = go_on(seeds[3])
    record_property("seen", f"exit {code}: {err.splitlines()[-1]}")
    assert code == 65
    assert f"{seeds[3].metrics}: rows 1 to 7 must be those that step-00007 was saved after" in err
    assert seeds[3].metrics.read_bytes() == before


def forged(lines: list[bytes]) -> list[bytes]:
    body = lines[9][: lines[9].index(b', "crc32"')].replace(b'"reward": 0.', b'"reward": 0.9')
    return [*lines[:9], body + b', "crc32": "%08x"}\n' % zlib.crc32(body), *lines[10:]]


def unchecked(lines: list[bytes]) -> list[bytes]:
    plain = [metric_rows.without_checksum(line) for line in lines]
    return [line.replace(b'"reward": 0.', b'"reward": 0.9') for line in plain]


def mixed(lines: list[bytes]) -> list[bytes]:
    return [*lines[:9], metric_rows.encode(ended.rows(7)[9]), *lines[10:]]


def anothers(_lines: list[bytes]) -> list[bytes]:
    return [metric_rows.encode(row) for row in ended.rows(7)]


def anothers_with_a_gap(lines: list[bytes]) -> list[bytes]:
    return [*anothers(lines)[:20], *anothers(lines)[25:]]


@pytest.mark.attack(
    "mix rows of another run in, forge a checksum, or take all checksums out and change numbers",
    "the run is named and in no mean, and the mean is that of the other seeds",
)
@pytest.mark.parametrize("change", [forged, unchecked, mixed, anothers, anothers_with_a_gap])
def test_sound_rows_that_the_run_did_not_write_are_in_no_mean(
    tmp_path: Path, change: Callable[[list[bytes]], list[bytes]], record_property: Seen
) -> None:
    for seed in (1, 2, 3):
        sealed(tmp_path / "runs" / f"s{seed}", seed)
    before = analyse([tmp_path / "runs" / "s1", tmp_path / "runs" / "s3"]).groups[0]
    assert [run.unfinished for run in analyse([tmp_path / "runs"]).runs] == [None] * 3
    ended.edit(tmp_path / "runs" / "s2", change)
    found = analyse([tmp_path / "runs"])
    (group,) = found.groups
    assert [Path(run).name for run in group.runs] == ["s1", "s3"]
    assert [Path(run).name for run in group.unfinished] == ["s2"]
    assert (group.a, group.ceiling, group.gain) == (before.a, before.ceiling, before.gain)
    (why,) = (run.unfinished.reason for run in found.runs if run.unfinished)
    record_property("seen", why)
    assert OTHERS in str(why)


def test_rows_in_another_order_are_the_runs_own_and_so_are_those_with_other_line_ends(
    tmp_path: Path,
) -> None:
    run = sealed(tmp_path / "a", 1)
    ended.edit(run, lambda lines: [*lines[30:], *lines[:30]])
    assert analyse([run]).runs[0].unfinished is None
    ended.edit(run, lambda lines: [line.replace(b"\n", b"\r\n") for line in lines])
    assert analyse([run]).runs[0].unfinished is None


@pytest.mark.attack(
    "put the config.yaml of a hard run into the folder of an easy one that is done",
    "it is in the mean of neither level, and verify and resume refuse it",
)
def test_a_run_under_the_config_of_another_is_in_no_mean(
    seeds: dict[int, RunFolder], record_property: Seen
) -> None:
    values = yaml.safe_load(seeds[1].config.read_text())
    values["difficulty"] = values["levels"]["hard"]
    seeds[1].config.write_text(yaml.safe_dump(values))
    found = analyse([seeds[1].path, seeds[2].path])
    named = {Path(run).name for group in found.groups for run in group.runs}
    assert named == {"s2"}
    (why,) = (run.unfinished.reason for run in found.runs if run.unfinished)
    rule = f"{seeds[1].config}: must be as it was when the run was planned"
    assert str(why).startswith(f"damaged: {rule}")
    assert told(seeds[1].path)[0] == 65
    done = here("resume", str(seeds[1].path), cwd=seeds[1].path.parent)
    record_property("seen", f"exit {done.returncode}: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 2
    assert rule in done.stderr


@pytest.mark.attack(
    "read a run whose config has a key that only a newer version knows",
    "fit and status read it, verify finds it whole, and a resume is refused with the key named",
)
def test_a_config_of_a_newer_version_is_read_and_not_resumed(
    seeds: dict[int, RunFolder], record_property: Seen
) -> None:
    run = seeds[1]
    shutil.rmtree(run.checkpoints)
    values = yaml.safe_load(run.config.read_text())
    values["trainer"]["invented_later"] = 7
    run.config.write_text(yaml.safe_dump(values))
    planned = config_file.hash_of(values)
    run_status.write(
        run.status, dataclasses.replace(run_status.read(run.status), config_hash=planned)
    )
    assert told(run.path) == (0, "")
    assert here("status", str(run.path), cwd=run.path).returncode == 0
    (one,) = analyse([run.path]).runs
    assert (one.status, one.unfinished) == ("ok", None)
    done = here("resume", str(run.path), cwd=run.path)
    record_property("seen", f"exit {done.returncode}: {done.stderr.splitlines()[-1][:120]}")
    assert done.returncode == 65
    assert "config.yaml has trainer.invented_later, which this version (harness" in done.stderr
