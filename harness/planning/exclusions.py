"""Which runs of a pilot a plan is not made from and why, and which of its runs ended early."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHOWN = 5
"""Runs named on a terminal; plan.json has them all."""


@dataclass(frozen=True)
class LeftOut:
    """A run of the levels asked for that the plan is not made from."""

    run: str
    why: str
    level: int | None = None
    """Number of its level; None where its config does not tell."""
    failed: bool = False
    """Whether it ended by itself, as a planned run may too."""


@dataclass(frozen=True)
class EndedEarly:
    """A run that trainer.stop_when ended, and that is counted all the same."""

    run: str
    rule: str
    step: int
    """At which the rule ended it."""
    last_step: int
    """Later than `step` where the run was resumed."""
    planned: int
    """trainer.steps of it."""

    @property
    def resumed(self) -> bool:
        return self.last_step > self.step


def ended_early(run: str, record: Any, last_step: int, steps: int) -> EndedEarly | None:
    """From `stopped_by_rule` of run.json; None where no rule ended the run, or nobody can tell."""
    if not isinstance(record, Mapping) or not isinstance(record.get("step"), int):
        return None
    return EndedEarly(run, str(record.get("rule")), int(record["step"]), last_step, steps)


def share_failed(left_out: Sequence[LeftOut], used: Sequence[int]) -> float:
    """The largest share of failed runs of a level; `used`: runs of each level that count."""
    lost = [sum(one.failed and one.level == at for one in left_out) for at in range(len(used))]
    return max((n / (n + m) for n, m in zip(lost, used, strict=True) if n), default=0.0)


def sentences(
    left_out: Sequence[LeftOut], ended: Sequence[EndedEarly], used: Sequence[int], seeds: int | None
) -> Iterator[str]:
    """What the plan is not made from, what else is odd about its pilot, and what that does to it.

    `seeds`: of a level of the design, where there is one.
    """
    if left_out:
        every = len(left_out) + sum(used)
        yield f"left out: {len(left_out)} of {every} runs; the spread is that of the others"
        yield from (f"  {one.run}: {one.why}" for one in left_out[:SHOWN])
        if len(left_out) > SHOWN:
            yield f"  and {len(left_out) - SHOWN} more, which --json names"
    share = share_failed(left_out, used)
    if share and seeds is not None:
        start = math.ceil(seeds / (1 - share))
        yield (
            f"of a level {share:.0%} failed: if as many of the planned runs do, it takes {start} "
            f"seeds a level for {seeds} that finish"
        )
    yield from _of_ended(ended, sum(used))


def _of_ended(ended: Sequence[EndedEarly], used: int) -> Iterator[str]:
    stopped = [one for one in ended if not one.resumed]
    if stopped:
        rules = " and ".join(sorted({one.rule for one in stopped}))
        steps = sorted({one.step for one in stopped})
        at = f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
        yield (
            f"{len(stopped)} of {used} runs were ended by trainer.stop_when={rules} at {at} of "
            f"{stopped[0].planned}: each counts with its own end, and planned runs keep the rule"
        )
    resumed = [one for one in ended if one.resumed]
    if resumed:
        yield (
            f"{len(resumed)} of {used} runs were resumed after trainer.stop_when had ended them, "
            "which no planned run is: the plan takes their longer course for one of its own"
        )
