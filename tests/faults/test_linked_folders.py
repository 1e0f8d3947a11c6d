"""Folders that are links: runs, results, and the locks of GPUs and of the cache."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from harness.config.run import PolicyConfig
from harness.errors import DeviceError, StorageError
from harness.execution import difficulty_cards, gpu_lease, sweep_place
from harness.records import user_folders
from harness.records.run_folder import RunFolder
from harness.report import write
from harness.testing.commands import TABULAR, here
from tests.faults.limited import train
from tests.faults.planted import VICTIM, Seen, of_a_run, own, planted


@pytest.mark.attack(
    "a run folder, or the folder of a sweep's runs, that is a link to another",
    "refused in a sentence (65, 73); nothing is written behind the link",
)
def test_runs_are_not_written_behind_a_link(tmp_path: Path, record_property: Seen) -> None:
    run = of_a_run(RunFolder(tmp_path / "theirs"))
    before = sorted(path.name for path in run.path.iterdir())
    (tmp_path / "run").symlink_to(run.path)
    done = train(RunFolder(tmp_path / "run"))
    assert done.returncode == 65
    assert (
        "must not be a link, since a run writes only to its own files and folders, got a link to"
        in done.stderr
    )
    (tmp_path / "runs").symlink_to("theirs")
    swept = here("sweep", *TABULAR, "trainer.steps=2", cwd=tmp_path)
    assert swept.returncode == 73
    assert swept.stderr == (
        f"harness: {sweep_place.RUNS}: must be a folder, since runs are not written through a "
        "link; got one to theirs: run harness in another folder, or replace the link by a folder\n"
    )
    assert sorted(path.name for path in run.path.iterdir()) == before
    record_property("seen", f"exit {done.returncode} and {swept.returncode}: {swept.stderr}")


@pytest.mark.attack(
    "law/ or calibration/, where results go by default, is a link to another folder",
    "exit 2 and a sentence; a link that the user typed himself is followed",
)
def test_results_go_behind_a_link_only_where_one_was_named(
    tmp_path: Path, record_property: Seen
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "law.json").symlink_to(tmp_path / "victim")
    (tmp_path / "victim").write_text(VICTIM)
    (tmp_path / "a").mkdir()
    rows = [{"step": n, "entropy": 2 - n / 20, "reward": n / 20} for n in range(1, 21)]
    (tmp_path / "a" / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    for link in ("a/law", "calibration"):
        (tmp_path / link).symlink_to(theirs)
    quickly = ("fit-entropy-law", "a", "--figures", "none")
    fit = here(*quickly, cwd=tmp_path)
    asked = here("calibrate", "difficulty=easy", cwd=tmp_path)
    for done in (fit, asked):
        assert done.returncode == 2, done.stderr
        assert "must not be a link unless it is named with --out, got" in done.stderr
        assert "name a folder with --out" in done.stderr
    assert [path.name for path in theirs.iterdir()] == ["law.json"]
    named = here(*quickly, "--out", "a/law", cwd=tmp_path)
    assert named.returncode == 0, named.stderr
    assert own(theirs / "law.json"), "and what is a link in it is replaced"
    assert (tmp_path / "victim").read_text() == VICTIM
    record_property("seen", f"exit {fit.returncode}: {fit.stderr}")


def test_a_calibration_replaces_links(tmp_path: Path) -> None:
    names = [f"calibration.{kind}" for kind in ("json", "csv", "png", "svg")]
    where = tmp_path / "ours"
    shipped = json.loads(next(difficulty_cards.SHIPPED.glob("*.json")).read_text())
    found = {"schema": 1, "levels": {"easy": shipped}, "order_holds": None, "published": []}
    with planted(names, where, tmp_path / "victims"):
        write.write_calibration(found, where)
        assert all(own(where / name) for name in names)


@pytest.mark.attack(
    "a link at the name of a GPU's lock, a folder for locks that others may write to",
    "refused in a sentence; the file behind the link is not touched",
)
def test_a_lock_of_a_gpu_is_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Seen
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    locks = user_folders.own_temporary("harness-gpus")
    victim = tmp_path / "victim"
    victim.write_text(VICTIM)
    (locks / "0.lock").symlink_to(victim)
    with pytest.raises(StorageError, match=f"harness-gpus-{os.getuid()}"):
        gpu_lease.take(1)
    assert victim.read_text() == VICTIM
    locks.chmod(0o777)
    with pytest.raises(DeviceError, match="that is not writable by others, got mode 777") as raised:
        gpu_lease.take(1)
    record_property("seen", str(raised.value).rpartition("/")[2])


@pytest.mark.attack(
    "a link at the lock beside a start model or a card in a shared cache",
    "refused in a sentence; the file behind it is not touched",
)
def test_a_lock_in_the_cache_is_no_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Seen
) -> None:
    from harness.train.warm_start import start_model

    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    victim = tmp_path / "victim"
    victim.write_text(VICTIM)
    policy = PolicyConfig(name="tiny", kind="tiny")
    (tmp_path / f"start-{start_model.key(policy)}.lock").symlink_to(victim)
    with pytest.raises(StorageError, match="start-") as raised:
        start_model.ensure(policy)
    assert victim.read_text() == VICTIM
    assert not list(tmp_path.glob("start-*/"))
    record_property("seen", str(raised.value).rpartition(": ")[2])
