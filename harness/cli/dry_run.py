"""What `harness sweep --dry-run` says: the runs, and what they would need; nothing is created."""

from __future__ import annotations

import json

from harness import endings, ledger, listing, needs
from harness.errors import ConfigError, DeviceError
from harness.grant import Grant
from harness.plans import Plan


def show(plan: Plan, as_json: bool, granted: frozenset[Grant]) -> None:
    """Print the runs of `plan`; `granted` was typed."""
    planned = ledger.planned(plan)
    if as_json:
        print(json.dumps(planned.to_json(), indent=1, allow_nan=False))
    for line in [] if as_json else listing.plan(planned):
        print(line)
    try:
        needs.check((point.config for point in plan.points), granted)
    except (ConfigError, DeviceError) as error:
        endings.say(f"note: {error}")
