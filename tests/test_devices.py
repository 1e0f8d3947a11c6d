"""One GPU per run, and as many runs as there is room for. No GPU is needed to lease one."""

import threading

import pytest

from harness import devices
from harness.config import RunConfig, TrainerConfig
from harness.errors import DeviceError, StoppedError


@pytest.fixture(autouse=True)
def own_locks(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def runs(count: int, **trainer: int) -> list[RunConfig]:
    return [RunConfig(seed=n, trainer=TrainerConfig(**trainer)) for n in range(count)]


def test_two_runs_never_have_one_gpu(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,GPU-5a/1")
    with devices.lease(1) as first, devices.lease(1) as second:
        assert (first, second) == ("3", "GPU-5a/1")
        with (
            pytest.raises(StoppedError, match="waiting for a free GPU"),
            devices.lease(1, give_up=iter([False, True]).__next__),
        ):
            pass
    with devices.lease(1) as again:
        assert again == "3"


def test_a_waiting_run_gets_the_gpu_that_is_freed(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr(devices, "POLL_S", 0.01)
    got: list[str] = []

    def wait() -> None:
        with devices.lease(1) as device:
            got.append(device)

    with devices.lease(1):
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join(timeout=0.1)
        assert not got
    waiting.join(timeout=10)
    assert got == ["0"]


def test_a_run_without_gpus_sees_none_and_waits_for_none(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with devices.lease(0) as one, devices.lease(0) as two:
        assert (one, two) == ("", "")


@pytest.mark.parametrize("visible", ["", "-1"])
def test_a_gpu_that_is_not_there_is_a_device_error(visible, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(DeviceError, match=r"trainer.gpus: must be 0 without a visible GPU, got 1"):
        devices.acquire()


def test_as_many_runs_at_once_as_cores_or_gpus_and_never_more_than_runs(monkeypatch):
    monkeypatch.setattr(devices, "cores", lambda: 8)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    assert devices.runs_at_once(runs(20)) == 8
    assert devices.runs_at_once(runs(20, threads=3)) == 2
    assert devices.runs_at_once(runs(20, threads=16)) == 1
    assert devices.runs_at_once(runs(20, gpus=1)) == 3
    assert devices.runs_at_once(runs(5)) == 5
