"""A run that is asked to stop within a step or an evaluation: when it ends, and what is saved."""

import json
import signal
import time
from pathlib import Path

import pytest

from harness.errors import StoppedError
from harness.policy.tabular import TabularPolicy
from harness.records import checkpoints
from harness.records.metrics import MEASURED
from harness.records.run_folder import RunFolder
from harness.train.loop import session as sessions
from harness.train.loop import tabular_evaluation
from harness.train.metrics import evaluate
from tests.train.made import (
    brief,
    go_on,
    handlers_as_before,
    long_step,
    make_run,
    start,
    status,
    wait_for,
)


@pytest.mark.slow
def test_a_second_interrupt_ends_it_at_once(tmp_path: Path) -> None:
    run, child = long_step(tmp_path)
    child.send_signal(signal.SIGINT)
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=2)
    assert child.returncode == 130
    assert "interrupt again to end now" in err
    assert status(run)["reason"] == "ended within step 1, interrupted twice"


@pytest.mark.slow
def test_a_step_longer_than_the_grace_is_abandoned(tmp_path: Path) -> None:
    run, child = long_step(tmp_path, grace_s=0.3)
    child.terminate()
    out, err = child.communicate(timeout=3)
    assert child.returncode == 75
    assert json.loads(out.splitlines()[-1])["status"] == "stopped"
    resume = f"no checkpoint is saved, continue with `harness resume {run.path}`"
    assert err.endswith(f"0.3 s after a stop request (trainer.grace_s); {resume}\n")
    assert status(run)["reason"] == (
        "ended within step 1, 0.3 s after a stop request (trainer.grace_s)"
    )


def test_an_alarm_without_a_stop_request_is_not_the_end_of_the_grace(tmp_path: Path) -> None:
    run = make_run(tmp_path, brief(steps=3))
    child = start(run)
    wait_for(child, "start", 0)
    child.send_signal(signal.SIGALRM)
    child.communicate(timeout=120)
    assert (child.returncode, status(run)["status"]) == (0, "done")


@pytest.mark.slow
def test_a_step_that_is_given_up_leaves_the_checkpoint_of_the_step_before(tmp_path: Path) -> None:
    """Its conversations take longer than the grace; those of the step before are not lost."""
    run = make_run(tmp_path, brief(steps=3, conversations=16_384, checkpoint_every=100))
    child = start(run)
    wait_for(child, "step", 1)
    child.terminate()
    wait_for(child, "checkpoint", 1)
    child.kill()
    child.communicate()
    assert [checkpoints.step_of(path) for path in checkpoints.all_in(run.checkpoints)] == [1]


def test_a_stop_in_a_slice_ends_an_evaluation_before_its_next_turn(tmp_path: Path) -> None:
    """With the checkpoint of the step before, once."""
    config, saved = brief(steps=9), list[str]()
    spoken = 0
    with (
        handlers_as_before(),
        sessions.open_session(make_run(tmp_path, config), config, lambda event: None) as session,
    ):
        session.record(1, dict.fromkeys(MEASURED))
        session.finish_step(1, lambda folder: saved.append(folder.name))

        def before_turn() -> None:
            nonlocal spoken
            spoken += 1
            if spoken == 2:
                session.stop_handlers.on_signal(signal.SIGTERM, None)
            session.poll()

        speakers = tabular_evaluation.speakers(
            TabularPolicy.start("conversation"), 1.0, before_turn
        )
        with (
            pytest.raises(StoppedError, match="by SIGTERM in the evaluation of step 2"),
            session.evaluation(2) as watch,
        ):
            evaluate.evaluate(config, evaluate.meet_here(config, speakers), watch)
        session.poll()  # beside an evaluation the step is finished
    assert (spoken, len(saved)) == (2, 1)
    kept = checkpoints.all_in(RunFolder(tmp_path).checkpoints)
    assert [checkpoints.step_of(path) for path in kept] == [1]


@pytest.mark.parametrize("step", [1, 4])
def test_a_stop_in_an_evaluation_ends_it_at_once_and_loses_no_step(
    tmp_path: Path, step: int
) -> None:
    config = brief(steps=6, eval_every=3, checkpoint_every=100)
    whole, run = (make_run(tmp_path / name, config, users=300) for name in ("whole", "run"))
    assert go_on(whole)[0] == 0
    code, events, err = go_on(run, step, "evaluation")
    assert code == 75
    assert [e["held"] for e in events if e["event"] == "evaluation"][-1] == 256
    assert f"stopped by SIGTERM in the evaluation of step {step}; continue with " in err
    assert (status(run)["last_step"], status(run)["status"]) == (step - 1, "stopped")
    kept = checkpoints.all_in(run.checkpoints)
    assert [checkpoints.step_of(path) for path in kept] == [step - 1] * (step > 1)
    code, events, _ = go_on(run)
    assert code == 0
    assert [e["step"] for e in events if e["event"] == "step"] == list(range(step, 7))
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()
