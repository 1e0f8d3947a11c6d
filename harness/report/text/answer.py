"""The answer of an analysis in a few lines: gain in reward, fall of H, onset and verdict.

A row is a group of runs that differ only in the seed, or a run without a group. Beside real runs,
null controls have no row of their own: their fall is the noise in the rows of those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.law.compare.reward_column import number_on, verdict_on
from harness.law.compare.seed_means import (
    drop_interval_of_repeats,
    mean_over_seeds,
    unweighted_mean,
)
from harness.law.estimate import null_control, numbers
from harness.law.group_results import Analysis, GroupResult, SeedMean
from harness.law.result_parts import AnchorRewards
from harness.law.results import Interval, Onset, RunResult
from harness.records.outcomes import OWN
from harness.report.text import naming, wording

NULL_CONTROL = "algorithm.null_control"
FOLLOW = ("holds", "holds_form_open", "holds_until_onset")
"""Verdicts that say that reward follows the law."""


@dataclass(frozen=True)
class AnswerRow:
    """A group of runs, or a single run."""

    name: str
    seeds: int
    gain: SeedMean
    """Reward at the end minus at the start."""
    end: SeedMean
    """Reward at the end: mean of the last tenth of its points."""
    anchors: AnchorRewards | None
    """The reference policies at the level of the runs."""
    fall: SeedMean
    """Fall of H, nats."""
    noise: SeedMean | None
    """Fall of H in the null controls, nats; None without a null control."""
    onsets: tuple[Onset | None, ...]
    """For each run with enough rows to look for an onset; None if there is none."""
    verdicts: tuple[str, ...]
    same_batch: bool
    """True if any run's reward and verdict are of the batches that H was measured on."""


def rows(analysis: Analysis) -> list[AnswerRow]:
    """Return the rows, from the lowest level up. Null controls have rows if nothing else has."""
    by_name = {run.run: run for run in analysis.runs if run.status == "ok"}
    nulls = [group for group in analysis.groups if is_null_control(group)]
    real = [group for group in analysis.groups if group not in nulls]
    real = [group for group in real if group.runs]  # `unfinished` reports the others
    groups = real or nulls
    order = {id(group): _sort_key(index, group) for index, group in enumerate(groups)}
    groups = sorted(groups, key=lambda group: order[id(group)])
    members = [(group, [by_name[run] for run in group.runs if run in by_name]) for group in groups]
    grouped = {run for group in analysis.groups for run in group.all_runs}
    run_names = naming.names(analysis)
    found = [
        *(_group_row(group, runs, analysis) for group, runs in members),
        *(_run_row(run, run_names[name], analysis) for name, run in by_name.items()
          if name not in grouped),
    ]  # fmt: skip
    levels = list(naming.by_level(analysis, by_name.values()))
    if len(found) == len(levels) == 1:  # no axis names it
        return [replace(found[0], name=levels[0])]
    return found


def is_null_control(group: GroupResult) -> bool:
    """Return whether the runs of the group are null controls, according to its axes."""
    return bool(group.key.get(NULL_CONTROL))


def _sort_key(index: int, group: GroupResult) -> tuple[str, int]:
    """Return a sort key: by policy, then from the lowest level up."""
    return str(group.key.get("policy", "")), group.compared.order if group.compared else index


def _group_row(group: GroupResult, runs: Sequence[RunResult], analysis: Analysis) -> AnswerRow:
    seeds = [run.seed for run in runs]
    ends = [_end(run, group.reward, analysis) for run in runs]
    falls, noises = zip(*(_falls(run, analysis) for run in runs), strict=True) if runs else ((), ())
    key = {axis: value for axis, value in group.key.items() if axis != NULL_CONTROL}
    noise = drop_interval_of_repeats(unweighted_mean(noises), seeds)
    return AnswerRow(
        name=wording.short_name(key if any(key.values()) else group.key),
        seeds=len(group.runs),
        gain=group.gain
        if len(runs) != 1
        else _single_run_mean(number_on(runs[0], "gain", group.reward)),
        end=drop_interval_of_repeats(
            mean_over_seeds([end for end in ends if end is not None], ends.count(None)), seeds
        ),
        anchors=_anchors(runs),
        fall=drop_interval_of_repeats(unweighted_mean(falls), seeds)
        if len(runs) != 1
        else _single_run_mean(falls[0]),
        noise=noise if noise.n else None,
        onsets=_onsets(runs),
        verdicts=tuple(verdict_on(run, group.reward) or "undetermined" for run in runs),
        same_batch=any(_same_batch(run, group.reward) for run in runs),
    )


def _run_row(run: RunResult, name: str, analysis: Analysis) -> AnswerRow:
    fall, noise = _falls(run, analysis)
    end = _end(run, run.reward, analysis)
    return AnswerRow(
        name=name,
        seeds=1,
        gain=_single_run_mean(run.gain),
        end=mean_over_seeds([] if end is None else [end], 0),
        anchors=_anchors([run]),
        fall=_single_run_mean(fall),
        noise=unweighted_mean([noise]) if noise else None,
        onsets=_onsets([run]),
        verdicts=(run.verdict or "undetermined",),
        same_batch=_same_batch(run, run.reward),
    )


def _single_run_mean(number: Interval | None) -> SeedMean:
    """Return a number of the only run with its own interval, which excludes the spread of seeds."""
    if number is None:
        return unweighted_mean([None])
    return SeedMean(number.value, number.low, number.high, 1, 0)


def _end(run: RunResult, column: str | None, analysis: Analysis) -> float | None:
    """Return the reward at the end; None if the group uses another column than the run's points."""
    if column is not None and column != run.reward:
        return None
    return numbers.mean(numbers.last_tenth(analysis.series[run.run].reward))


def _same_batch(run: RunResult, column: str | None) -> bool:
    law = (run.fits or {}).get(column or "")
    return bool(law.same_batch if law is not None else run.same_batch)


def _anchors(runs: Sequence[RunResult]) -> AnchorRewards | None:
    yardsticks = ((run.yardsticks or {}).get(OWN) for run in runs)
    return next((own.anchors for own in yardsticks if own is not None and own.anchors.deaf), None)


def _falls(run: RunResult, analysis: Analysis) -> tuple[Interval | None, Interval | None]:
    """Return the fall of H of a run and that of its null control, in nats; None if unknown."""
    fall = null_control.fall(analysis.series[run.run].course_entropy)
    net = run.net_of_null.fall if run.net_of_null is not None else None
    if fall is None or net is None:
        return fall, None
    noise = fall.value - net.value
    return fall, Interval(noise, noise, noise)


def _onsets(runs: Sequence[RunResult]) -> tuple[Onset | None, ...]:
    return tuple(run.onset for run in runs if run.regime is not None)
