"""The lines below a study's table: its method, doubts about it, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.law.compare import quantities
from harness.law.compare.links import NO_ONSET, LinkResult, is_open
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
        yield from _of_links(outcome)
    else:
        yield NO_PAIRS
    yield from _left_out(outcome)
    if any(counts.failed < counts.planned for counts in outcome.counts.values()):
        yield from _of_finished_runs(outcome)
    for sentence in outcome.changed:
        yield f"changed since the first runs were planned: {sentence}"
    if has_finished_runs(outcome):
        yield f"judged on {seeds(outcome.stated.seeds)}"


def has_finished_runs(outcome: StudyOutcome) -> bool:
    """Return whether there are finished runs to compare: in two arms, or in the only one."""
    finished = [counts for counts in outcome.counts.values() if counts.failed < counts.planned]
    return len(finished) >= min(2, len(outcome.counts))


def _of_links(outcome: StudyOutcome) -> Iterator[str]:
    yield METHOD
    if any(judged.link.crossed for judged in (*outcome.checks, *outcome.links)):
        yield CROSSED
    for judged in (*outcome.checks, *outcome.links):
        if remarks := list(_of_link(judged)):
            yield f"{judged.link.name}: {'; '.join(remarks)}"


def _left_out(outcome: StudyOutcome) -> Iterator[str]:
    """Yield the runs of each arm that are left out, then the number of runs not started."""
    for arm, counts in outcome.counts.items():
        left_out = [
            f"{count} of {plural(counts.planned, 'run')} {what}"
            for count, what in (
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
        yield f"runs not started: {', '.join(f'{arm} {of}' for arm, of in waiting.items())}"


def _of_finished_runs(outcome: StudyOutcome) -> Iterator[str]:
    """Yield the best arms, the rival explanation and the comparison with deaf schedules."""
    for name, chosen in outcome.chosen.items():
        of_arms = ", ".join(outcome.stated.best[name])
        if chosen:
            yield f"{name} is {chosen}, the best of {of_arms}"
        else:
            yield f"{name} is not known, since no run of {of_arms} has a value"
    starved, of = outcome.starved
    if outcome.stated.rival:
        yield f"rival explanation, starvation: {starved} of {plural(of, 'run')} starved"
    yield from _beside_deaf_schedule(outcome)


def _beside_deaf_schedule(outcome: StudyOutcome) -> Iterator[str]:
    """Yield how far each arm ends above the best fixed schedule, which hears nothing."""
    unknown: dict[str, list[str]] = {}
    for one in outcome.above_deaf:
        level = "its own level" if one.level == OWN else one.level
        gap = one.difference
        if gap is None:
            unknown.setdefault(one.why or "", []).append(f"{one.arm} on {level}")
            continue
        ends = wording.number(gap.value)
        if gap.low is not None and gap.high is not None:
            ends = wording.estimate(gap.value, gap.low, gap.high)
        above = (
            ""
            if one.is_above is None
            else " (above)"
            if one.is_above
            else " (not shown to be above)"
        )
        doubt = f"; {one.why}" if one.why else ""
        minus = f"reward at the end minus the best deaf schedule's on {level}"
        yield f"{one.arm}, {minus}: {ends}{above}{doubt}"
    for why, arms in unknown.items():
        yield f"not compared with the best deaf schedule: {', '.join(arms)}; {why}"


def _diverged(counts: ArmCounts) -> str:
    names = ", ".join(counts.diverged_runs)
    return f", {counts.diverged} of them diverged: {names}" if names else ""


def _of_link(judged: LinkResult) -> Iterator[str]:
    """Yield the notes on a link that do not fit into its row."""
    if judged.own:
        yield ", ".join(f"{arm} {_of_arm(judged, arm)}" for arm in judged.own)
    if judged.link.crossed is not None and judged.own:
        yield from _of_table(judged, judged.link.crossed)
    if judged.why:
        yield f"{judged.why}{_open(judged)}"
    if judged.lost:
        yield _diverged_pairs(judged)
    if judged.unanswered:
        yield _unanswered(judged)
    if len(judged.looks) > 1:
        yield f"earlier looks had {', '.join(map(str, judged.looks[:-1]))} pairs"
    if judged.censored and judged.why != NO_ONSET:
        runs = plural(judged.censored, "run")
        is_onset = quantities.of_link(judged.link).is_onset
        lacking = "an onset" if is_onset else "a lasting fall of H"
        yield f"{runs} without {lacking} counted as if it came at the end of the run"


def _of_table(judged: LinkResult, table: FactorialTable) -> Iterator[str]:
    """Yield the standard deviations of both factors, then the mean of each arm, row by row."""
    sizes = {name: of for name, of in judged.own.items() if name in table.factors}
    told = (f"{name} {max(0.0, of.value) ** 0.5:.3f}" for name, of in sizes.items() if of)
    yield f"as standard deviations: {', '.join(told)}"
    means = {arm: sum(of.values()) / len(of) for arm, of in judged.of_arms.items()}
    rows = (", ".join(f"{arm} {wording.number(means[arm])}" for arm in row) for row in table.arms)
    yield f"means over seeds, one row for each level of {table.rows}: {' | '.join(rows)}"


def _of_arm(judged: LinkResult, arm: str) -> str:
    """Return the mean of an arm with its interval, or the one number that all its seeds share."""
    mean, numbers = judged.own[arm], [*judged.own_by_seed[arm].values()]
    if mean is not None:
        return link_words.interval(mean, judged.link)
    if not numbers:
        return "-"
    one = wording.number(numbers[0])
    return one if len(numbers) == 1 else f"{one} in each of {plural(len(numbers), 'seed')}"


def _unanswered(judged: LinkResult) -> str:
    """Return the runs for which the probe gave no number, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for name, why in judged.unanswered.items():
        by_reason.setdefault(why, []).append(name)
    told = (f"{', '.join(names)}: {why}" for why, names in by_reason.items())
    return f"no number for {plural(len(judged.unanswered), 'run')}: {'; '.join(told)}"


def _diverged_pairs(judged: LinkResult) -> str:
    """Return how many pairs are missing since a run diverged, and their largest possible effect."""
    names = ", ".join(name for one in judged.lost.values() for name in one.runs)
    missing = f"{plural(len(judged.lost), 'pair')} missing because a run diverged ({names})"
    if judged.if_lost_at_worst is None or judged.p is None:
        return missing
    if judged.at_worst is None:
        return f"{missing}; with them any difference is possible, since their range is not known"
    at_worst = link_words.interval(judged.at_worst, judged.link)
    return (
        f"{missing}; with their least favourable values the difference is {at_worst}, "
        f"{judged.if_lost_at_worst}"
    )


def _open(judged: LinkResult) -> str:
    if judged.minimum_detectable is None or not is_open(judged):
        return ""
    needed = f"; {judged.seeds_needed} seeds would decide" if judged.seeds_needed else ""
    least = wording.number(judged.minimum_detectable)
    if judged.link.crossed is not None:
        least = f"{judged.minimum_detectable:.2g}"
    return f"; {plural(judged.pairs, 'pair')} detect {least} in 80% of cases{needed}"


def seeds(judged: Sequence[int]) -> str:
    """Return `seeds 1 to 10`, or the list of seeds if it is not a range."""
    first, last = judged[0], judged[-1]
    whole = len(judged) > 2 and list(judged) == list(range(first, last + 1))
    return f"seeds {f'{first} to {last}' if whole else ', '.join(map(str, judged))}"
