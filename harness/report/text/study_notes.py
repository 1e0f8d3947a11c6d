"""The lines below a study's table: its method, doubts about it, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.law.compare import claims, quantities
from harness.law.compare.link_result import SUPPORTED, LinkResult
from harness.law.compare.links import NO_ONSET, is_open
from harness.law.compare.study_arms import ArmCounts
from harness.law.compare.study_outcome import StudyOutcome
from harness.records.outcomes import OWN
from harness.records.study_file import FactorialTable
from harness.report.text import link_words, wording
from harness.report.text.wording import plural

METHOD = (
    "differences are paired by seed: mean and 95% t interval; p is for the stated direction (1 if "
    "the difference points the other way) and adjusted for the number of looks. Links beside and "
    "checks are corrected by Holm; deciding links are not, since all of them must hold"
)
CROSSED = (
    "the variance between the levels of a factor is that of its main effects, without the noise of "
    "seeds; a seed's value is its jackknife pseudo-value, and the interval is the jackknife's"
)
NO_PAIRS = "no link can be judged yet: none has a pair of finished runs"


def notes(outcome: StudyOutcome) -> Iterator[str]:
    """Yield the lines below the table: method, doubts, counts."""
    if has_finished_runs(outcome):
        yield from _link_notes(outcome)
    else:
        yield NO_PAIRS
    yield from _left_out_lines(outcome)
    if any(counts.failed < counts.planned for counts in outcome.counts.values()):
        yield from _finished_run_notes(outcome)
    for sentence in outcome.changed:
        yield f"changed since the first runs were planned: {sentence}"
    if has_finished_runs(outcome):
        yield f"judged on {seeds(outcome.stated.seeds)}"


def has_finished_runs(outcome: StudyOutcome) -> bool:
    """Return whether there are finished runs to compare: in two arms, or in the only one."""
    finished = [counts for counts in outcome.counts.values() if counts.failed < counts.planned]
    return len(finished) >= min(2, len(outcome.counts))


def _link_notes(outcome: StudyOutcome) -> Iterator[str]:
    yield METHOD
    if any(result.link.crossed for result in (*outcome.checks, *outcome.links)):
        yield CROSSED
    for result in (*outcome.checks, *outcome.links):
        if remarks := list(_notes_on_link(result)):
            yield f"{result.link.name}: {'; '.join(remarks)}"


def _left_out_lines(outcome: StudyOutcome) -> Iterator[str]:
    """Yield the runs of each arm that are left out, then the number of runs not started."""
    for arm, counts in outcome.counts.items():
        left_out = [
            f"{count} of {plural(counts.planned, 'run')} {description}"
            for count, description in (
                (counts.failed - counts.not_started, f"failed or unfinished{_diverged(counts)}"),
                (counts.inactive, "with an inactive remedy, left out"),
            )
            if count
        ]
        if left_out:
            yield f"{arm}: {', '.join(left_out)}"
    waiting = {
        arm: f"{counts.not_started} of {counts.planned}"
        for arm, counts in outcome.counts.items()
        if counts.not_started
    }
    if len(waiting) == len(outcome.counts) > 1 and len({*waiting.values()}) == 1:
        yield f"runs not started: {next(iter(waiting.values()))} in every arm"
    elif waiting:
        yield f"runs not started: {', '.join(f'{arm} {count}' for arm, count in waiting.items())}"


def _finished_run_notes(outcome: StudyOutcome) -> Iterator[str]:
    """Yield the best arms, the rival explanation and the comparison with deaf schedules."""
    for name, best_arm in outcome.chosen.items():
        arms = ", ".join(outcome.stated.best[name])
        if best_arm:
            evaluation = outcome.stated.evaluation_of_best(name)
            edge = _edge(outcome, name)
            yield f"{name} is {best_arm}, the best of {arms} on {evaluation}{edge}"
        else:
            yield f"{name} is not known, since no run of {arms} has a value"
    starved, total = outcome.starved
    if outcome.stated.rival:
        yield f"rival explanation, starvation: {starved} of {plural(total, 'run')} starved"
    yield from _deaf_schedule_notes(outcome)


def _edge(outcome: StudyOutcome, name: str) -> str:
    """Say that the best arm is at the edge of its grid; empty if it is not."""
    edge = outcome.edges.get(name)
    if edge is None:
        return ""
    return (
        f"; it has the {edge.side} {edge.key} of these, {edge.value:g}, so a better one may lie "
        "beyond"
    )


def _deaf_schedule_notes(outcome: StudyOutcome) -> Iterator[str]:
    """Yield how far each arm ends above the best fixed schedule, which hears nothing."""
    unknown: dict[str, list[str]] = {}
    for comparison in outcome.above_deaf:
        level = "its own level" if comparison.level == OWN else comparison.level
        gap = comparison.difference
        if gap is None:
            unknown.setdefault(comparison.why or "", []).append(f"{comparison.arm} on {level}")
            continue
        estimate_text = wording.number(gap.value)
        if gap.low is not None and gap.high is not None:
            estimate_text = wording.estimate(gap.value, gap.low, gap.high)
        above = (
            ""
            if comparison.is_above is None
            else " (above)"
            if comparison.is_above
            else " (not shown to be above)"
        )
        doubt = f"; {comparison.why}" if comparison.why else ""
        minus = f"reward at the end minus the best deaf schedule's on {level}"
        yield f"{comparison.arm}, {minus}: {estimate_text}{above}{doubt}"
    for why, arms in unknown.items():
        yield f"not compared with the best deaf schedule: {', '.join(arms)}; {why}"


def _diverged(counts: ArmCounts) -> str:
    names = ", ".join(counts.diverged_runs)
    return f", {counts.diverged} of them diverged: {names}" if names else ""


def _notes_on_link(result: LinkResult) -> Iterator[str]:
    """Yield the notes on a link that do not fit into its row."""
    if result.own:
        yield ", ".join(f"{arm} {_arm_text(result, arm)}" for arm in result.own)
    if result.link.crossed is not None and result.own:
        yield from _table_notes(result, result.link.crossed)
    if result.why:
        yield f"{result.why}{_detectable_note(result)}"
    if result.lost:
        yield _diverged_pairs(result)
    if result.unanswered:
        yield _unanswered_text(result)
    if len(result.looks) > 1:
        yield f"earlier looks had {', '.join(map(str, result.looks[:-1]))} pairs"
    if result.censored and result.why != NO_ONSET:
        runs = plural(result.censored, "run")
        is_onset = quantities.of_link(result.link).is_onset
        lacking = "an onset" if is_onset else "a lasting fall of H"
        yield f"{runs} without {lacking} counted as if it came at the end of the run"


def _table_notes(result: LinkResult, table: FactorialTable) -> Iterator[str]:
    """Yield the standard deviations of both factors, then the mean of each arm, row by row."""
    sizes = {name: estimate for name, estimate in result.own.items() if name in table.factors}
    sd_texts = (
        f"{name} {max(0.0, estimate.value) ** 0.5:.3f}"
        for name, estimate in sizes.items()
        if estimate
    )
    yield f"as standard deviations: {', '.join(sd_texts)}"
    means = {
        arm: sum(estimate.values()) / len(estimate) for arm, estimate in result.of_arms.items()
    }
    rows = (", ".join(f"{arm} {wording.number(means[arm])}" for arm in row) for row in table.arms)
    yield f"means over seeds, one row for each level of {table.rows}: {' | '.join(rows)}"


def _arm_text(result: LinkResult, arm: str) -> str:
    """Return the mean of an arm with its interval, or the one number that all its seeds share."""
    mean, numbers = result.own[arm], [*result.own_by_seed[arm].values()]
    if mean is not None:
        return link_words.interval(mean, result.link)
    if not numbers:
        return "-"
    shared_number = wording.number(numbers[0])
    return (
        shared_number
        if len(numbers) == 1
        else f"{shared_number} in each of {plural(len(numbers), 'seed')}"
    )


def _unanswered_text(result: LinkResult) -> str:
    """Return the runs for which the probe gave no number, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for name, why in result.unanswered.items():
        by_reason.setdefault(why, []).append(name)
    reason_texts = (f"{', '.join(names)}: {why}" for why, names in by_reason.items())
    return f"no number for {plural(len(result.unanswered), 'run')}: {'; '.join(reason_texts)}"


def _diverged_pairs(result: LinkResult) -> str:
    """Return how many pairs are missing since a run diverged, and their largest possible effect."""
    names = ", ".join(name for pair in result.lost.values() for name in pair.runs)
    missing = f"{plural(len(result.lost), 'pair')} missing because a run diverged ({names})"
    if result.if_lost_at_worst is None or result.p is None:
        return missing
    if result.at_worst is None:
        return f"{missing}; with them any difference is possible, since their range is not known"
    at_worst = link_words.interval(result.at_worst, result.link)
    return (
        f"{missing}; with their least favourable values the difference is {at_worst}, "
        f"{result.if_lost_at_worst}"
    )


def _detectable_note(result: LinkResult) -> str:
    if result.minimum_detectable is None or not is_open(result):
        return ""
    needed = f"; {result.seeds_needed} seeds would decide" if result.seeds_needed else ""
    least = wording.number(result.minimum_detectable)
    if result.link.crossed is not None:
        least = f"{result.minimum_detectable:.2g}"
    return f"; {plural(result.pairs, 'pair')} detect {least} in 80% of cases{needed}"


def seeds(numbers: Sequence[int]) -> str:
    """Return `seeds 1 to 10`, or the list of seeds if it is not a range; `seed 1` of one."""
    first, last = numbers[0], numbers[-1]
    if len(numbers) == 1:
        return f"seed {first}"
    is_range = len(numbers) > 2 and list(numbers) == list(range(first, last + 1))
    return f"seeds {f'{first} to {last}' if is_range else ', '.join(map(str, numbers))}"


def small_note(outcome: StudyOutcome) -> str:
    """Say which differences of a supported study are shown to be smaller than their margin."""
    deciding = [result for result in outcome.links if result.link.name in outcome.stated.deciding]
    small = [result for result in deciding if result.why == claims.SMALL]
    if outcome.verdict != SUPPORTED or not small:
        return ""
    if len(small) == len(deciding) == 1:
        return ", by less than its margin"
    possessive = "its" if len(small) == 1 else "their"
    return f", {len(small)} of {plural(len(deciding), 'link')} by less than {possessive} margin"
