"""What the model answered, read strictly: a value of the asked shape, or a Fault."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.simulator.served.faults import Fault
from harness.simulator.served.leaks import leak
from harness.simulator.served.prompts import FITS
from harness.simulator.served.quoting import spoken

LONGEST_REASON = 300
_FENCE = re.compile(r"\s*```(?:json)?\s*(\{.*\})\s*```\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Appraisal:
    """How a reply was felt."""

    change: int
    target_fit: str
    """One of FITS."""
    reason: str


def appraisal(content: str, allowed: Sequence[int]) -> Appraisal:
    """Raises Fault: malformed, or out_of_range for a change that is not one of `allowed`."""
    found = _object(content)
    change = found.get("change")
    if type(change) is not int or change not in allowed:
        raise Fault("out_of_range", f"change must be one of {list(allowed)}, got {change!r:.40}")
    fit, reason = found.get("target_fit"), found.get("reason")
    if fit not in FITS or not isinstance(reason, str):
        raise Fault("malformed", f"target_fit must be one of {', '.join(FITS)}, got {fit!r:.40}")
    return Appraisal(change, fit, spoken(reason)[:LONGEST_REASON])


def message(content: str, intention: str, disclosure: str) -> str:
    """What the user says. Raises Fault: malformed, empty, or leaked."""
    say = _object(content).get("say")
    if not isinstance(say, str):
        raise Fault("malformed", f"say must be text, got {say!r:.40}")
    text = spoken(say)
    if not any(c.isalnum() for c in text):
        raise Fault("empty", "nothing said")
    found = leak(text, intention, disclosure)
    if found:
        raise Fault("leaked", found)
    return text


def _object(content: str) -> dict[str, Any]:
    """The JSON object, in a code fence or not. Servers without schemas like fences."""
    fenced = _FENCE.fullmatch(content)
    if not content.strip():
        raise Fault("empty", "no content")
    try:
        found = json.loads(fenced[1] if fenced else content)
    except (ValueError, RecursionError) as error:
        raise Fault("malformed", f"must be JSON, got {content!r:.60}") from error
    if not isinstance(found, dict):
        raise Fault("malformed", f"must be a JSON object, got {content!r:.60}")
    return found
