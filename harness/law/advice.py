"""What a reader should do next: why a verdict is open, and the command that would close it."""

from __future__ import annotations

from collections import Counter

from harness.law.results import Analysis, RunResult
from harness.law.verdict import REASONS

LONGER = "harness sweep difficulty=easy,medium,hard policy=tabular trainer.steps=2000"


def what_would_decide(analysis: Analysis) -> list[str]:
    """Sentences for the undetermined runs: why, and what to run; empty if every run is decided."""
    fitted = [r for r in analysis.runs if r.status == "ok"]
    open_runs = [r for r in fitted if r.verdict == "undetermined"]
    if not open_runs:
        return []
    counts = Counter(reason for run in open_runs for reason in run.reasons or ())
    said = [f"{len(open_runs)} of {len(fitted)} runs undetermined:"]
    said += [f"  {n} x {reason}: {REASONS[reason]}" for reason, n in counts.most_common()]
    return said + _commands(open_runs, counts)


def _commands(runs: list[RunResult], counts: Counter[str]) -> list[str]:
    if counts["too_few_steps"] or counts["identification_range"]:
        said = [f"More steps would decide. In a minute or so: {LONGER}"]
        steps = _steps(runs[0])
        if steps is not None:
            said.append(f"For the same runs: add trainer.steps={steps * 4} to the sweep.")
        return said
    return ["More seeds would decide: add seed=1,2,3,4,5 to the sweep."]


def _steps(run: RunResult) -> int | None:
    trainer = (run.config or {}).get("trainer")
    steps = trainer.get("steps") if isinstance(trainer, dict) else None
    return steps if isinstance(steps, int) else None
