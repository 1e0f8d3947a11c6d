"""Advice on what to do next: why something is open, and the command that would close it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from harness.config.trainer import EVALUATIONS
from harness.law.compare import differences
from harness.law.group_results import Analysis, Contrast
from harness.law.io import columns
from harness.law.results import RunResult
from harness.law.settings import evaluated_every
from harness.law.verdict import REASONS

EVAL_EVERY = "trainer.eval_every"
FIXED_USERS = (
    "Evaluations meet the same users throughout: with 16 of them the verdict is about eval/reward."
)
CONSTANT = "R has one value in every row: no number of steps decides. Look at the reward."
MISFIT = "No number of rows takes a misfit away: residuals.png shows when R moves beside H."


def what_would_decide(analysis: Analysis) -> list[str]:
    """Sentences for undetermined runs and for a that cannot be compared: why, and what to run.

    Each is shown on made runs to decide more than it leaves open (tests/law/test_advice.py); where
    H falls little under strongly autocorrelated noise, four times the steps decide 4 runs in 10.
    No number of seeds decides a run: each seed has a verdict of its own.
    """
    lines = _of_verdicts(analysis)
    if any(EVAL_EVERY in line for line in lines):
        return lines
    return lines + _of_contrasts(analysis)


def _of_verdicts(analysis: Analysis) -> list[str]:
    """Empty if every run is decided. Null controls need no verdict: nothing is learnt in them."""
    fitted = [r for r in analysis.runs if r.status == "ok"]
    undecided = [r for r in fitted if r.verdict == "undetermined"]
    if not undecided:
        return []
    null = sum(is_null_control(run) for run in undecided)
    of_null = f", {null} of them null controls" if null else ""
    lines = [f"{len(undecided)} of {len(fitted)} runs undetermined{of_null}:"]
    counts = Counter(reason for run in undecided for reason in run.reasons or ())
    asked = [(reason, n) for reason, n in counts.most_common() if reason in DECIDES]
    lines += [f"  {n} x {reason}: {REASONS[reason]}" for reason, n in asked]
    return lines + next_steps(analysis, [run for run in undecided if not is_null_control(run)])


def next_steps(analysis: Analysis, undecided: Sequence[RunResult]) -> list[str]:
    """What would decide these undetermined runs, the most common reason first."""
    moving = [run for run in undecided if not _is_constant(analysis, run)]
    counts = Counter(reason for run in moving for reason in run.reasons or ())
    asked = [reason for reason, _ in counts.most_common() if reason in DECIDES]
    lines = []
    for advise in dict.fromkeys(DECIDES[reason] for reason in asked):
        why = {reason for reason, advice in DECIDES.items() if advice is advise}
        first = next(run for run in moving if why.intersection(run.reasons or ()))
        lines += advise(first)
    return lines + ([CONSTANT] if len(moving) < len(undecided) else [])


def _is_constant(analysis: Analysis, run: RunResult) -> bool:
    """Whether R is the same throughout, but for the last bits of its numbers."""
    series = analysis.series.get(run.run)
    if series is None or not len(series.reward):
        return False
    return bool(np.ptp(series.reward) <= 1e-12 * np.abs(series.reward).max())


def is_null_control(run: RunResult) -> bool:
    """Whether its advantages were shuffled, as far as its config says."""
    return bool(run.setting("algorithm", "null_control"))


def _more_steps(run: RunResult) -> list[str]:
    """The words to add to a sweep of runs like `run`; a log of another program has its own."""
    steps, every = _trainer(run, "steps"), evaluated_every(run.config)
    more = "More steps would decide, if H falls further"
    lines = [f"{more}."]
    if steps is not None:
        enough = max(steps * 4, EVALUATIONS * (every or 1))
        to_the_end = " trainer.stop_when=null" if run.setting("trainer", "stop_when") else ""
        lines = [f"{more}: add trainer.steps={enough}{to_the_end}."]
    if every is not None and every > 1 and "identification_range" in (run.reasons or ()):
        lines.append(f"Where H falls fast, evaluate more often: add {_denser(every)}.")
    return lines


def _less_noise(run: RunResult) -> list[str]:
    """A break lies inside a run: other seeds have breaks of their own."""
    evaluated = columns.is_evaluation(run.reward or "")
    key = ("eval", "users") if evaluated else ("trainer", "conversations")
    held = run.setting(*key)
    words = f": add {'.'.join(key)}={held * 4}." if isinstance(held, int) else "."
    return [f"A break within a run is told by less noise in R{words}"]


def _no_number_of_rows(run: RunResult) -> list[str]:
    return [MISFIT]


def _fixed_users(run: RunResult) -> list[str]:
    return [FIXED_USERS]


DECIDES: Mapping[str, Callable[[RunResult], list[str]]] = {
    "too_few_steps": _more_steps,
    "identification_range": _more_steps,
    "entropy_rises": _more_steps,
    "not_validated_out_of_time": _more_steps,
    "law_break": _less_noise,
    "misfit": _no_number_of_rows,
    "stages": _fixed_users,
}
"""Reason that leaves a verdict open -> what would close it, given a run that has it."""


def _of_contrasts(analysis: Analysis) -> list[str]:
    """The words that give more points to the evaluations on which a was to be compared."""
    runs = {run.run: run for run in analysis.runs}
    wanting = [
        (contrast.on, evaluated_every(runs[group.every[0]].config))
        for group in analysis.groups
        for contrast in group.contrasts
        if _wants_points(contrast)
    ]
    sparse = {on: every for on, every in wanting if on and every is not None and every > 1}
    if not sparse:
        return []
    more = f"Evaluated more often, a may be comparable on {' and '.join(sparse)}"
    return [f"{more}: add {_denser(min(sparse.values()))} to the sweep."]


def _wants_points(contrast: Contrast) -> bool:
    """Whether a is not comparable for too few points on an evaluation, or too little H in them."""
    if contrast.quantity != "a" or contrast.decision != "not_comparable":
        return False
    on, why = contrast.on or "", contrast.why or ""
    return on.startswith("eval/") and why.startswith(differences.TOO_FEW)


def _denser(every: int) -> str:
    return f"{EVAL_EVERY}={max(1, every // 5)}"


def _trainer(run: RunResult, key: str) -> int | None:
    value = run.setting("trainer", key)
    return value if isinstance(value, int) else None
