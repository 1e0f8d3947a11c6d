"""What torch, TRL and safetensors raise where a machine or a folder is at fault: a line, a code."""

from __future__ import annotations

import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config.run import AlgorithmConfig, PolicyConfig
from harness.records import checkpoints, run_status
from harness.records.run_folder import RunFolder
from harness.train.__main__ import expected
from tests.faults.limited import train
from tests.faults.untrusted import Bomb
from tests.train.made import finish, make_run, short, tabular

POLICY = PolicyConfig(warm_start_copy_steps=0, warm_start_steps=3)


def tiny(path: Path) -> RunFolder:
    """Three steps of a language model that has hardly been taught to speak."""
    cut = short(1)
    given = tabular(
        steps=3, conversations=8, checkpoint_every=1, eval_every=1000, stop_unheard=False
    )
    config = replace(given, difficulty=cut.medium, levels=cut, policy=POLICY)
    return make_run(path, replace(config, algorithm=AlgorithmConfig()))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    run = tiny(tmp_path_factory.mktemp("tiny") / "run")
    code, _, err = finish(run)
    assert code == 0, err
    return run


@pytest.mark.slow
@pytest.mark.parametrize("most", [100_000, 720_000])
def test_a_disk_that_is_full_while_a_model_is_saved_is_74(
    done: RunFolder, tmp_path: Path, most: int
) -> None:
    """First safetensors meets the limit, then torch; neither raises OSError."""
    run = tiny(tmp_path / "run")
    cut = train(run, "RLIMIT_FSIZE", most)
    assert cut.returncode == 74, cut.stderr
    assert "is the disk full?" in cut.stderr
    assert "Traceback" not in cut.stderr
    assert finish(run)[0] == 0
    assert run.metrics.read_bytes() == done.metrics.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["optimizer.pt", "rng_state.pth", "model.safetensors"])
def test_a_pickle_in_a_checkpoint_of_a_model_is_65_and_not_run(
    done: RunFolder, tmp_path: Path, name: str
) -> None:
    run = RunFolder(shutil.copytree(done.path, tmp_path / "run"))
    shutil.rmtree(run.checkpoints / "step-00003")
    run_status.write(run.status, replace(run_status.read(run.status), status="stopped"))

    def fill(path: Path) -> None:
        shutil.copytree(run.checkpoints / "step-00002" / "trainer", path / "trainer")
        (path / "trainer" / name).write_bytes(pickle.dumps(Bomb(tmp_path / "bomb")))

    checkpoints.publish(run.checkpoints, 3, fill)
    found = train(run)
    assert found.returncode == 65, found.stderr
    assert "a checkpoint must hold what this program saved" in found.stderr
    assert "Traceback" not in found.stderr
    assert not (tmp_path / "bomb").exists()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MemoryError(), 71),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to"), 71),
        (type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory. Tried"), 71),
        (RuntimeError("Found no NVIDIA driver on your system."), 71),
        (AssertionError("Torch not compiled with CUDA enabled"), 71),
        (pickle.UnpicklingError("Weights only load failed."), 65),
        (RuntimeError("shapes do not match"), None),
        (KeyError("CUDA"), None),
    ],
)
def test_a_lack_is_told_from_a_bug(tmp_path: Path, error: Exception, code: int | None) -> None:
    found = expected(RunFolder(tmp_path), error)
    assert (found and found.exit_code) == code


@pytest.mark.slow
def test_a_run_without_memory_is_71_and_says_what_to_lower(tmp_path: Path) -> None:
    found = train(tiny(tmp_path / "run"), "RLIMIT_AS", 1_200_000 * 1024)
    assert found.returncode == 71, found.stderr
    assert "out of memory; lower trainer.conversations or policy.max_turn_tokens" in found.stderr
