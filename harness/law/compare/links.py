"""Judge the links of a study over pairs of runs of the same seed.

A pair is two runs of the same seed, or a single run if the arm is not compared with another arm. If
the link asks for it, the difference net of the null controls is judged, and the plain difference
must then have the same sign. `looks` adjusts for earlier looks at the study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.law.compare import claims, crossed, link_tests, looks
from harness.law.compare.link_observations import LinkObservations
from harness.law.compare.link_result import (
    CONTRADICTED,
    NO_EFFECT,
    SUPPORTED,
    UNDECIDED,
    LinkResult,
)
from harness.law.compare.link_tests import ROUNDING, LinkTestAtLook, VerdictPValues
from harness.law.compare.looks import Pairs
from harness.law.compare.random_effects import FEWEST_SEEDS, Estimate
from harness.law.results import Interval
from harness.records.study_file import Link

NO_PAIRS = (
    "too few seeds with a number for each run of the pair: {pairs}, and at least "
    f"{FEWEST_SEEDS} are needed"
)
NO_TABLE = (
    "too few seeds with a number for every arm of the table: {seeds}, and at least "
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


def judge_links(
    observations: Sequence[LinkObservations],
    deciding: Sequence[str],
    earlier: Earlier | None = None,
    most_pairs: int | None = None,
) -> tuple[LinkResult, ...]:
    """Judge the links, in the order given.

    The links that decide the study are one family of tests, the others another. `most_pairs`: the
    number of pairs stated beforehand for the last look. Conditions of a link (`given`) are not
    checked here but in `study_verdict.hold_back`.
    """
    judged: dict[str, LinkResult] = {}
    for is_deciding in (True, False):
        family = [
            observed for observed in observations if (observed.link.name in deciding) is is_deciding
        ]
        judged |= _judge_family(family, is_deciding, earlier or {}, most_pairs)
    return tuple(judged[observed.link.name] for observed in observations)


def _judge_family(
    observations: Sequence[LinkObservations],
    is_deciding: bool,
    earlier: Earlier,
    most_pairs: int | None,
) -> dict[str, LinkResult]:
    results = [link_tests.run_link_test(o.link, o.differences, o.net, o.lost) for o in observations]
    tested = [
        (observed, result)
        for observed, result in zip(observations, results, strict=True)
        if result is not None
    ]
    earlier_looks = {o.link.name: earlier.get(o.link.name, ()) for o in observations}
    tests = []
    for observed, result in tested:
        before = earlier_looks[observed.link.name]
        alone, together = (
            looks.p_factor(before, observed.pairs, count, most_pairs) for count in (1, len(tested))
        )
        tests.append(LinkTestAtLook(result, alone, together))
    family = _Family(is_deciding, len(tested), most_pairs)
    evidence = link_tests.adjust_p(tests, is_deciding)
    at_worst = link_tests.adjust_p(tests, is_deciding, at_worst=True)
    judged = {observed.link.name: _untested_result(observed) for observed in observations}
    for (observed, _), test, p, worst in zip(tested, tests, evidence, at_worst, strict=True):
        sizes = looks.pairs_per_look(earlier_looks[observed.link.name], observed.pairs)
        judged[observed.link.name] = _judge_link(
            observed, test, p, verdict_of(worst), sizes, family
        )
    return judged


@dataclass(frozen=True)
class _Family:
    """A family of links that are adjusted together."""

    decide: bool
    comparisons: int
    most: int | None


def _judge_link(
    observed: LinkObservations,
    test: LinkTestAtLook,
    p: VerdictPValues,
    worst_verdict: str,
    sizes: tuple[int, ...],
    family: _Family,
) -> LinkResult:
    """Judge one tested link.

    `worst_verdict`: the verdict with diverged pairs at their least favourable values; `sizes`: the
    number of known pairs at each look.
    """
    estimate, link = test.tested.estimate, observed.link
    word = verdict_of(p)
    at_worst = test.tested.against if word == SUPPORTED else test.tested.towards
    verdict, why = word, _why(word, link, p, test)
    if word in (CONTRADICTED, NO_EFFECT) and _little_gained(observed):
        no = "neither" if link.crossed is None else "no"
        verdict, why = UNDECIDED, NOTHING_LEARNT.format(no=no, margin=link.least_gain)
    elif observed.lost and word != worst_verdict:
        verdict, why = UNDECIDED, AT_WORST.format(bounded=worst_verdict, word=word)
    is_undecided = word == UNDECIDED and test.alone is not None
    return LinkResult(
        link=link,
        verdict=verdict,
        why=why,
        judged=estimate.interval(),
        plain=test.tested.plain.interval() if observed.net is not None else None,
        p=p,
        by_seed=observed.judged,
        plain_by_seed=None if observed.net is None else observed.differences,
        minimum_detectable=_minimum_detectable(observed, test, sizes, family),
        seeds_needed=_seeds_needed(link, estimate, sizes, family) if is_undecided else None,
        censored=observed.censored,
        own=_means(observed.own),
        own_by_seed=observed.own,
        seen=observed.pairs,
        looks=sizes,
        spent=claims.LEVEL / 2 * looks.error_spent(sizes, family.most),
        lost=observed.lost,
        if_lost_at_worst=worst_verdict if observed.lost else None,
        at_worst=at_worst.interval() if observed.lost and at_worst is not None else None,
        unanswered=observed.unanswered,
        of_arms=observed.of_arms,
    )


def _minimum_detectable(
    observed: LinkObservations, test: LinkTestAtLook, sizes: tuple[int, ...], family: _Family
) -> float | None:
    """Return the difference that is detected with probability POWER at this look; None if no error
    is left for it.
    """
    factor = test.alone if family.decide else test.together
    if factor is None:
        return None
    one_sided = claims.LEVEL / 2 / (1 if family.decide else family.comparisons)
    pairs = len(observed.judged)
    # a look that lacks known pairs is tested at a stricter level
    has_all_pairs = len(observed.pairs) == sizes[-1]
    level = (
        looks.one_sided_level(sizes, one_sided, family.most)
        if has_all_pairs
        else one_sided / factor
    )
    return test.tested.estimate.error * looks.detectable_difference(pairs, level)


def verdict_of(p: VerdictPValues) -> str:
    for word, p_value in ((SUPPORTED, p.supported), (CONTRADICTED, p.contradicted)):
        if p_value < claims.LEVEL:
            return word
    return NO_EFFECT if p.no_effect < claims.LEVEL else UNDECIDED


def _little_gained(observed: LinkObservations) -> bool:
    """Return whether no arm gained at least `least_gain` with an interval above 0.

    Then arms may be equal because none of them learnt.
    """
    means = [link_tests.paired_estimate(gains) for gains in observed.gains.values()]
    learnt = (
        mean and mean.value >= observed.link.least_gain and mean.interval().low > 0
        for mean in means
    )
    return bool(means) and not any(learnt)


def is_open(result: LinkResult) -> bool:
    """Return whether more pairs could decide the link."""
    size = f"{result.link.direction} by {result.link.margin:g}"
    return result.verdict == UNDECIDED and result.why == NEITHER.format(size=size)


def _means(own: Mapping[str, Mapping[int, float]]) -> dict[str, Interval | None]:
    means = {
        arm: link_tests.paired_estimate(list(numbers.values())) for arm, numbers in own.items()
    }
    return {arm: mean.interval() if mean else None for arm, mean in means.items()}


def _why(word: str, link: Link, p: VerdictPValues, test: LinkTestAtLook) -> str | None:
    size = f"{link.direction} by {link.margin:g}"
    if word == SUPPORTED:
        return claims.SMALL if p.no_effect < claims.LEVEL else None
    if word == CONTRADICTED:
        return f"the opposite holds, p {claims.p_text(p.contradicted)}"
    if word == NO_EFFECT:
        return f"{size} is ruled out, p {claims.p_text(p.no_effect)}"
    return NOTHING_LEFT if test.alone is None else NEITHER.format(size=size)


def _seeds_needed(
    link: Link, estimate: Estimate, sizes: tuple[int, ...], family: _Family
) -> int | None:
    """Return the pairs needed to detect a difference of the margin.

    If there are already that many, the difference lies between 0 and the margin. Then return the
    pairs needed to distinguish it from one of the two.
    """
    pairs = int(estimate.df) + 1
    spread = estimate.error * pairs**0.5
    needed = looks.pairs_needed(spread, link.margin, family.comparisons, sizes, family.most)
    if needed is not None and needed <= pairs:
        needed = looks.pairs_needed(spread, link.margin / 2, family.comparisons, sizes, family.most)
        return None if needed is None else max(needed, pairs + 1)
    return needed


def _untested_result(observed: LinkObservations) -> LinkResult:
    """Return the result for a link with too few pairs, or without spread."""
    pairs = len(observed.judged)
    if observed.censored and observed.censored == observed.runs:
        why = NO_ONSET
    elif observed.link.crossed is not None and pairs < crossed.FEWEST_SEEDS:
        complete = min((len(by_seed) for by_seed in observed.of_arms.values()), default=0)
        why = NO_TABLE.format(seeds=complete)
    elif pairs < FEWEST_SEEDS:
        why = NO_PAIRS.format(pairs=pairs)
    else:
        alike = link_tests.paired_estimate(list(observed.differences.values())) is None
        why = _why_no_spread(observed.differences if alike else observed.judged)
    return LinkResult(
        link=observed.link,
        verdict=UNDECIDED,
        why=why,
        by_seed=observed.judged,
        plain_by_seed=None if observed.net is None else observed.differences,
        censored=observed.censored,
        own=_means(observed.own),
        own_by_seed=observed.own,
        lost=observed.lost,
        unanswered=observed.unanswered,
        of_arms=observed.of_arms,
    )


def _why_no_spread(differences: Mapping[int, float]) -> str:
    """Return the reason for pairs without spread. Values within rounding of 0 count as 0."""
    same = max(differences.values(), key=abs)
    return THE_SAME if abs(same) <= ROUNDING else NO_SPREAD.format(same=same)
