"""The lines around the rows of the answer: heading, open questions, runs that are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from harness.law import advice
from harness.law.advice import Suggestion
from harness.law.group_results import Analysis, GroupResult
from harness.law.io import columns, typed_words
from harness.law.io.typed_words import Typed
from harness.law.results import RunResult
from harness.report.text import dropped_rows, wording
from harness.report.text.answer import AnswerRow
from harness.report.text.wording import plural

HELD_OUT = "reward of held-out users"
OWN_BATCH = "reward of the same batch as H, where the law is expected"


def heading(analysis: Analysis) -> str:
    """Return how many runs there are, are null controls or were not read, and the reward used."""
    fitted = [run for run in analysis.runs if run.status == "ok"]
    nulls = sum(map(advice.is_null_control, fitted))
    unread = sum(run.error is not None and not _is_missing(run, analysis) for run in analysis.runs)
    parts = [
        f"{nulls} of them {'a null control' if nulls == 1 else 'null controls'}" if nulls else "",
        f"{unread} could not be read" if unread else "",
        f"{plural(len(analysis.skipped), 'path')} skipped" if analysis.skipped else "",
    ]
    text = ", ".join([plural(len(analysis.runs), "run"), *filter(None, parts)])
    counted_runs = _runs_in_rows(analysis)
    return f"{text}; {which_reward(counted_runs)}" if counted_runs else text


def _is_missing(run: RunResult, analysis: Analysis) -> bool:
    """Return whether the run merely has no rows yet, which `unfinished` reports."""
    no_rows = run.error is not None and run.error.kind in ("missing_file", "empty_input")
    return no_rows and run.run in analysis.left_out


def which_reward(runs: Sequence[RunResult]) -> str:
    """Say which reward the numbers and verdicts of these runs refer to."""
    other_batch = [run for run in runs if not run.same_batch]
    if not other_batch:
        return OWN_BATCH
    evaluated = [run for run in other_batch if columns.is_evaluation(run.reward or "")]
    names = sorted({run.reward or "" for run in other_batch if run not in evaluated})
    parts = [HELD_OUT] if evaluated else []
    parts += [f"reward in column {' or '.join(names)}"] if names else []
    parts += (
        ["of the same batch as H where the row says so"] if len(other_batch) < len(runs) else []
    )
    return ", or ".join(parts)


def intervals(answer_rows: Sequence[AnswerRow]) -> str:
    """Say what ± in the rows stands for: an interval over seeds, a single run's own, or both."""
    seeds = [row.seeds for row in answer_rows if row.gain.low is not None]
    if not seeds:
        return ""
    if min(seeds) > 1:
        return "±: 95% over seeds"
    return "±: 95% over seeds (x1: of the run)" if max(seeds) > 1 else "±: 95% of each run"


def _runs_in_rows(analysis: Analysis) -> list[RunResult]:
    """Return the runs that were read and that the rows count."""
    fitted = (run for run in analysis.runs if run.status == "ok")
    return analysis.runs_in_means(fitted)


def open_questions(
    analysis: Analysis, answer_rows: Sequence[AnswerRow], typed: Typed = typed_words.sweep_overrides
) -> list[str]:
    """Return the open questions, each kind in one line, and the commands that would decide them."""
    lines = [*_undetermined_lines(analysis, typed), *_invalid_lines(analysis)]
    ours = [run.run for run in analysis.runs if run.status == "ok" and run.config is not None]
    missing: dict[str, str] = {}
    if answer_rows and not any(row.noise for row in answer_rows):
        missing["algorithm.null_control=false,true"] = "how much of the fall of H is noise"
    if answer_rows and all(row.seeds == 1 for row in answer_rows):
        missing["seed=range(1,6)"] = "how much seeds differ"
    if ours and missing:
        sentence = f"not measured: {' and '.join(missing.values())}"
        lines += Suggestion(sentence, ours[0], tuple(missing)).lines(typed)
    return lines


def _undetermined_lines(analysis: Analysis, typed: Typed) -> list[str]:
    """Return `law undecided in 9 of 15 runs; more steps would decide 7, ...:`, then the command."""
    real = [run for run in _runs_in_rows(analysis) if not advice.is_null_control(run)]
    undecided = [run for run in real if run.verdict == "undetermined"]
    if not undecided:
        return []
    sentence = f"law undecided in {len(undecided)} of {plural(len(real), 'run')}"
    suggestions = advice.next_steps(analysis, undecided, typed)
    if not suggestions:
        return [sentence]
    helped_runs, (step, *_) = suggestions[0]
    if not step.grouped_sentence:
        return [sentence, f"in {len(helped_runs)}: {step.sentence}."]
    runs = (
        str(len(helped_runs))
        if len(helped_runs) < len(undecided)
        else "them"
        if len(undecided) > 1
        else "it"
    )
    return replace(step, sentence=f"{sentence}; {step.grouped_sentence.format(runs=runs)}").lines(
        typed
    )


def _invalid_lines(analysis: Analysis) -> list[str]:
    count = sum(
        any(not level_validity.valid for level_validity in (run.validity or {}).values())
        for run in analysis.runs
    )
    total = plural(len(analysis.runs), "run")
    return [f"users not valid in {count} of {total}: see --tables"] if count else []


def unread(analysis: Analysis) -> list[str]:
    """Return a line for each kind of read error: the number of runs and the first message."""
    errors = [
        run.error
        for run in analysis.runs
        if run.error is not None and not _is_missing(run, analysis)
    ]
    kinds = Counter(error.kind for error in errors)
    first = {error.kind: error.message for error in reversed(errors)}
    return [
        f"{count} of {plural(len(analysis.runs), 'run')} could not be read, "
        f"{wording.without_underscores(kind)}: {first[kind]}{', ...' if count > 1 else ''}"
        for kind, count in kinds.items()
    ]


def unfinished(analysis: Analysis) -> list[str]:
    """Return `4 of 33 runs unfinished and left out: easy 3 of 5 (1 crashed, 2 planned)`."""
    by_name = {run.run: run for run in analysis.runs}
    parts = []
    for group in analysis.groups:
        states = Counter(_state(by_name[run], group) for run in group.left_out)
        if states:
            words = [f"{n} {word}" if len(states) > 1 else word for word, n in states.items()]
            name = wording.short_name(group.key)
            missing = f"{len(group.left_out)} of {len(group.all_runs)} ({', '.join(words)})"
            parts.append(f"{name} {missing}")
    if not parts:
        return []
    total = plural(len(analysis.runs), "run")
    return [f"{len(analysis.left_out)} of {total} unfinished and left out: {'; '.join(parts)}"]


def _state(run: RunResult, group: GroupResult) -> str:
    return "diverged" if run.run in group.diverged else dropped_rows.state(run)
