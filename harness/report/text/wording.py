"""Numbers and verdicts as people read them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # they import numpy, which who only needs words does not wait for
    from harness.law.group_results import Pooled
    from harness.law.results import Interval, Onset, RunResult

VERDICT_WORDS = {
    "holds": "law holds",
    "holds_form_open": "law holds (form open)",
    "linear": "law linear in H",
    "holds_until_onset": "law holds until the onset",
    "fails": "law fails",
    "undetermined": "law undetermined",
}
NAMED_BY_VALUE = ("difficulty", "remedy", "curriculum", "policy")
"""Axes whose values tell what they are of."""
FEW_VALUES = 3
"""Of a list that a name holds whole."""
ONSET_WORDS = {
    "terminal_fall": "collapse from step",
    "budget_spent": "entropy spent by step",
    "explosion": "entropy explodes from step",
}


def verdict(code: str | None) -> str:
    """`holds (form open)`, as in a column whose heading says what of."""
    return VERDICT_WORDS.get(code or "", plain(code or "none")).removeprefix("law ")


def plain(code: str) -> str:
    """`reward_falls` -> `reward falls`."""
    return code.replace("_", " ")


def number(value: float, half_width: float = math.inf) -> str:
    """Two decimals, or up to four where the interval is narrower than that shows."""
    if abs(value) >= 1000:
        return f"{value:.3g}"
    decimals = 2
    if 0 < half_width < 0.005:
        decimals = min(4, -math.floor(math.log10(half_width)))
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def estimate(value: float, low: float, high: float) -> str:
    """`0.81 [0.78, 0.84]`."""
    half = (high - low) / 2
    return f"{number(value, half)} {bounds(low, high)}"


def bounds(low: float, high: float) -> str:
    half = (high - low) / 2
    return f"[{number(low, half)}, {number(high, half)}]"


def interval(estimated: Interval) -> str:
    return estimate(estimated.value, estimated.low, estimated.high)


def variance(estimated: Interval) -> str:
    """As `interval`, with two digits of the half-width: variances of rewards are small."""
    half = (estimated.high - estimated.low) / 2
    places = max(2, min(9, 1 - math.floor(math.log10(half)))) if half > 0 else 4
    value, low, high = (f"{x:.{places}f}" for x in (estimated.value, estimated.low, estimated.high))
    return f"{value} [{low}, {high}]"


def percent(share: Interval) -> str:
    """`39% [22%, 61%]`"""
    return f"{share.value:.0%} [{share.low:.0%}, {share.high:.0%}]"


def pooled(pool: Pooled) -> str | None:
    """`0.81 [0.78, 0.84]` over runs, without bounds where there are none; None without a mean."""
    if pool.mean is None:
        return None
    if pool.low is None or pool.high is None:
        return number(pool.mean)
    return estimate(pool.mean, pool.low, pool.high)


def steps(low: float, high: float) -> str:
    return f"[{low:.0f}, {high:.0f}]"


def onset(start: Onset | None) -> str:
    """`collapse from step 212 [205, 220]`, or `no onset`."""
    if start is None:
        return "no onset"
    words = ONSET_WORDS.get(start.kind, plain(start.kind))
    return f"{words} {start.step:.0f} {steps(start.low, start.high)}"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def in_runs(count: int, total: int) -> str:
    """`in 2`, or `in both runs` and `in all 3 runs` if there are no others."""
    if count < total:
        return f"in {count}"
    return "in both runs" if total == 2 else f"in all {total} runs"


def verdicts(runs: Sequence[RunResult]) -> str:
    """`law holds`, `law holds in all 3 runs`, `law holds in 2, law fails in 1`."""
    counts = Counter(run.verdict or "undetermined" for run in runs)
    words = {v: VERDICT_WORDS.get(v, plain(v)) for v in counts}
    if len(runs) == 1:
        return words[runs[0].verdict or "undetermined"]
    return ", ".join(
        f"{words[verdict]} {in_runs(count, len(runs))}" for verdict, count in counts.most_common()
    )


def group_name(values: Mapping[str, Any]) -> str:
    """`difficulty=easy, policy=tiny`; of the only group, `all runs`."""
    return ", ".join(f"{axis}={value}" for axis, value in values.items()) or "all runs"


def short_name(values: Mapping[str, Any]) -> str:
    """`hard, entropy bonus, null control`: a group by what it has that others may not."""
    words = [_part(axis, value) for axis, value in values.items()]
    kinds = {axis: value for axis, value in values.items() if axis in NAMED_BY_VALUE}
    return ", ".join(filter(None, words)) or group_name(kinds or values)


def _part(axis: str, value: Any) -> str:
    if value is None or value is False or value == "none":
        return ""
    if axis == "algorithm.null_control":
        return "null control"
    return (
        plain(str(value)) if axis in NAMED_BY_VALUE else f"{axis.rpartition('.')[2]}={_few(value)}"
    )


def _few(value: Any) -> str:
    """A value of a config key; `praise,...,motives (8)` of a list too long for a name."""
    if not isinstance(value, list | tuple) or len(value) <= FEW_VALUES:
        return str(value)
    return f"{value[0]},...,{value[-1]} ({len(value)})"
