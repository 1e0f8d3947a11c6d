"""A link of a study judged over pairs of runs of one seed: supported, contradicted or undecided.

A pair is two runs of the same seed, or where nothing is held against the arm, its run alone. What
is judged is net of the null controls where the link asks for that; the plain difference must then
point the same way. Tests that decide together are adjusted by Holm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from harness.law.compare import claims
from harness.law.compare.random_effects import FEWEST_SEEDS, Estimate
from harness.law.results import Interval
from harness.records.study_file import Link

SUPPORTED, CONTRADICTED, UNDECIDED = VERDICTS = ("supported", "contradicted", "undecided")
SIGNS: Mapping[str, int] = {"more": 1, "less": -1, "earlier": -1}
NO_PAIRS = "a seed is the replicate, and only {pairs} of them gave both runs a number"
NO_SPREAD = "every pair differs by {same:.3g}, so that the spread is not known"
THE_SAME = "both did the same in every pair: what tells them apart changes nothing here"
ROUNDING = 1e-12
NO_ONSET = "no run collapses"


@dataclass(frozen=True)
class Observed:
    """The numbers a link is judged by: seed -> the arm's minus the other's."""

    link: Link
    differences: Mapping[int, float]
    net: Mapping[int, float] | None = None
    """The same net of the null controls; None where that is not asked."""
    censored: int | None = None
    """Runs without an onset, of both arms; None but of an onset."""
    runs: int = 0
    """Runs with a number, of both arms."""
    own: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """The numbers subtracted: those of each of the two arms over the same seeds."""


@dataclass(frozen=True)
class Judged:
    """A link with its verdict; numbers are None where there are too few pairs."""

    link: Link
    verdict: str
    why: str | None
    judged: Interval | None
    plain: Interval | None
    """Before the null controls were taken off; None where that is not asked."""
    p_holm: float | None
    """p of what the link states, plain and net; 1 where either points away from it."""
    pairs: int
    by_seed: Mapping[int, float]
    minimum_detectable: float | None
    seeds_needed: int | None
    censored: int | None
    own: Mapping[str, Interval | None]
    """Mean of each of the two arms, plain; None where its spread is not known."""

    @property
    def little_gained(self) -> bool:
        """Neither arm is shown to gain the margin: alike they may be for want of learning."""
        gained = self.link.quantity == "gain" and self.own
        return bool(gained) and all(
            i is None or i.low <= self.link.margin for i in self.own.values()
        )


@dataclass(frozen=True)
class _Test:
    """The two questions to the pairs; p are of this link alone."""

    seen: Observed
    estimate: Estimate | None
    plain: Estimate | None
    p_supported: float = 1.0
    p_contradicted: float = 1.0


def judge(seen: Sequence[Observed], deciding: Sequence[str]) -> tuple[Judged, ...]:
    """In the order given; those that decide the study are one family of tests, the others another.

    What a link is `given` must be judged elsewhere: `hold_back`.
    """
    tests = [_test(one) for one in seen]
    families = [
        [t for t in tests if (t.seen.link.name in deciding) is yes] for yes in (True, False)
    ]
    judged = {j.link.name: j for family in families for j in _family(family)}
    return tuple(judged[one.link.name] for one in seen)


def hold_back(links: Sequence[Judged], checks: Sequence[Judged]) -> tuple[Judged, ...]:
    """A link whose check does not hold says nothing, whatever its own numbers are."""
    words = {check.link.name: check.verdict for check in checks}
    return tuple(_held_back(link, words) for link in links)


def hold_back_checks(checks: Sequence[Judged]) -> tuple[Judged, ...]:
    """The same for checks, each of which may hang on one before it."""
    held: tuple[Judged, ...] = ()
    for check in checks:
        held += hold_back([check], held)
    return held


def verdict(links: Sequence[Judged], deciding: Sequence[str]) -> str:
    """The verdict of the study: all deciding links must hold, and one that fails is enough."""
    words = {link.verdict for link in links if link.link.name in deciding}
    if CONTRADICTED in words:
        return CONTRADICTED
    return SUPPORTED if words == {SUPPORTED} else UNDECIDED


def seeds_needed(links: Sequence[Judged], deciding: Sequence[str]) -> int | None:
    """Seeds that would decide every link that is open; None where that is not known of one."""
    still = [j for j in links if j.link.name in deciding and j.verdict == UNDECIDED]
    needed = [link.seeds_needed for link in still]
    counts = [count for count in needed if count is not None]
    if not still or verdict(links, deciding) != UNDECIDED or len(counts) < len(needed):
        return None
    return max(counts)


def paired(differences: Sequence[float]) -> Estimate | None:
    """Their mean with its standard error; None below two, or where all are the same."""
    values = np.array(differences, dtype=float)
    if len(values) < FEWEST_SEEDS:
        return None
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    alike = error <= ROUNDING * max(1.0, float(np.abs(values).max()))
    return None if alike else Estimate(float(values.mean()), error, len(values) - 1)


def _test(seen: Observed) -> _Test:
    plain = paired(list(seen.differences.values()))
    net = paired(list(seen.net.values())) if seen.net is not None else plain
    if net is None or plain is None:
        return _Test(seen, net, plain)
    sign, margin = SIGNS[seen.link.direction], seen.link.margin
    return _Test(
        seen,
        net,
        plain,
        max(_p_beyond(net, sign), _p_beyond(plain, sign)),
        claims.p_short(net, sign, margin),
    )


def _p_beyond(estimate: Estimate, sign: int) -> float:
    """Two-sided, of no difference; set to 1 where it points away from what the link states."""
    return claims.p_differs(estimate) if sign * estimate.value > 0 else 1.0


def _family(tests: Sequence[_Test]) -> list[Judged]:
    tested = [t for t in tests if t.estimate is not None and t.plain is not None]
    supported = claims.holm([t.p_supported for t in tested])
    contradicted = claims.holm([t.p_contradicted for t in tested])
    by_name = {
        t.seen.link.name: _judged(t, p, q, len(tested))
        for t, p, q in zip(tested, supported, contradicted, strict=True)
    }
    return [by_name.get(t.seen.link.name) or _open(t) for t in tests]


def _judged(test: _Test, p: float, q: float, comparisons: int) -> Judged:
    seen, estimate = test.seen, test.estimate
    assert estimate is not None
    by_seed = seen.differences if seen.net is None else seen.net
    word = SUPPORTED if p < claims.LEVEL else CONTRADICTED if q < claims.LEVEL else UNDECIDED
    needed = _seeds_needed(seen.link, estimate, len(by_seed), comparisons)
    return Judged(
        link=seen.link,
        verdict=word,
        why=_why(word, seen.link, q),
        judged=estimate.interval(),
        plain=test.plain.interval() if seen.net is not None and test.plain else None,
        p_holm=p,
        pairs=len(by_seed),
        by_seed=by_seed,
        minimum_detectable=claims.minimum_detectable(estimate, comparisons),
        seeds_needed=needed if word == UNDECIDED else None,
        censored=seen.censored,
        own=_own(seen),
    )


def _own(seen: Observed) -> dict[str, Interval | None]:
    means = {arm: paired(numbers) for arm, numbers in seen.own.items()}
    return {arm: mean.interval() if mean else None for arm, mean in means.items()}


def _why(word: str, link: Link, q: float) -> str | None:
    if word == SUPPORTED:
        return "smaller than the margin" if q < claims.LEVEL else None
    if word == CONTRADICTED:
        return f"{link.direction} by {link.margin:g} is ruled out, p {claims.p_text(q)} by Holm"
    return f"neither shown, nor {link.direction} by {link.margin:g} ruled out"


def _seeds_needed(link: Link, estimate: Estimate, pairs: int, comparisons: int) -> int | None:
    """To find a difference of the margin; where so many are there already, and the difference
    lies between none and the margin, to tell it from one of the two.
    """
    spread = estimate.error * pairs**0.5
    needed = claims.pairs_needed(spread, link.margin, comparisons)
    if needed is not None and needed <= pairs:
        needed = claims.pairs_needed(spread, link.margin / 2, comparisons)
        return None if needed is None else max(needed, pairs + 1)
    return needed


def _open(test: _Test) -> Judged:
    seen = test.seen
    by_seed = seen.differences if seen.net is None else seen.net
    pairs = len(by_seed)
    if seen.censored and seen.censored == seen.runs:
        why = NO_ONSET
    elif pairs < FEWEST_SEEDS:
        why = NO_PAIRS.format(pairs=pairs)
    else:
        why = _alike(seen.differences if test.plain is None else by_seed)
    return Judged(
        seen.link, UNDECIDED, why, None, None, None, pairs, by_seed, None, None, seen.censored,
        _own(seen),
    )  # fmt: skip


def _alike(differences: Mapping[int, float]) -> str:
    """The reason where pairs have no spread: sums in another order differ in the last digit."""
    same = max(differences.values(), key=abs)
    return THE_SAME if abs(same) <= ROUNDING else NO_SPREAD.format(same=same)


def _held_back(link: Judged, words: Mapping[str, str]) -> Judged:
    check = link.link.given
    if check is None or words[check] == SUPPORTED:
        return link
    why = f"its check, {check}, is {words[check]}"
    return replace(link, verdict=UNDECIDED, why=why, seeds_needed=None)
