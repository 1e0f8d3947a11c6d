"""The sweep command: plan the points, check what they need, run them, say what is next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.cli import exit_codes, status
from harness.compose import planner, typed_grants
from harness.compose.plan import Plan
from harness.config.grant import Grant
from harness.errors import ConfigError, DeviceError
from harness.execution import gpu_lease, launcher, ledger, preflight, user_validity
from harness.execution import sweep as sweeps
from harness.execution.retry import RetryPolicy


def sweep(
    overrides: Sequence[str],
    *,
    dry_run: bool,
    as_json: bool,
    stop_on_failure: bool,
    retries: int,
) -> int:
    """Run one run per point and return the exit code; with `dry_run` create nothing.

    Raises ConfigError, DeviceError or StorageError for what no run could start with.
    """
    plan = planner.plan(overrides)
    granted = typed_grants.grants(overrides)
    if dry_run:
        _show(plan, as_json, granted)
        return 0
    configs = [point.config for point in plan.points]
    if launcher.is_local(overrides):
        gpu_lease.check(configs)
    sends = preflight.check(configs, granted)
    notes = user_validity.check(configs)
    preflight.check_disk_space(configs, ledger.runs_folder())
    preflight.tell(sends)
    user_validity.tell(notes)
    made = ledger.create(plan, overrides)
    count = len(made.runs)
    exit_codes.say(f"{count} run{'s' * (count != 1)} in {made.dir}")
    finished, code = sweeps.execute(
        Path(str(made.dir)), RetryPolicy(stop_on_failure, retries), granted=sends
    )
    if as_json:
        exit_codes.print_json(finished.to_json())
    for line in status.closing(finished, code):
        exit_codes.say(line)
    return code


def _show(plan: Plan, as_json: bool, granted: frozenset[Grant]) -> None:
    """Print the runs of `plan` and what they would lack; `granted` was typed."""
    planned = ledger.planned(plan)
    if as_json:
        exit_codes.print_json(planned.to_json())
    for line in [] if as_json else status.plan(planned):
        print(line)
    configs = [point.config for point in plan.points]
    try:
        preflight.check(configs, granted)
        user_validity.tell(user_validity.check(configs))
    except (ConfigError, DeviceError) as error:
        exit_codes.say(f"note: {error}")
