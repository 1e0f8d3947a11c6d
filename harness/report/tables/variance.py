"""The components of the variance of outcomes on a terminal, and the sample sizes that follow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from harness.law.results import Interval
from harness.law.variance.results import REWARD_RANGE, Arm, Variance, VarianceComponent
from harness.law.variance.sizes import MEAN, SizePlan
from harness.records.outcomes import OWN
from harness.report.tables import critical_batch
from harness.report.tables.grid import folding_table
from harness.report.text import wording
from harness.report.text.wording import percent, plural
from harness.utils.safe_text import text

WORDS = {
    "seed": "seed of training",
    "user": "user",
    "seed_user": "seed x user",
    "repeat": "repeat: random draws of a conversation",
    "rest": "seed x repeat",
    "level": "level of difficulty",
    "simulator": "simulator",
    "settings": "other settings",
}
LONGEST_WHOLE = 24
"""Names up to this length, in characters, are not folded on a narrow terminal."""
UNKNOWN = "not known"
"""Replaces the end of an interval that is wider than the range of a reward."""
BEYOND = f"{UNKNOWN}: the interval is wider than the range of a reward; use more seeds"
METHOD = (
    "components by expected mean squares; sd: square root of the variance; intervals: 95% "
    "generalised confidence intervals; share: of the sum of the identifiable components"
)


def print_variance(result: Variance, console: Console) -> None:
    """Print arms, components, what is not identifiable, and the plans."""
    console.print(_arms(result))
    for name, parts in (("reward", result.reward), ("listening", result.listening)):
        if parts:
            console.print(_parts(name, parts))
            for line in _not_identifiable(parts):
                console.print(text(f"  {line}", "dim"), soft_wrap=True)
    console.print(text(METHOD, "dim"), soft_wrap=True)
    if _has_unknown(result):
        console.print(text(BEYOND, "dim"), soft_wrap=True)
    for line in plans(result):
        console.print(text(line, "bold"), soft_wrap=True)
    critical_batch.print_batches(result.arms, console)
    for line in _left_out_lines(result):
        console.print(text(line, "dim"), soft_wrap=True)


def _arms(result: Variance) -> Table:
    level_text = "own level" if result.level == OWN else f"on {result.level}"
    table = folding_table(
        f"runs, {level_text}", "seeds", "users x repeats", "reward [95%]", "listening"
    )
    arms = result.arms[: critical_batch.MOST_ARMS]
    are_short = all(len(arm.name) <= LONGEST_WHOLE for arm in arms)
    for column, is_whole in zip(table.columns, (are_short, True, False, False, True), strict=True):
        column.no_wrap = is_whole
    for arm in arms:
        users, repeats = (str(n) if n else "?" for n in (arm.users, arm.repeats))
        listening_text = "-" if arm.listening is None else wording.number(arm.listening)
        cells = (arm.name, str(arm.seeds), f"{users} x {repeats}", _mean(arm), listening_text)
        table.add_row(*map(text, cells))
    if len(result.arms) > critical_batch.MOST_ARMS:
        table.add_row(text(f"{len(result.arms) - critical_batch.MOST_ARMS} more"))
    return table


def _mean(arm: Arm) -> str:
    if arm.low is None or arm.high is None:
        return wording.number(arm.mean)
    if _is_too_wide(arm):
        return f"{wording.number(arm.mean)} [{UNKNOWN}]"
    return wording.estimate(arm.mean, arm.low, arm.high)


def _is_too_wide(arm: Arm) -> bool:
    return arm.low is not None and arm.high is not None and arm.high - arm.low > 2 * REWARD_RANGE


def _has_unknown(result: Variance) -> bool:
    """Return whether an arm's mean, a component or a plan has an end that is not known."""
    spreads = [part.variance.high**0.5 for part in result.reward if part.variance is not None]
    ends = [*spreads, *(plan.most for plan in result.plans if plan.most is not None)]
    return any(map(_is_too_wide, result.arms)) or max(ends, default=0.0) > REWARD_RANGE


def _parts(name: str, parts: Sequence[VarianceComponent]) -> Table:
    unit = ", nats" if name == "listening" else ""
    table = folding_table(f"spread of {name}", f"sd{unit} [95%]", "share [95%]")
    for part in parts:
        if part.variance is not None:
            share = "-" if part.share is None else percent(part.share)
            most = math.inf if name == "listening" else REWARD_RANGE
            table.add_row(text(WORDS[part.name]), text(_root(part.variance, most)), text(share))
    return table


def _root(variance: Interval, most: float) -> str:
    """Return the standard deviation; an end beyond `most` is not known."""
    value, low, high = (end**0.5 for end in (variance.value, variance.low, variance.high))
    end = f"{high:.3f}" if high <= most else UNKNOWN
    return f"{value:.3f} [{low:.3f}, {end}]"


def _not_identifiable(parts: Sequence[VarianceComponent]) -> Iterator[str]:
    """Yield a line for each reason."""
    by_reason: dict[str, list[str]] = {}
    for part in parts:
        if part.why is not None:
            by_reason.setdefault(part.why, []).append(WORDS[part.name])
    for why, names in by_reason.items():
        yield f"{', '.join(names)}: {why}"


def plans(result: Variance) -> Iterator[str]:
    """Yield the cost of a run and a sentence for each plan, or why there is no plan."""
    kind = "CPU seconds" if result.is_cpu else "seconds (wall clock)"
    half_width = wording.number(result.wanted, result.wanted / 10)
    if result.cost is None:
        yield "no plan: events.jsonl of these runs does not contain their cost"
        return
    cost = result.cost
    evaluations = plural(cost.evaluations, "evaluation")
    yield (
        f"a run costs {cost.training:.3g} {kind} of training and {cost.conversation:.2g} for each "
        f"conversation of its {evaluations} at {plural(cost.levels, 'level')}"
    )
    if not result.plans:
        yield f"no plan for a half-width of {half_width}: too few data, or not reachable"
    for plan in result.plans:
        yield _plan(plan, kind)
    if result.plans and result.conservative:
        yield (
            "without outcomes.json the plans are conservative: all spread over seeds counts as due "
            "to the seeds, and all spread between users as shared by the seeds"
        )


def _plan(plan: SizePlan, kind: str) -> str:
    half_width = wording.number(plan.half_width, plan.half_width / 10)
    target = "the mean reward of an arm" if plan.target == MEAN else "a difference of two arms"
    return (
        f"{target}: {plural(plan.seeds, 'seed')}, {plural(plan.users, 'user')}, "
        f"{plural(plan.repeats, 'repeat')} give a 95% half-width of "
        f"{half_width}{_upper_limit(plan)} at the lowest cost, {plan.seconds:,.0f} {kind} an arm"
    )


def _upper_limit(plan: SizePlan) -> str:
    if plan.most is None:
        return ""
    if plan.most > REWARD_RANGE:
        return f" (upper limit {UNKNOWN} from the components' intervals)"
    return f" (at most {wording.number(plan.most, plan.most / 10)} from the components' intervals)"


def _left_out_lines(result: Variance) -> Iterator[str]:
    yield from critical_batch.without_ledger(result.arms)
    for arm in result.arms:
        if arm.lost:
            yield f"{arm.name}: {plural(arm.lost, 'user')} left out because a conversation was lost"
    by_reason: dict[str, int] = {}
    for skipped in result.skipped:
        reason = "a repeat" if skipped.reason.startswith("repeat of") else skipped.reason
        by_reason[reason] = by_reason.get(reason, 0) + 1
    for reason, count in by_reason.items():
        yield f"{plural(count, 'path')} left out: {reason}"
