"""Judge the links of a study over pairs of runs of the same seed.

A pair is two runs of the same seed, or a single run if the arm is not compared with another arm. If
the link asks for it, the difference net of the null controls is judged, and the plain difference
must then have the same sign. `looks` adjusts for earlier looks at the study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.law.compare import claims, crossed, link_tests, looks
from harness.law.compare.link_observations import LinkObservations
from harness.law.compare.link_tests import ROUNDING, LinkTestAtLook, VerdictPValues
from harness.law.compare.looks import Pairs
from harness.law.compare.random_effects import FEWEST_SEEDS, Estimate
from harness.law.compare.worst_case import LostPair
from harness.law.results import Interval
from harness.records.study_file import Link

SUPPORTED, CONTRADICTED, NO_EFFECT, UNDECIDED = VERDICTS = (
    "supported", "contradicted", "no effect", "undecided",
)  # fmt: skip
NO_PAIRS = (
    "too few seeds: {pairs} have a number for each run of the pair, and at least "
    f"{FEWEST_SEEDS} are needed"
)
NO_TABLE = (
    "too few seeds: {seeds} have a number for every arm of the table, and at least "
    f"{crossed.FEWEST_SEEDS} are needed"
)
NO_SPREAD = "every pair differs by {same:.3g}, so the spread is not known"
THE_SAME = "both have the same value in every pair: what differs between them has no effect here"
NO_ONSET = "no run collapses"
NOTHING_LEARNT = "nothing was learnt: {no} arm gains {margin:g} or more with an interval above 0"
NOTHING_LEFT = (
    "no error is left for this look: these pairs were judged before together with others, or there "
    "are more than most_seeds"
)
NEITHER = "not shown, and {size} is not ruled out"
AT_WORST = (
    "the verdict would be {bounded} instead of {word} with the least favourable values for the "
    "diverged runs"
)

Earlier = Mapping[str, Sequence[Pairs]]
"""Link -> the pairs of each earlier look."""


@dataclass(frozen=True)
class LinkResult:
    """A link with its verdict; numbers are None if there are too few pairs."""

    link: Link
    verdict: str
    why: str | None
    by_seed: Mapping[int, float]
    """Seed -> the judged difference."""
    plain_by_seed: Mapping[int, float] | None
    """Seed -> the difference before subtracting null controls; None if that is not asked for."""
    own: Mapping[str, Interval | None]
    """Arm -> its mean, without subtracting null controls; None if its spread is not known."""
    own_by_seed: Mapping[str, Mapping[int, float]]
    censored: int | None
    lost: Mapping[int, LostPair]
    """Pairs without a number because one of their runs diverged."""
    judged: Interval | None = None
    plain: Interval | None = None
    p: VerdictPValues | None = None
    """p of each verdict, adjusted for looks and other links."""
    minimum_detectable: float | None = None
    seeds_needed: int | None = None
    seen: Pairs = frozenset()
    """The pairs recorded for later looks; empty if the link was not tested."""
    looks: tuple[int, ...] = ()
    """The number of known pairs at each look so far, including this one."""
    spent: float | None = None
    """Error spent on each verdict up to this look, before any correction for other links."""
    if_lost_at_worst: str | None = None
    """The verdict with diverged pairs at their least favourable values; None if none diverged."""
    at_worst: Interval | None = None
    """The difference in that case; None if it is unbounded."""
    unanswered: Mapping[str, str] = field(default_factory=dict)
    """Run without a number from its probe -> the reason."""
    of_arms: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """For a crossed table: arm -> seed -> the number of its run, for seeds complete in all arms."""

    @property
    def pairs(self) -> int:
        return len(self.by_seed)


def judge_links(
    seen: Sequence[LinkObservations],
    deciding: Sequence[str],
    earlier: Earlier | None = None,
    most: int | None = None,
) -> tuple[LinkResult, ...]:
    """Judge the links, in the order given.

    The links that decide the study are one family of tests, the others another. `most`: the number
    of pairs stated beforehand for the last look. Conditions of a link (`given`) are not checked
    here but in `study_verdict.hold_back`.
    """
    judged: dict[str, LinkResult] = {}
    for decide in (True, False):
        family = [one for one in seen if (one.link.name in deciding) is decide]
        judged |= _family(family, decide, earlier or {}, most)
    return tuple(judged[one.link.name] for one in seen)


def _family(
    family: Sequence[LinkObservations], decide: bool, earlier: Earlier, most: int | None
) -> dict[str, LinkResult]:
    tests = [link_tests.run_link_test(s.link, s.differences, s.net, s.lost) for s in family]
    found = [(s, t) for s, t in zip(family, tests, strict=True) if t is not None]
    before = {s.link.name: earlier.get(s.link.name, ()) for s in family}
    asked = [
        LinkTestAtLook(
            t, *(looks.p_factor(before[s.link.name], s.pairs, m, most) for m in (1, len(found)))
        )
        for s, t in found
    ]
    of_family = _Family(decide, len(found), most)
    evidence = link_tests.adjust_p(asked, decide)
    at_worst = link_tests.adjust_p(asked, decide, at_worst=True)
    judged = {s.link.name: _open(s) for s in family}
    for (s, _), a, p, worst in zip(found, asked, evidence, at_worst, strict=True):
        sizes = looks.pairs_per_look(before[s.link.name], s.pairs)
        judged[s.link.name] = _judge_link(s, a, p, verdict_of(worst), sizes, of_family)
    return judged


@dataclass(frozen=True)
class _Family:
    """A family of links that are adjusted together."""

    decide: bool
    comparisons: int
    most: int | None


def _judge_link(
    seen: LinkObservations,
    asked: LinkTestAtLook,
    p: VerdictPValues,
    bounded: str,
    sizes: tuple[int, ...],
    of: _Family,
) -> LinkResult:
    """Judge one tested link. `bounded`: the verdict with diverged pairs at their least favourable
    values; `sizes`: the number of known pairs at each look.
    """
    estimate, link = asked.tested.estimate, seen.link
    word = verdict_of(p)
    at_worst = asked.tested.against if word == SUPPORTED else asked.tested.towards
    said, why = word, _why(word, link, p, asked)
    if word in (CONTRADICTED, NO_EFFECT) and _little_gained(seen):
        no = "neither" if link.crossed is None else "no"
        said, why = UNDECIDED, NOTHING_LEARNT.format(no=no, margin=link.least_gain)
    elif seen.lost and word != bounded:
        said, why = UNDECIDED, AT_WORST.format(bounded=bounded, word=word)
    open_ = word == UNDECIDED and asked.alone is not None
    one_sided = claims.LEVEL / 2 / (1 if of.decide else of.comparisons)
    return LinkResult(
        link=link,
        verdict=said,
        why=why,
        judged=estimate.interval(),
        plain=asked.tested.plain.interval() if seen.net is not None else None,
        p=p,
        by_seed=seen.judged,
        plain_by_seed=None if seen.net is None else seen.differences,
        minimum_detectable=estimate.error
        * looks.detectable_difference(
            len(seen.judged), looks.one_sided_level(sizes, one_sided, of.most)
        ),
        seeds_needed=_seeds_needed(link, estimate, sizes, of) if open_ else None,
        censored=seen.censored,
        own=_means(seen.own),
        own_by_seed=seen.own,
        seen=seen.pairs,
        looks=sizes,
        spent=claims.LEVEL / 2 * looks.error_spent(sizes, of.most),
        lost=seen.lost,
        if_lost_at_worst=bounded if seen.lost else None,
        at_worst=at_worst.interval() if seen.lost and at_worst is not None else None,
        unanswered=seen.unanswered,
        of_arms=seen.of_arms,
    )


def verdict_of(p: VerdictPValues) -> str:
    for word, of in ((SUPPORTED, p.supported), (CONTRADICTED, p.contradicted)):
        if of < claims.LEVEL:
            return word
    return NO_EFFECT if p.no_effect < claims.LEVEL else UNDECIDED


def _little_gained(seen: LinkObservations) -> bool:
    """Return whether no arm gained at least `least_gain` with an interval above 0.

    Then arms may be equal because none of them learnt.
    """
    means = [link_tests.paired_estimate(gains) for gains in seen.gains.values()]
    learnt = (m and m.value >= seen.link.least_gain and m.interval().low > 0 for m in means)
    return bool(means) and not any(learnt)


def is_open(judged: LinkResult) -> bool:
    """Return whether more pairs could decide the link."""
    size = f"{judged.link.direction} by {judged.link.margin:g}"
    return judged.verdict == UNDECIDED and judged.why == NEITHER.format(size=size)


def _means(own: Mapping[str, Mapping[int, float]]) -> dict[str, Interval | None]:
    means = {
        arm: link_tests.paired_estimate(list(numbers.values())) for arm, numbers in own.items()
    }
    return {arm: mean.interval() if mean else None for arm, mean in means.items()}


def _why(word: str, link: Link, p: VerdictPValues, asked: LinkTestAtLook) -> str | None:
    size = f"{link.direction} by {link.margin:g}"
    if word == SUPPORTED:
        return claims.SMALL if p.no_effect < claims.LEVEL else None
    if word == CONTRADICTED:
        return f"the opposite holds, p {claims.p_text(p.contradicted)}"
    if word == NO_EFFECT:
        return f"{size} is ruled out, p {claims.p_text(p.no_effect)}"
    return NOTHING_LEFT if asked.alone is None else NEITHER.format(size=size)


def _seeds_needed(
    link: Link, estimate: Estimate, sizes: tuple[int, ...], of: _Family
) -> int | None:
    """Return the pairs needed to detect a difference of the margin.

    If there are already that many, the difference lies between 0 and the margin. Then return the
    pairs needed to distinguish it from one of the two.
    """
    pairs = int(estimate.df) + 1
    spread = estimate.error * pairs**0.5
    needed = looks.pairs_needed(spread, link.margin, of.comparisons, sizes, of.most)
    if needed is not None and needed <= pairs:
        needed = looks.pairs_needed(spread, link.margin / 2, of.comparisons, sizes, of.most)
        return None if needed is None else max(needed, pairs + 1)
    return needed


def _open(seen: LinkObservations) -> LinkResult:
    """Return the result for a link with too few pairs, or without spread."""
    pairs = len(seen.judged)
    if seen.censored and seen.censored == seen.runs:
        why = NO_ONSET
    elif seen.link.crossed is not None and pairs < crossed.FEWEST_SEEDS:
        whole = min((len(of) for of in seen.of_arms.values()), default=0)
        why = NO_TABLE.format(seeds=whole)
    elif pairs < FEWEST_SEEDS:
        why = NO_PAIRS.format(pairs=pairs)
    else:
        alike = link_tests.paired_estimate(list(seen.differences.values())) is None
        why = _why_no_spread(seen.differences if alike else seen.judged)
    return LinkResult(
        link=seen.link,
        verdict=UNDECIDED,
        why=why,
        by_seed=seen.judged,
        plain_by_seed=None if seen.net is None else seen.differences,
        censored=seen.censored,
        own=_means(seen.own),
        own_by_seed=seen.own,
        lost=seen.lost,
        unanswered=seen.unanswered,
        of_arms=seen.of_arms,
    )


def _why_no_spread(differences: Mapping[int, float]) -> str:
    """Return the reason for pairs without spread. Values within rounding of 0 count as 0."""
    same = max(differences.values(), key=abs)
    return THE_SAME if abs(same) <= ROUNDING else NO_SPREAD.format(same=same)
