"""What `harness sweep --dry-run` says: the runs, and what they would need; nothing is created."""

from __future__ import annotations

import json

from harness.cli import exit_codes, status
from harness.compose.plan import Plan
from harness.config.grant import Grant
from harness.errors import ConfigError, DeviceError
from harness.execution import ledger, preflight


def show(plan: Plan, as_json: bool, granted: frozenset[Grant]) -> None:
    """Print the runs of `plan`; `granted` was typed."""
    planned = ledger.planned(plan)
    if as_json:
        print(json.dumps(planned.to_json(), indent=1, allow_nan=False))
    for line in [] if as_json else status.plan(planned):
        print(line)
    try:
        preflight.check((point.config for point in plan.points), granted)
    except (ConfigError, DeviceError) as error:
        exit_codes.say(f"note: {error}")
