"""Builds the start models of policy=tiny before the runs start, which would each wait for them."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.config.run import RunConfig
from harness.execution import child_process, stop_requests
from harness.execution.run_lease import RunLease
from harness.utils import safe_text


def prepare(configs: Sequence[RunConfig], sweep: Path) -> bool:
    """Build the start models that are not cached; False if that failed or the sweep is stopped.

    A child process builds them with a run's number of threads, so that the model is the same as if
    the run had built it.
    """
    distinct = {json.dumps(dataclasses.asdict(c.policy)): c for c in configs if _is_tiny(c)}
    return all(_build(policy, config, sweep) for policy, config in distinct.items())


def _is_tiny(config: RunConfig) -> bool:
    return config.policy.kind == "tiny"


def _build(policy: str, config: RunConfig, sweep: Path) -> bool:
    command = [
        sys.executable,
        "-P",
        "-m",
        "harness.train.warm_start.start_model",
        policy,
        str(os.getpid()),
    ]
    child = subprocess.Popen(
        command,
        env=child_process.environment(config, RunLease()),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    code = child_process.wait(child, lambda: stop_requests.stop_runs(sweep), grace_s=0)
    if code and not stop_requests.stop_runs(sweep):
        safe_text.say(f"the start model was not built: exit code {code}")
    return code == 0
