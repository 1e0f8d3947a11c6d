"""Checkpoints that a thread writes from a copy: what is in them, and what may go wrong."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.config.run import RunConfig, TrainerConfig
from harness.errors import StorageError
from harness.records import checkpoints, provenance
from harness.records.provenance import RunIdentity
from harness.records.run_folder import RunFolder
from harness.train.loop.checkpoint_copy import copy_to_cpu
from harness.train.loop.saving import Fill, Saver, UnsavedStep
from harness.train.loop.trl_adapter import ConversationTrainer
from harness.train.objective import language_loss
from tests.train.made import go_on, make_run, status
from tests.train.made_hugging_face import SMALL, config, rows

OWN = RunIdentity("hash", 1, None, provenance.current_versions())


class Told:
    """A saver of a made-up run, and what it said was saved."""

    def __init__(self, root: Path, **trainer: int) -> None:
        self.steps: list[int] = []
        self.weights = 0
        self.saver = Saver(
            root,
            TrainerConfig(**trainer),  # type: ignore[arg-type]
            lambda: OWN,
            lambda step: None,
            lambda step, seconds: self.steps.append(step),
        )

    def end(self, step: int, slow: threading.Event | None = None) -> UnsavedStep:
        """The end of `step`, whose weights are its number until the next."""
        self.weights = step
        return UnsavedStep(step, lambda folder: self._write(folder, self.weights), self._copy(slow))

    def _copy(self, slow: threading.Event | None) -> Callable[[], Fill]:
        def copy() -> Fill:
            weights = self.weights

            def fill(folder: Path) -> None:
                if slow is not None:
                    slow.wait(30)
                self._write(folder, weights)

            return fill

        return copy

    @staticmethod
    def _write(folder: Path, weights: int) -> None:
        (folder / "weights").write_text(str(weights))


def kept(root: Path) -> dict[int, str]:
    return {
        checkpoints.step_of(path): (path / "weights").read_text()
        for path in checkpoints.all_in(root)
    }


def test_what_is_written_later_is_the_copy_and_appears_at_once(tmp_path: Path) -> None:
    slow, told = threading.Event(), Told(tmp_path / "c", checkpoint_every=1)
    told.saver.take(told.end(1, slow), ends_run=False)
    told.weights = 99  # an update
    told.saver.collect()
    assert (kept(tmp_path / "c"), told.steps) == ({}, [])
    slow.set()
    told.saver.wait()
    assert (kept(tmp_path / "c"), told.steps) == ({1: "1"}, [1])


def test_between_two_checkpoints_the_last_end_is_saved_when_asked(tmp_path: Path) -> None:
    told = Told(tmp_path / "c", checkpoint_every=10)
    for step in (1, 2):
        told.saver.take(told.end(step), ends_run=False)
    assert kept(tmp_path / "c") == {}
    told.saver.save()
    told.saver.save()
    assert (kept(tmp_path / "c"), told.steps) == ({2: "2"}, [2])


def test_an_end_that_was_kept_outlives_an_update(tmp_path: Path) -> None:
    told = Told(tmp_path / "c", checkpoint_every=10)
    told.saver.take(told.end(1), ends_run=False)
    told.saver.keep()
    told.weights = 99
    told.saver.save()
    assert kept(tmp_path / "c") == {1: "1"}


def test_one_checkpoint_waits_for_the_other_and_the_last_is_on_disk(tmp_path: Path) -> None:
    told = Told(tmp_path / "c", checkpoint_every=1)
    for step in range(1, 5):
        told.saver.take(told.end(step), ends_run=step == 4)
    assert told.steps == [1, 2, 3, 4]
    assert kept(tmp_path / "c") == {3: "3", 4: "4"}


def test_a_failure_of_the_thread_is_raised_at_the_next_look_with_its_traceback(
    tmp_path: Path,
) -> None:
    told = Told(tmp_path / "c", checkpoint_every=1)

    def broken(folder: Path) -> None:
        raise ZeroDivisionError("in the thread")

    told.saver.take(UnsavedStep(1, broken, lambda: broken), ends_run=False)

    def collected() -> None:
        for _ in range(300):
            told.saver.collect()
            time.sleep(0.05)

    with pytest.raises(ZeroDivisionError) as raised:
        collected()
    assert "broken" in [entry.name for entry in raised.traceback]
    assert told.steps == []
    assert list((tmp_path / "c").iterdir()) == []
    told.saver.take(told.end(2), ends_run=True)  # a later one is not hindered by it
    assert kept(tmp_path / "c") == {2: "2"}


def test_tensors_that_were_one_are_one_in_the_copy() -> None:
    weight, other = torch.ones(3), torch.ones(3)
    made = copy_to_cpu({"a": weight, "b": [weight, other], "c": 4}, {})
    weight.add_(1)
    assert torch.equal(made["a"], torch.ones(3))
    assert made["a"] is made["b"][0]
    assert made["b"][1] is not made["a"]
    assert made["c"] == 4


def files(checkpoint: Path) -> dict[str, bytes]:
    inside = (path for path in checkpoint.rglob("*") if path.is_file())
    return {path.relative_to(checkpoint).as_posix(): path.read_bytes() for path in inside}


@pytest.mark.parametrize("rank", [0, 4])
def test_a_copy_is_written_as_the_trainer_itself_would(
    rank: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file, byte by byte, though the weights change before it is written."""
    policy, plain = replace(SMALL, lora_rank=rank), ConversationTrainer.copy_state
    pairs: list[tuple[dict[str, bytes], dict[str, bytes]]] = []

    def both(self: Any) -> Fill:
        direct, later = tmp_path / "direct", tmp_path / "later"
        for folder in (direct, later):
            folder.mkdir()
        self.save(direct)
        fill = plain(self)
        kept = {n: p.detach().clone() for n, p in self.model.named_parameters()}
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.zero_()
            fill(later)
            for name, parameter in self.model.named_parameters():
                parameter.copy_(kept[name])
        pairs.append((files(direct), files(later)))
        return fill

    monkeypatch.setattr(ConversationTrainer, "copy_state", both)
    run = make_run(tmp_path / "run", config(policy, checkpoint_every=1))
    assert go_on(run)[0] == 0
    ((direct, later),) = pairs
    assert {"trainer/optimizer.pt", "trainer/scheduler.pt", "trainer/rng_state.pth"} <= set(later)
    assert sorted(later) == sorted(direct)
    unlike = [name for name in direct if direct[name] != later[name]]
    assert unlike in ([], ["trainer/training_args.bin"]), "which names the folder it was saved to"


def test_a_full_disk_under_the_thread_ends_the_run_74_at_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path / "run", config(SMALL, steps=4, checkpoint_every=1))
    plain = checkpoints.publish

    def publish(root: Path, step: int, *given: Any) -> Any:
        if step == 1:
            raise StorageError(f"{root}: no space left on device")
        return plain(root, step, *given)

    monkeypatch.setattr(checkpoints, "publish", publish)
    code, _, err = go_on(run)
    assert (code, status(run)["status"]) == (74, "failed")
    assert "no space left on device" in err
    assert len(rows(run)) < 4
    monkeypatch.setattr(checkpoints, "publish", plain)
    assert go_on(run)[0] == 0
    assert len(rows(run)) == 4


def stopping_config(**trainer: Any) -> RunConfig:
    return config(SMALL, steps=4, checkpoint_every=100, tokens_at_once=64, **trainer)


@pytest.mark.parametrize("updates", [1, 2])
def test_a_stop_within_an_update_has_the_last_step_on_disk_before_the_update_ends(
    updates: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process may be killed at any time after that, and resumes to the same rows."""
    given = stopping_config(updates_per_batch=updates)
    whole = make_run(tmp_path / "whole", given)
    assert go_on(whole)[0] == 0
    run = make_run(tmp_path / "run", given)
    plain, parts, seen = language_loss._backward_part, [0], list[list[int]]()
    within = 8 * updates * 2 - 2  # in the last update of step 2, which has 8 parts of its own

    def part(*arguments: Any) -> Any:
        parts[0] += 1
        if parts[0] == within:
            os.kill(os.getpid(), signal.SIGTERM)
        if parts[0] == within + 2:
            seen.append([checkpoints.step_of(p) for p in checkpoints.all_in(run.checkpoints)])
            raise KeyboardInterrupt  # as if killed
        return plain(*arguments)

    monkeypatch.setattr(language_loss, "_backward_part", part)
    with pytest.raises(KeyboardInterrupt):
        go_on(run)
    assert seen == [[1]]
    monkeypatch.setattr(language_loss, "_backward_part", plain)
    assert go_on(run)[0] == 0
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()


def _events(run: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.events.read_text().splitlines()]


def test_the_events_have_each_checkpoint_once(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", config(SMALL, steps=3, checkpoint_every=1))
    assert go_on(run)[0] == 0
    saved = [event["step"] for event in _events(run) if event["event"] == "checkpoint"]
    assert saved == [1, 2, 3]
