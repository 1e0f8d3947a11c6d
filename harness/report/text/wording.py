"""Numbers and verdicts in words for people."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # they import numpy, which takes time and is not needed for words
    from harness.law.group_results import SeedMean
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
"""Axes whose values need no key in a name."""
FEW_VALUES = 3
"""The longest list that a name contains in full."""
UNIDENTIFIED = " ?"
"""Stands behind a number of a law that is not identified."""
ONSET_WORDS = {
    "terminal_fall": "collapse from step",
    "budget_spent": "entropy spent by step",
    "explosion": "entropy explodes from step",
}


def verdict(code: str | None) -> str:
    """Return `holds (form open)`, for a column whose heading names the law."""
    return VERDICT_WORDS.get(code or "", without_underscores(code or "none")).removeprefix("law ")


def without_underscores(code: str) -> str:
    """Replace underscores: `reward_falls` -> `reward falls`."""
    return code.replace("_", " ")


def number(value: float, half_width: float = math.inf) -> str:
    """Return the value with two decimals, or up to four if its interval is too narrow for two."""
    if abs(value) >= 1000:
        return f"{value:.3g}"
    decimals = 2
    if 0 < half_width < 0.005:
        decimals = min(4, -math.floor(math.log10(half_width)))
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def estimate(value: float, low: float, high: float) -> str:
    """Return `0.81 [0.78, 0.84]`."""
    half_width = (high - low) / 2
    return f"{number(value, half_width)} {bounds(low, high)}"


def bounds(low: float, high: float) -> str:
    half_width = (high - low) / 2
    return f"[{number(low, half_width)}, {number(high, half_width)}]"


def interval(estimated: Interval) -> str:
    return estimate(estimated.value, estimated.low, estimated.high)


def variance(estimated: Interval) -> str:
    """Return as `interval`, with two digits of the half-width: variances of rewards are small."""
    half_width = (estimated.high - estimated.low) / 2
    decimals = max(2, min(9, 1 - math.floor(math.log10(half_width)))) if half_width > 0 else 4
    value, low, high = (
        f"{x:.{decimals}f}" for x in (estimated.value, estimated.low, estimated.high)
    )
    return f"{value} [{low}, {high}]"


def percent(share: Interval) -> str:
    """Return `39% [22%, 61%]`."""
    return f"{share.value:.0%} [{share.low:.0%}, {share.high:.0%}]"


def pooled(pool: SeedMean) -> str | None:
    """Return `0.81 [0.78, 0.84]` over runs; no bounds if there are none, None without a mean."""
    if pool.mean is None:
        return None
    if pool.low is None or pool.high is None:
        return number(pool.mean)
    return estimate(pool.mean, pool.low, pool.high)


def step_interval(low: float, high: float) -> str:
    return f"[{low:.0f}, {high:.0f}]"


def onset_words(start: Onset | None) -> str:
    """Return `collapse from step 212 [205, 220]`, or `no onset`."""
    if start is None:
        return "no onset"
    words = ONSET_WORDS.get(start.kind, without_underscores(start.kind))
    return f"{words} {start.step:.0f} {step_interval(start.low, start.high)}"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def in_runs(count: int, total: int) -> str:
    """Return `in 2`; if there are no others, `in both runs` or `in all 3 runs`."""
    if count < total:
        return f"in {count}"
    return "in both runs" if total == 2 else f"in all {total} runs"


def verdicts(runs: Sequence[RunResult]) -> str:
    """Return `law holds`, `law holds in all 3 runs` or `law holds in 2, law fails in 1`."""
    counts = Counter(run.verdict or "undetermined" for run in runs)
    words = {v: VERDICT_WORDS.get(v, without_underscores(v)) for v in counts}
    if len(runs) == 1:
        return words[runs[0].verdict or "undetermined"]
    return ", ".join(
        f"{words[verdict]} {in_runs(count, len(runs))}" for verdict, count in counts.most_common()
    )


def group_name(values: Mapping[str, Any]) -> str:
    """Return `difficulty=easy, policy=tiny`, or `all runs` if there are no axes."""
    return ", ".join(f"{axis}={value}" for axis, value in values.items()) or "all runs"


def short_name(values: Mapping[str, Any]) -> str:
    """Return `hard, entropy bonus, null control`: the values except None, False and none."""
    words = [_part(axis, value) for axis, value in values.items()]
    kinds = {axis: value for axis, value in values.items() if axis in NAMED_BY_VALUE}
    return ", ".join(filter(None, words)) or group_name(kinds or values)


def _part(axis: str, value: Any) -> str:
    if value is None or value is False or value == "none":
        return ""
    if axis == "algorithm.null_control":
        return "null control"
    return (
        without_underscores(str(value))
        if axis in NAMED_BY_VALUE
        else f"{axis.rpartition('.')[2]}={_short_value(value)}"
    )


def _short_value(value: Any) -> str:
    """Return the value of a config key; `praise,...,motives (8)` for a list too long for a name."""
    if not isinstance(value, list | tuple) or len(value) <= FEW_VALUES:
        return str(value)
    return f"{value[0]},...,{value[-1]} ({len(value)})"
