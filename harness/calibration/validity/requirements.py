"""What a user must be shown to do before a policy is trained on them, without measuring code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEAST_HEARD = 0.5
"""Share of cruel replies that must be heard as hurtful."""


def problems(measured: Mapping[str, Any]) -> list[str]:
    """Why a policy that learns from this user does not learn empathy, a sentence each.

    `measured`: the validity of a card, as it is kept.
    """
    preferred, heard = measured.get("kind_minus_cruel"), measured.get("cruel_heard")
    reasons = []
    if preferred is None or preferred["low"] <= 0:
        shown = "nothing was measured"
        if preferred is not None:
            low_high = f"[{preferred['low']:.1f}, {preferred['high']:.1f}]"
            shown = f"kind minus cruel replies {preferred['value']:.1f} {low_high} points"
        reasons.append(f"the user is not shown to prefer kindness to cruelty ({shown})")
    if heard is None or heard["value"] < LEAST_HEARD:
        share_heard = "none" if heard is None else f"{heard['value']:.0%}"
        reasons.append(f"the user hears {share_heard} of cruel replies as hurtful")
    return reasons
