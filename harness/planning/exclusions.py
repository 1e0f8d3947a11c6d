"""Report the runs of a pilot that a plan does not use, and those that ended early."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SHOWN = 5
"""Largest number of runs named on a terminal; --json names all."""


@dataclass(frozen=True)
class ExcludedRun:
    """A run of the requested levels that the plan does not use."""

    run: str
    why: str
    level: int | None = None
    """Index of its level; None if its config cannot be read."""
    failed: bool = False
    """Whether the run failed, as a planned run may too."""


@dataclass(frozen=True)
class EndedEarly:
    """A run that trainer.stop_when ended. It is used nevertheless."""

    run: str
    rule: str
    step: int
    """The step at which the rule ended the run."""
    last_step: int
    """The last step; later than `step` if the run was resumed."""
    planned: int
    """trainer.steps of the run."""

    @property
    def resumed(self) -> bool:
        return self.last_step > self.step


def ended_early(run: str, record: Any, last_step: int, steps: int) -> EndedEarly | None:
    """Parse `stopped_by_rule` of run.json; None if no rule ended the run, or it is invalid."""
    if not isinstance(record, Mapping) or not isinstance(record.get("step"), int):
        return None
    return EndedEarly(run, str(record.get("rule")), int(record["step"]), last_step, steps)


def share_failed(left_out: Sequence[ExcludedRun], used: Sequence[int]) -> float:
    """Return the largest share of failed runs in a level. `used`: runs used of each level."""
    failed = [
        sum(run.failed and run.level == level for run in left_out) for level in range(len(used))
    ]
    return max((n / (n + m) for n, m in zip(failed, used, strict=True) if n), default=0.0)


def sentences(
    left_out: Sequence[ExcludedRun],
    ended: Sequence[EndedEarly],
    used: Sequence[int],
    seeds: int | None,
) -> Iterator[str]:
    """Yield sentences on runs left out or ended early, and on the consequences for the plan.

    `seeds`: the seeds per level of the design, if there is one.
    """
    if left_out:
        total = len(left_out) + sum(used)
        yield f"left out: {len(left_out)} of {total} runs; the spread is computed from the others"
        yield from (f"  {run.run}: {run.why}" for run in left_out[:SHOWN])
        if len(left_out) > SHOWN:
            yield f"  and {len(left_out) - SHOWN} more, listed by --json"
    share = share_failed(left_out, used)
    if share and seeds is not None:
        start = math.ceil(seeds / (1 - share))
        yield (
            f"{share:.0%} of a level's runs failed: at the same rate, {start} seeds a level are "
            f"needed for {seeds} that finish"
        )
    yield from _ended_sentences(ended, sum(used))


def _ended_sentences(ended: Sequence[EndedEarly], used: int) -> Iterator[str]:
    stopped = [run for run in ended if not run.resumed]
    if stopped:
        rules = " and ".join(sorted({run.rule for run in stopped}))
        steps = sorted({run.step for run in stopped})
        steps_text = f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
        yield (
            f"{len(stopped)} of {used} runs were ended by trainer.stop_when={rules} at "
            f"{steps_text} of {stopped[0].planned}: each counts with its last step, and planned "
            "runs have the rule"
        )
    resumed = [run for run in ended if run.resumed]
    if resumed:
        yield (
            f"{len(resumed)} of {used} runs were resumed after trainer.stop_when had ended them. "
            "Planned runs are not resumed, so the plan assumes longer runs than there will be"
        )
