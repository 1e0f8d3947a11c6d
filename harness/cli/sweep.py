"""The sweep command: plan the points, check their requirements, run them, say what to do next."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cli import exit_codes, status
from harness.compose import planner, typed_grants
from harness.compose.plan import Plan
from harness.config.grant import Grant
from harness.config.run import RunConfig
from harness.errors import ConfigError, DeviceError
from harness.execution import (
    gpu_lease,
    launcher,
    ledger,
    preflight,
    progress_view,
    sweep_place,
    user_validity,
)
from harness.execution import sweep as sweeps
from harness.execution.retry import RetryPolicy
from harness.study import cost
from harness.utils import terminal
from harness.utils.safe_text import escape

HOUR_S = 3600


@dataclass(frozen=True)
class SweepOptions:
    """Arguments of the command."""

    overrides: Sequence[str]
    dry_run: bool
    as_json: bool
    retry_policy: RetryPolicy
    name: str | None = None
    note: str | None = None
    dir: Path | None = None


def sweep(opts: SweepOptions) -> int:
    """Run one run per point and return the exit code; with --dry-run create nothing.

    Raises ConfigError, DeviceError, EndpointError, FolderError, StoppedError or StorageError for
    what no run could start with.
    """
    plan = planner.plan(opts.overrides)
    granted = typed_grants.grants(opts.overrides)
    root = sweep_place.choose_folder(opts.name, opts.note, opts.dir)
    if opts.dry_run:
        _show(plan, opts.as_json, granted)
        return 0
    configs = [point.config for point in plan.points]
    if not opts.overrides:
        exit_codes.say(_defaults_sentence(configs))
    chosen = launcher.chosen(opts.overrides)
    launcher.check(chosen, configs)
    if chosen.is_local:
        gpu_lease.check(configs)
    grants = preflight.check(configs, granted)
    notes = user_validity.check(configs)
    preflight.check_disk_space(configs, root or sweep_place.runs_folder())
    preflight.tell(grants)
    user_validity.tell(notes)
    if chosen.is_local:  # a cluster's endpoint may answer its own machines alone
        preflight.ask_endpoints(configs, grants)
    created = ledger.create(plan, opts.overrides, root, opts.name, opts.note)
    expected = _expected_duration(configs, chosen.is_local)
    exit_codes.say(f"{_count_runs(created.runs)} in {created.dir}{expected}")
    finished, code = sweeps.execute(Path(str(created.dir)), opts.retry_policy, granted=grants)
    if opts.as_json:
        exit_codes.print_json(finished.to_json())
    for line in status.closing_lines(finished, code):
        exit_codes.say(line)
    return code


def _count_runs(runs: Sequence[object]) -> str:
    return f"{len(runs)} run{'s' * (len(runs) != 1)}"


def _defaults_sentence(configs: Sequence[RunConfig]) -> str:
    """Return the sentence on a sweep without overrides. It has several runs if conf/ sweeps a
    default.
    """
    first = configs[0]
    settings = f"difficulty={first.difficulty.name} policy={first.policy.name} seed={first.seed}"
    runs = f"one run of the defaults, {settings}" if len(configs) == 1 else "the runs of conf/"
    costs = cost.sentence(list(configs))
    return f"no KEY=VALUE was given, so this is {runs}; {costs}; see `harness sweep --help`"


def _expected_duration(configs: Sequence[RunConfig], is_local: bool) -> str:
    """Return `; some 12 min, 2 at once`, from measured costs; empty if there are none."""
    at_once = gpu_lease.runs_at_once(configs) if is_local else 1
    hours = cost.wall_hours(configs, at_once) if is_local else None
    parallel = f", {at_once} at once" if at_once > 1 else ""
    return "" if hours is None else f"; some {progress_view.duration(hours * HOUR_S)}{parallel}"


def _show(plan: Plan, as_json: bool, granted: frozenset[Grant]) -> None:
    """Print the runs of `plan`, their costs and unmet requirements. `granted`: typed grants."""
    planned = ledger.dry_run_sweep(plan)
    configs = [point.config for point in plan.points]
    size = sum(map(preflight.expected_bytes, configs))
    if as_json:
        costs = {"cpu_hours": cost.cpu_hours(configs), "gpu_hours": None, "disk_bytes": size}
        exit_codes.print_json({**planned.to_json(), "cost": costs})
    for line in [] if as_json else [*status.plan(planned), _cost(configs, size)]:
        print(terminal.wrap(escape(line), terminal.width(sys.stdout), "  "))
    try:
        preflight.check(configs, granted)
        user_validity.tell(user_validity.check(configs))
    except (ConfigError, DeviceError) as error:
        exit_codes.say(f"note: {error}")


def _cost(configs: Sequence[RunConfig], size: int) -> str:
    return f"{cost.sentence(list(configs))}; about {terminal.format_size(size)} on disk"
