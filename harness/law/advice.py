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
    return said + _commands(open_runs[0], counts)


def _commands(run: RunResult, counts: Counter[str]) -> list[str]:
    """What to add to a sweep of runs like `run`, and the sweep that is sure to be long enough."""
    if not counts["too_few_steps"] and not counts["identification_range"]:
        return ["More seeds would decide: add seed=1,2,3,4,5 to the sweep."]
    said = [f"More steps would decide. In a minute or so: {LONGER}"]
    steps, every = _trainer(run, "steps"), _trainer(run, "eval_every")
    if steps is not None:
        said.append(f"For the same runs: add trainer.steps={steps * 4} to the sweep.")
    if every is not None and every > 1 and counts["identification_range"]:
        denser = max(1, every // 5)
        said.append(f"Where H falls fast, evaluate more often: add trainer.eval_every={denser}.")
    return said


def _trainer(run: RunResult, key: str) -> int | None:
    trainer = (run.config or {}).get("trainer")
    value = trainer.get(key) if isinstance(trainer, dict) else None
    return value if isinstance(value, int) else None
