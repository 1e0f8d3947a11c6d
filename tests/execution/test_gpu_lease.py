"""GPUs that are a run's own, and as many runs as there is room for; names stand for the cards."""

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.config.run import RunConfig, TrainerConfig
from harness.errors import DeviceError, StoppedError
from harness.execution import gpu_lease

Span = tuple[str, float, float]


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def runs(count: int, gpus: int = 0, threads: int = 1, per_gpu: int = 1) -> list[RunConfig]:
    trainer = TrainerConfig(gpus=gpus, threads=threads, runs_per_gpu=per_gpu)
    return [RunConfig(seed=n, trainer=trainer) for n in range(count)]


def test_two_runs_never_have_one_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,GPU-5a/1")
    with gpu_lease.lease(1) as first, gpu_lease.lease(1) as second:
        assert (first.visible, second.visible) == ("3", "GPU-5a/1")
        with (
            pytest.raises(StoppedError, match="waiting for a free GPU"),
            gpu_lease.lease(1, give_up=iter([False, True]).__next__),
        ):
            pass
    with gpu_lease.lease(1) as again:
        assert again.visible == "3"


def test_a_waiting_run_gets_the_gpu_that_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr(gpu_lease, "POLL_S", 0.01)
    got: list[str] = []

    def wait() -> None:
        with gpu_lease.lease(1) as device:
            got.append(device.visible)

    with gpu_lease.lease(1):
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join(timeout=0.1)
        assert not got
    waiting.join(timeout=10)
    assert got == ["0"]


def test_a_run_without_gpus_sees_none_and_waits_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with gpu_lease.lease(0) as one, gpu_lease.lease(0) as two:
        assert (one.visible, two.visible) == ("", "")


def test_many_runs_share_the_gpus_one_each_and_leave_none_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """20 runs of 0.1 s on 8 GPUs: three rounds, and never two at once on one."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3,4,5,6,7")
    monkeypatch.setattr(gpu_lease, "POLL_S", 0.002)
    with ThreadPoolExecutor(20) as pool:
        spans = list(pool.map(lambda _: _hold(), range(20)))
    assert most_at_once(spans) == 8
    for card in {card for card, _, _ in spans}:
        assert most_at_once([span for span in spans if span[0] == card]) == 1


def _hold() -> Span:
    """The GPU of one lease, and from when to when it was held."""
    with gpu_lease.lease(1) as lease:
        began = time.monotonic()
        time.sleep(0.1)
        return lease.visible, began, time.monotonic()


def most_at_once(spans: list[Span]) -> int:
    """How many of the spans hold at one moment."""
    return max(sum(a <= began < b for _, a, b in spans) for _, began, _ in spans)


HOLDER = """
import subprocess, sys, time
from harness.execution import gpu_lease
with gpu_lease.lease(1) as lease:
    run = [subprocess.Popen(["sleep", "60"], pass_fds=lease.descriptors).pid for _ in sys.argv[1:]]
    print(lease.visible, *run, flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
def test_a_lease_dies_with_its_process_and_not_before_its_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    environment = {**os.environ, "TMPDIR": tempfile.gettempdir()}
    for words in ([], ["with its run"]):
        command = [sys.executable, "-c", HOLDER, *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as holder:
            assert holder.stdout is not None
            visible, *run = holder.stdout.readline().split()
            assert visible == b"0"
            holder.kill()
        if run:
            with pytest.raises(StoppedError), gpu_lease.lease(1, iter([False, True]).__next__):
                pass
            os.kill(int(run[0]), 9)
        with gpu_lease.lease(1) as again:
            assert again.visible == "0"


def test_jobs_that_each_call_their_own_gpu_0_do_not_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on a cluster, where each job sees its own GPU only."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    smi = tmp_path / "nvidia-smi"

    def here(uuid: str) -> None:
        smi.write_text(f"#!/bin/sh\necho 'GPU 0: NVIDIA H200 (UUID: GPU-{uuid})'\n")
        smi.chmod(0o755)

    here("5a")
    with gpu_lease.lease(1):
        here("7c")
        with gpu_lease.lease(1) as other:
            assert other.visible == "0"
        here("5a")
        with pytest.raises(StoppedError), gpu_lease.lease(1, iter([False, True]).__next__):
            pass


def test_a_run_leases_all_of_its_gpus_at_once_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    with gpu_lease.lease(2) as first:
        assert (first.visible, len(first.descriptors)) == ("0,1", 2)
        with (
            pytest.raises(StoppedError, match="stopped while waiting for free GPUs"),
            gpu_lease.lease(2, iter([False, True]).__next__),
        ):
            pass
        with gpu_lease.lease(1) as other:  # the one that was free has been let go
            assert other.visible == "2"
    with gpu_lease.lease(3) as every:
        assert every.visible == "0,1,2"
    with pytest.raises(
        DeviceError, match=r"trainer.gpus: must be at most 3, the number of visible GPUs, got 4"
    ):
        gpu_lease.take(4)


def test_two_runs_that_want_most_of_the_gpus_never_wait_for_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    monkeypatch.setattr(gpu_lease, "POLL_S", 0.001)

    def work(_: int) -> str:
        with gpu_lease.lease(2) as taken:
            time.sleep(0.01)
            return taken.visible

    with ThreadPoolExecutor(4) as pool:
        assert {len(got.split(",")) for got in pool.map(work, range(12), timeout=60)} == {2}


def test_runs_that_share_gpus_take_the_least_used_and_no_more_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with contextlib.ExitStack() as held:
        parts = [held.enter_context(gpu_lease.lease(1, runs_per_gpu=2)) for _ in range(4)]
        assert [part.visible for part in parts] == ["0", "1", "0", "1"]
        with pytest.raises(StoppedError):
            gpu_lease.take(1, iter([False, True]).__next__, runs_per_gpu=2)


def test_a_shared_gpu_and_one_that_a_run_has_whole_keep_each_other_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with gpu_lease.lease(1, runs_per_gpu=2), pytest.raises(StoppedError):
        gpu_lease.take(1, iter([False, True]).__next__)
    with gpu_lease.lease(1), pytest.raises(StoppedError):
        gpu_lease.take(1, iter([False, True]).__next__, runs_per_gpu=2)
    with gpu_lease.lease(1, runs_per_gpu=2) as again:
        assert again.visible == "0"


@pytest.mark.parametrize("visible", ["", "-1"])
def test_a_gpu_that_is_not_there_is_a_device_error(
    visible: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    rule = r"trainer.gpus: must be 0 without a visible GPU, got 1"
    with pytest.raises(DeviceError, match=rule):
        gpu_lease.take(1)
    with pytest.raises(DeviceError, match=rule):
        gpu_lease.check([*runs(1), *runs(1, gpus=1)])
    gpu_lease.check(runs(2))


def test_as_many_runs_at_once_as_cores_or_gpus_and_never_more_than_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gpu_lease, "cores", lambda: 8)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    assert gpu_lease.runs_at_once(runs(20)) == 8
    assert gpu_lease.runs_at_once(runs(20, threads=3)) == 2
    assert gpu_lease.runs_at_once(runs(20, threads=16)) == 1
    assert gpu_lease.runs_at_once(runs(20, gpus=1)) == 3
    assert gpu_lease.runs_at_once(runs(20, gpus=2)) == 1
    assert gpu_lease.runs_at_once([*runs(5), *runs(5, gpus=1)]) == 3
    assert gpu_lease.runs_at_once(runs(20, gpus=1, per_gpu=4)) == 12
    assert gpu_lease.runs_at_once([*runs(20, gpus=1, per_gpu=4), *runs(1, gpus=1)]) == 3
    assert gpu_lease.runs_at_once(runs(5)) == 5


def test_runs_that_need_a_gpu_begin_first() -> None:
    mixed = [*runs(1), *runs(1, gpus=1), *runs(1)]
    assert [c.trainer.gpus for c in sorted(mixed, key=gpu_lease.start_order)] == [1, 0, 0]


def test_a_gpu_is_the_same_by_its_number_and_by_the_beginning_of_its_uuid(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    lines = [f"GPU {n}: NVIDIA H200 (UUID: GPU-{uuid})" for n, uuid in enumerate(("5a1", "7c2"))]
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
    smi.chmod(0o755)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with gpu_lease.lease(1):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-5a")
        with pytest.raises(StoppedError), gpu_lease.lease(1, iter([False, True]).__next__):
            pass
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-7")
        with gpu_lease.lease(1) as other:
            assert other.visible == "GPU-7"


def test_no_gpu_after_a_negative_number_is_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    """As CUDA reads it: a run that is leased the second of these would see none."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,-1,1")
    assert gpu_lease.gpus() == ("0",)
