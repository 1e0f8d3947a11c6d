"""Advise what to run next: why a question is undecided, and the command that would decide it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.config.trainer import EVALUATIONS
from harness.law.compare import incomparable
from harness.law.group_results import Analysis, Contrast
from harness.law.io import columns, typed_words
from harness.law.io.typed_words import Typed
from harness.law.reasons import REASONS
from harness.law.results import Floats, RunResult
from harness.law.settings import evaluated_every

EVAL_EVERY = "trainer.eval_every"
FIXED_USERS = (
    "Every evaluation has the same users: with 16 evaluations the verdict is about eval/reward."
)
CONSTANT = "R is constant: more steps do not help. Check the reward."
STILL = "H is constant: more steps do not help. Check the learning rate."
MISFIT = "More rows do not remove a misfit: residuals.png shows when R deviates from the law."


@dataclass(frozen=True)
class Suggestion:
    """A sentence of advice, and the overrides to add to the command that made `run`."""

    sentence: str
    """The advice, without its full stop."""
    run: str = ""
    overrides: tuple[str, ...] = ()
    grouped_sentence: str = ""
    """The advice for several runs, with a placeholder `{runs}`."""

    def lines(self, typed: Typed) -> list[str]:
        """Return the sentence and the command to paste below it.

        If the command that made the run is unknown, the sentence names the overrides only.
        """
        if not self.overrides:
            return [f"{self.sentence}."]
        words = typed(self.run)
        if words is None:
            return [f"{self.sentence}: add {' '.join(self.overrides)}."]
        return [f"{self.sentence}:", f"    {typed_words.command(words, self.overrides)}"]


def what_would_decide(analysis: Analysis, typed: Typed = typed_words.sweep_overrides) -> list[str]:
    """Return sentences for undetermined runs and for an a that cannot be compared.

    They state why, and what to run. Tests on synthetic runs (tests/law/test_advice.py) show that
    each advice decides most runs. If H falls little under strongly autocorrelated noise, four times
    the steps decide 4 runs in 10. More seeds never decide a run, because each seed has its own
    verdict.
    """
    lines, steps = _verdict_advice(analysis, typed)
    if not any(word.startswith(EVAL_EVERY) for step in steps for word in step.overrides):
        steps = [*steps, *_contrast_advice(analysis)]
    return lines + [line for step in steps for line in step.lines(typed)]


def _verdict_advice(analysis: Analysis, typed: Typed) -> tuple[list[str], list[Suggestion]]:
    """Return sentences and advice on undetermined runs; both are empty if every run is decided.

    Null controls get no advice, because they learn nothing.
    """
    fitted = [r for r in analysis.runs if r.status == "ok"]
    undecided = [r for r in fitted if r.verdict == "undetermined"]
    if not undecided:
        return [], []
    null_count = sum(is_null_control(run) for run in undecided)
    null_note = f", {null_count} of them null controls" if null_count else ""
    lines = [f"{len(undecided)} of {len(fitted)} runs undetermined{null_note}:"]
    varying = [run for run in undecided if unmoved(analysis, run) is None]
    counts = Counter(reason for run in varying for reason in run.reasons or ())
    reasons = [(reason, n) for reason, n in counts.most_common() if reason in DECIDES]
    lines += [f"  {n} x {reason}: {REASONS[reason]}" for reason, n in reasons]
    unvaried = len(undecided) - len(varying)
    lines += [f"  {unvaried} x nothing varied: see below"] if unvaried else []
    not_null = [run for run in undecided if not is_null_control(run)]
    return lines, [step for _, steps in next_steps(analysis, not_null, typed) for step in steps]


Decided = tuple[Sequence[RunResult], list[Suggestion]]
"""Runs, and the advice that may decide them."""


def next_steps(analysis: Analysis, undecided: Sequence[RunResult], typed: Typed) -> list[Decided]:
    """Return the advice that may decide these undetermined runs, most frequent reason first.

    Each entry has the runs that one command repeats.
    """
    varying = [run for run in undecided if unmoved(analysis, run) is None]
    counts = Counter(reason for run in varying for reason in run.reasons or ())
    reasons = [reason for reason, _ in counts.most_common() if reason in DECIDES]
    decided: list[Decided] = []
    for advise in dict.fromkeys(DECIDES[reason] for reason in reasons):
        answered = {reason for reason, advice in DECIDES.items() if advice is advise}
        helped_runs = [run for run in varying if answered.intersection(run.reasons or ())]
        same_command = _runs_of_common_command(helped_runs, typed)
        decided.append((same_command, advise(same_command[0])))
    sentences = {run.run: unmoved(analysis, run) for run in undecided}
    for sentence in dict.fromkeys(filter(None, sentences.values())):
        runs = [run for run in undecided if sentences[run.run] == sentence]
        decided.append((runs, [Suggestion(sentence.removesuffix("."))]))
    return decided


def _runs_of_common_command(runs: Sequence[RunResult], typed: Typed) -> list[RunResult]:
    """Return the runs that share the most common command, so that one command repeats them."""
    words = {run.run: tuple(typed(run.run) or ()) for run in runs}
    common, _ = Counter(words.values()).most_common(1)[0]
    return [run for run in runs if words[run.run] == common]


def unmoved(analysis: Analysis, run: RunResult) -> str | None:
    """Return the sentence about a run in which R or H is constant; None if both vary."""
    series = analysis.series.get(run.run)
    if series is None:
        return None
    if _is_constant(series.reward):
        return CONSTANT
    return STILL if _is_constant(series.course_entropy) else None


def _is_constant(values: Floats) -> bool:
    """Return whether all values are equal up to rounding."""
    return len(values) > 1 and bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def is_null_control(run: RunResult) -> bool:
    """Return whether the config says that the run's advantages were shuffled."""
    return bool(run.setting("algorithm", "null_control"))


def _more_steps(run: RunResult) -> list[Suggestion]:
    """Advise longer runs like `run`. Logs of other programs have no known command."""
    steps, eval_every = _trainer_setting(run, "steps"), evaluated_every(run.config)
    overrides: tuple[str, ...] = ()
    if steps is not None:
        overrides = (f"trainer.steps={max(steps * 4, EVALUATIONS * (eval_every or 1))}",)
        overrides += ("trainer.stop_when=null",) if run.setting("trainer", "stop_when") else ()
    grouped_sentence = "more steps would decide {runs}, if H falls further"
    suggestions = [
        Suggestion(
            "More steps would decide, if H falls further", run.run, overrides, grouped_sentence
        )
    ]
    if eval_every is not None and eval_every > 1 and "identification_range" in (run.reasons or ()):
        suggestions.append(
            Suggestion(
                "Where H falls fast, evaluate more often",
                run.run,
                (_override_eval_every(eval_every),),
            )
        )
    return suggestions


def _less_noise(run: RunResult) -> list[Suggestion]:
    """Advise less noise in R. More seeds would not help, since each seed has its own break."""
    evaluated = columns.is_evaluation(run.reward or "")
    key = ("eval", "users") if evaluated else ("trainer", "conversations")
    count = run.setting(*key)
    overrides = (f"{'.'.join(key)}={count * 4}",) if isinstance(count, int) else ()
    grouped_sentence = "less noise in R would decide whether there is a break in {runs}"
    return [
        Suggestion(
            "Less noise in R would decide whether there is a break",
            run.run,
            overrides,
            grouped_sentence,
        )
    ]


def _no_number_of_rows(run: RunResult) -> list[Suggestion]:
    return [Suggestion(MISFIT.removesuffix("."))]


def _fixed_users(run: RunResult) -> list[Suggestion]:
    return [Suggestion(FIXED_USERS.removesuffix("."))]


DECIDES: Mapping[str, Callable[[RunResult], list[Suggestion]]] = {
    "too_few_steps": _more_steps,
    "identification_range": _more_steps,
    "entropy_rises": _more_steps,
    "not_validated_out_of_time": _more_steps,
    "law_break": _less_noise,
    "misfit": _no_number_of_rows,
    "stages": _fixed_users,
}
"""Reason that leaves a verdict open -> function that returns the advice for a run."""


def _contrast_advice(analysis: Analysis) -> list[Suggestion]:
    """Advise more frequent evaluations if a has too few points to be compared on them."""
    runs = {run.run: run for run in analysis.runs}
    candidates = [
        (contrast.on, group.all_runs[0], evaluated_every(runs[group.all_runs[0]].config))
        for group in analysis.groups
        for contrast in group.contrasts
        if _wants_points(contrast)
    ]
    sparse = {
        column: (every, run) for column, run, every in candidates if column and every and every > 1
    }
    if not sparse:
        return []
    every, run = min(sparse.values())
    sentence = f"With more frequent evaluations a may be comparable on {' and '.join(sparse)}"
    return [Suggestion(sentence, run, (_override_eval_every(every),))]


def _wants_points(contrast: Contrast) -> bool:
    """Return whether a is not comparable because evaluations have too few points or little H."""
    if contrast.quantity != "a" or contrast.decision != "not_comparable":
        return False
    column, reason = contrast.on or "", contrast.why or ""
    return column.startswith("eval/") and reason.startswith(incomparable.TOO_FEW)


def _override_eval_every(every: int) -> str:
    return f"{EVAL_EVERY}={max(1, every // 5)}"


def _trainer_setting(run: RunResult, key: str) -> int | None:
    value = run.setting("trainer", key)
    return value if isinstance(value, int) else None
