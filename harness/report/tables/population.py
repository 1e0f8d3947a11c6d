"""Inference from the seeds of each level to all seeds: a table for the terminal, and tidy rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table

from harness.law.group_results import Analysis, GroupResult
from harness.law.population_results import LawShare, OnsetOverSeeds, Population
from harness.law.results import BoundedEstimate, Interval
from harness.report.tables.grid import folding_table, stack_lines
from harness.report.text import wording
from harness.utils.safe_text import text
from harness.utils.terminal import shorten_middle

LONGEST_NAME = 40
MOST_ROWS = 40
"""The most groups that are shown; levels.csv and law.json have all."""
WHY = {
    "no_run": "no run",
    "no_law": "no law",
    "no_common_reward": "no common reward",
    "one_seed": "one seed",
    "seeds_alike": "seeds alike",
    "unknown_seeds": "seeds unknown",
    "no_onset": "no onset",
    "one_onset": "one onset",
    "onsets_alike": "onsets alike",
    "too_few_steps": "too few steps",
}
FOOTNOTES = (
    "P(law): share of the decided seeds that follow the law; open: undetermined seeds, which the"
    " interval allows to go either way",
    "ceiling: mean over the seeds whose law does not fail; sd: spread of the true ceilings",
    "collapse: a lasting sharp fall of H, or H spent; Kaplan-Meier, runs without a collapse are"
    " censored at their last step; median onset: log-normal",
)


def order(analysis: Analysis) -> list[GroupResult]:
    """Return the groups, from the lowest level up; empty if no group has two seeds."""
    described = [group for group in analysis.groups if group.population is not None]
    if not any(seeds(group) > 1 for group in described):
        return []
    position = {id(group): index for index, group in enumerate(described)}
    return sorted(
        described,
        key=lambda g: (g.compared is None, g.compared.order if g.compared else position[id(g)]),
    )


def heading(groups: Sequence[GroupResult]) -> str:
    """Return the table's heading, with the reward column of the law if all groups share it."""
    column = shared_reward(groups)
    return "Over seeds, by level" + (f", law on {column}" if column is not None else "")


def shared_reward(groups: Sequence[GroupResult]) -> str | None:
    """Return the reward column of the law that all groups share; None if there is none."""
    columns = {group.reward for group in groups}
    return columns.pop() if len(columns) == 1 else None


def seeds(group: GroupResult) -> int:
    """Return the number of runs that count or diverged."""
    return len({*group.runs, *group.diverged})


def name(group: GroupResult) -> str:
    """Return `hard, entropy bonus`: the level and other settings."""
    return wording.short_name(group.key)


def population_of(group: GroupResult) -> Population:
    """Return the group's population. Raises ValueError if it was not described over its seeds."""
    if group.population is None:
        raise ValueError(f"{wording.group_name(group.key)}: must be described over its seeds")
    return group.population


def table(groups: Sequence[GroupResult]) -> Table:
    """Return a table with a row per group."""
    rich_table = folding_table("level", *headings(groups))
    for group in groups[:MOST_ROWS]:
        short_name = text(shorten_middle(name(group), LONGEST_NAME))
        rich_table.add_row(short_name, *(stack_lines(*lines) for lines in cells(group, groups)))
    if len(groups) > MOST_ROWS:
        rich_table.add_row(text(f"{len(groups) - MOST_ROWS} more in levels.csv"))
    return rich_table


def headings(groups: Sequence[GroupResult]) -> list[str]:
    """Return the headings of the columns after the level."""
    last = _shared_end(groups)
    suffix = "" if last is None else f" by step {last:.0f}"
    return ["P(law)", "ceiling", "sd", f"collapse{suffix}", "median onset"]


def cells(group: GroupResult, groups: Sequence[GroupResult]) -> list[list[str]]:
    """Return the lines of each cell of a group, under `headings(groups)`."""
    described, has_shared_end = population_of(group), _shared_end(groups) is not None
    left_out = f"no law in {described.law.failing}" if described.law.failing else ""
    return [
        [*_follows(described.follows)],
        [*_number(described.law.ceiling.mean, described.law.ceiling.why), left_out],
        [*_number(described.law.ceiling.between, None)],
        [*_collapse(described.onset, has_shared_end)],
        [*_median(described.onset)],
    ]


def _shared_end(groups: Sequence[GroupResult]) -> float | None:
    """Return the last step of all groups, or None if it differs."""
    last = {population_of(group).onset.last_step for group in groups} - {None}
    return last.pop() if len(last) == 1 else None


def _follows(follows: LawShare) -> Iterator[str]:
    yield from _percent(follows.share)
    yield f"{follows.followers} of {follows.followers + follows.others}"
    yield f"{follows.undetermined} open" if follows.undetermined else ""


def _number(number: Interval | BoundedEstimate | None, why: str | None) -> Iterator[str]:
    if number is None:
        yield WHY.get(why or "", "-")
    elif number.low is None or number.high is None:
        yield wording.number(number.value)
    else:
        yield from wording.estimate(number.value, number.low, number.high).split(" ", 1)


def _collapse(onset: OnsetOverSeeds, has_shared_end: bool) -> Iterator[str]:
    """Yield the lines of the cell. `has_shared_end`: the heading states the last step."""
    yield from _percent(onset.before_end)
    yield f"{onset.events} of {onset.events + onset.censored}"
    yield "" if has_shared_end or onset.last_step is None else f"by step {onset.last_step:.0f}"
    yield f"{onset.diverged} diverged" if onset.diverged else ""


def _median(onset: OnsetOverSeeds) -> Iterator[str]:
    fit = onset.parametric
    if fit.median is None:
        later = f"after step {onset.last_step:.0f}" if fit.why == "beyond_the_runs" else None
        yield later or WHY.get(fit.why or "", "-")
        return
    low, high = fit.median.low, fit.median.high
    yield f"{fit.median.value:.0f}"
    yield f"[{low:.0f}, {'later' if high is None else f'{high:.0f}'}]" if low is not None else ""


def _percent(share: Interval | None) -> list[str]:
    return ["-"] if share is None else wording.percent(share).split(" ", 1)


COLUMNS = ("group", "quantity", "kind", "run", "seed", "step", "value", "low", "high", "n", "why")
"""Tidy format: one number per row, identified by `quantity` and `kind`."""
Row = dict[str, Any]


def csv_rows(groups: Sequence[GroupResult]) -> Iterator[Row]:
    """Yield every number over seeds, and the numbers of each seed."""
    for group in groups:
        common = {"group": wording.group_name(group.key)}
        for row in _rows(population_of(group)):
            yield common | row


def _rows(described: Population) -> Iterator[Row]:
    follows, onset = described.follows, described.onset
    decided = follows.followers + follows.others
    yield _row("follows", "share", follows.share, n=decided, why=follows.why)
    yield _row("follows", "share_of_decided", follows.decided, n=decided, why=follows.why)
    counts = {"followers": follows.followers, "others": follows.others}
    for kind, count in {**counts, "undetermined": follows.undetermined}.items():
        yield {"quantity": "follows", "kind": kind, "value": count}
    for quantity, over_seeds in (("a", described.law.a), ("ceiling", described.law.ceiling)):
        yield _row(quantity, "mean", over_seeds.mean, n=len(over_seeds.runs), why=over_seeds.why)
        yield _row(
            quantity,
            "between_seeds_sd",
            over_seeds.between,
            n=len(over_seeds.runs),
            why=over_seeds.why,
        )
        for run in over_seeds.runs:
            labels = {"run": run.run, "seed": run.seed}
            yield _row(quantity, "seed", run.own) | labels
            yield _row(quantity, "pooled_seed", run.pooled) | labels
    yield from _onset_rows(onset)


def _onset_rows(onset: OnsetOverSeeds) -> Iterator[Row]:
    n, fit = onset.events + onset.censored, onset.parametric
    for run in onset.runs:
        kind = "seed" if run.collapsed else "censored_seed"
        labels = {"run": run.run, "seed": run.seed}
        yield {"quantity": "onset", "kind": kind, **labels, "value": run.step}
    yield _row("onset", "median", fit.median, n=n, why=fit.why)
    yield {"quantity": "onset", "kind": "log_sd", "value": fit.spread, "n": n}
    end = {"step": onset.last_step}
    yield _row("collapse", "before_end", onset.before_end, n=n) | end
    for point in onset.incidence:
        yield {
            "quantity": "collapse", "kind": "by_step", "step": point.step, "value": point.value,
            "low": point.low, "high": point.high, "n": point.at_risk,
        }  # fmt: skip


def _row(
    quantity: str,
    kind: str,
    number: Interval | BoundedEstimate | None,
    n: int | None = None,
    why: str | None = None,
) -> Row:
    ends: Mapping[str, float | None] = (
        {} if number is None else {"value": number.value, "low": number.low, "high": number.high}
    )
    return {"quantity": quantity, "kind": kind, **ends, "n": n, "why": why}
