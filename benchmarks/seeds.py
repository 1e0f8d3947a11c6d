"""Error rates and power of differences over seeds.

    python -m benchmarks.seeds [draws per cell]

Estimates: seeds differ by `spread`, each is known to 0.005 to 0.03 as well as seven blocks of time
tell. Groups that are unlike: the same, with other numbers of seeds or spreads in either. Seeds at a
bound: the reward of some stands still (sd 0.001), that of the others has sd 0.03 and rises; their
gains are told as gains are, and weighed as a and the ceiling are. The probe: policies differ in
their fall of H, seeds by 0.05, and states visited and probe both show it with sd 0.03; called
different as the smallest p of five, ten times as many draws. Seeds asked for: as many as
`seeds_needed` names for a difference of 0.05. Onsets: a run reaches one at 0.5 (sd 0.05) or, with a
given probability, never. Range of H: five runs a level on one bent curve R = 1 - 0.5 H^3, H falling
to 5% in one level and to 50% in the other, a twentieth as many studies.
Prints Markdown; benchmarks/seeds.md holds a dated result.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.random import Generator

from harness.law.compare import claims, quantities, random_effects, scales
from harness.law.compare.differences import ProbeDifference
from harness.law.compare.random_effects import Estimate, Sample
from harness.law.estimate import identifiability, regime
from harness.law.io.clean import Points
from harness.law.results import Interval
from harness.testing import synthetic

FIRST_SEED = 4_000_000
SEEDS = (3, 5)
SPREADS = (0.0, 0.02, 0.05)
UNLIKE = (
    ((10, 3), (0.012, 0.045)), ((5, 3), (0.012, 0.045)), ((10, 3), (0.01, 0.1)),
    ((3, 10), (0.01, 0.1)), ((3, 3), (0.0, 0.1)), ((5, 5), (0.0, 0.1)), ((10, 3), (0.02, 0.02)),
)  # fmt: skip
"""Seeds and spreads of either group; those of the first two rows are as real levels showed them."""
AT_A_BOUND = ((3, 1), (5, 1), (10, 1), (5, 2), (10, 2), (3, 2))
"""Seeds of a group, and how many of them have a reward that stands still."""
EVALUATIONS = 31
CENSORED = (0.3, 0.5, 0.7)
DIFFERENCE = 0.05
STEPS = 300


def estimates(draws: int) -> Iterator[str]:
    for seeds, spread in itertools.product(SEEDS, SPREADS):
        rng = np.random.default_rng(FIRST_SEED + seeds)
        hits = {quantity: [0, 0, 0] for quantity in ("ceiling", "gain")}
        for _ in range(draws):
            one, other = _drawn(rng, seeds, spread), _drawn(rng, seeds, spread)
            for quantity, (covered, wrong, right) in hits.items():
                hits[quantity] = [
                    covered + _holds(one, quantity, 0.0),
                    wrong + _differ(*quantities.samples(quantity, [one, other])),
                    right + _differ(*quantities.samples(quantity, [_moved(one), other])),
                ]
        yield f"| {seeds} | {spread} | {_shares(itertools.chain(*hits.values()), draws)} |"


def unlike(draws: int) -> Iterator[str]:
    for seeds, spreads in UNLIKE:
        rng, wrong = np.random.default_rng(FIRST_SEED), [0, 0]
        for _ in range(draws):
            drawn = [_drawn(rng, n, s) for n, s in zip(seeds, spreads, strict=True)]
            for place, quantity in enumerate(("ceiling", "gain")):
                wrong[place] += _differ(*quantities.samples(quantity, drawn))
        named = " | ".join(" and ".join(map(str, pair)) for pair in (seeds, spreads))
        yield f"| {named} | {_shares(wrong, draws)} |"


def at_a_bound(draws: int) -> Iterator[str]:
    for (seeds, quiet), gained in itertools.product(AT_A_BOUND, (0.02, 0.04)):
        rng, covered = np.random.default_rng(FIRST_SEED), [0, 0]
        truth = gained * (seeds - quiet) / seeds
        for _ in range(draws):
            gains = [regime.gain(_rising(rng, 0.0, 0.001)) for _ in range(quiet)]
            gains += [regime.gain(_rising(rng, gained, 0.03)) for _ in range(seeds - quiet)]
            estimates = [gain for gain in gains if gain is not None]
            for place, quantity in enumerate(("ceiling", "gain")):
                covered[place] += _holds(estimates, quantity, truth)
        yield f"| {quiet} of {seeds} | {gained} | {_shares(covered, draws)} |"


def of_probe(draws: int) -> Iterator[str]:
    for seeds, truth in itertools.product(SEEDS, (0.1, 0.15, 0.3)):
        rng, hits, contexts = np.random.default_rng(FIRST_SEED + seeds), 0, 0
        for _ in range(draws):
            falls = rng.normal(np.array([[truth], [0.0]]), 0.05, (2, seeds))
            visited, probe = (
                random_effects.difference(*map(random_effects.unweighted, rows))
                for rows in (falls + rng.normal(0, 0.03, (2, 2, seeds))).tolist()
            )
            if visited is not None and claims.p_differs(visited) < claims.LEVEL / 5:
                hits += 1
                contexts += not ProbeDifference(probe).shows(visited)
        yield f"| {seeds} | {truth} | {_shares([hits], draws)} | {_shares([contexts], hits)} |"


def _rising(rng: Generator, gained: float, noise: float) -> Points:
    """Evaluations of a run whose reward rises so far between the first tenth and the last."""
    u = np.clip((np.arange(EVALUATIONS) - 3) / (EVALUATIONS - 7), 0, 1)
    reward = 0.1 + gained * u + rng.normal(0, noise, EVALUATIONS)
    return Points(np.arange(1.0, EVALUATIONS + 1), np.ones(EVALUATIONS), reward)


def _holds(drawn: Sequence[Interval | None], quantity: str, truth: float) -> bool:
    mean = random_effects.mean(quantities.samples(quantity, [list(drawn)])[0])
    return mean is not None and mean.interval().low <= truth <= mean.interval().high


def _shares(hits: Iterable[int], draws: int) -> str:
    return " | ".join(f"{100 * count / draws:.1f}" for count in hits)


def asked_for(draws: int) -> Iterator[str]:
    for spreads in ((0.02, 0.02), (0.05, 0.05), (0.012, 0.045)):
        rng, right = np.random.default_rng(FIRST_SEED), 0
        seeds = claims.seeds_needed(spreads, DIFFERENCE, comparisons=1) or 0
        for _ in range(draws):
            one, other = (rng.normal(0, spread, seeds) for spread in spreads)
            values = (list(one + DIFFERENCE), list(other))
            right += _differ(*map(random_effects.unweighted, values))
        yield f"| {spreads[0]} and {spreads[1]} | {seeds} | {100 * right / draws:.1f} |"


def _drawn(rng: Generator, seeds: int, spread: float) -> list[Interval | None]:
    errors = rng.uniform(0.005, 0.03, seeds)
    values = rng.normal(0, spread, seeds) + rng.normal(0, errors)
    halves = random_effects.RUN_95 * errors * np.sqrt(rng.chisquare(6, seeds) / 6)
    return [Interval(v, v - half, v + half) for v, half in zip(values, halves, strict=True)]


def _moved(drawn: list[Interval | None]) -> list[Interval | None]:
    return [Interval(*(end + DIFFERENCE for end in (i.value, i.low, i.high))) for i in drawn if i]


def _differ(one: Sample, other: Sample) -> bool:
    return _found(random_effects.difference(one, other))


def _found(estimate: Estimate | None) -> bool:
    return estimate is not None and claims.p_differs(estimate) < claims.LEVEL


def onsets(draws: int) -> Iterator[str]:
    for seeds, never in itertools.product((*SEEDS, 8), CENSORED):
        rng, wrong = np.random.default_rng(FIRST_SEED + seeds), 0
        for _ in range(draws):
            reached = rng.normal(0.5, 0.05, (2, seeds))
            rows = np.where(rng.random((2, seeds)) < never, 1.0, reached)
            wrong += _differ(*(random_effects.unweighted(list(row)) for row in rows))
        yield f"| {seeds} | {never} | {100 * wrong / draws:.1f} |"


def ranges(studies: int) -> Iterator[str]:
    called = dict.fromkeys(("the a of the runs, Welch", "the same, weighed", "one range of H"), 0)
    for study in range(studies):
        levels = [[_bent(study, s, end) for s in range(5)] for end in (0.05, 0.5)]
        slopes = [[_slope(points) for points in level] for level in levels]
        within = scales.shared_range([points for level in levels for points in level])
        assert within is not None
        shared = [
            [scales.slope(scales.within_range(points, within)) for points in level]
            for level in levels
        ]
        values = [[a.value for a in level if a] for level in slopes]
        hits_by_way = (
            _differ(*map(random_effects.unweighted, values)),
            _differ(*(random_effects.sample([a for a in level if a]) for level in slopes)),
            _differ(*(random_effects.sample([a for a in level if a]) for level in shared)),
        )
        for name, hit in zip(called, hits_by_way, strict=True):
            called[name] += hit
    for name, hits in called.items():
        yield f"| {name} | {100 * hits / studies:.0f} |"


def _bent(study: int, seed: int, end: float) -> Points:
    log = synthetic.lawful(
        FIRST_SEED + 100 * study + seed + (50 if end > 0.1 else 0), STEPS, synthetic.LOW,
        synthetic.exponential(end), follows=lambda h: 1 - 0.5 * h**3,
    )  # fmt: skip
    return Points(log.steps, log.entropy, log.reward)


def _slope(points: Points) -> Interval | None:
    spread = identifiability.fit(points).spread
    return spread.a if spread is not None else None


def main(draws: int = 2000) -> None:
    three = "mean covered % | null called different % | 0.05 found %"
    print(f"| seeds a group | spread | a, ceiling: {three} | gain: {three} |")
    print("|---|---|---|---|---|---|---|---|", *estimates(draws), sep="\n")
    print("\n| seeds | spreads | null a, ceiling called different % | null gain % |")
    print("|---|---|---|---|", *unlike(draws), sep="\n")
    print("\n| at a bound | others gain | mean of weighed runs covered % | of gains % |")
    print("|---|---|---|---|", *at_a_bound(draws), sep="\n")
    print(
        "\n| seeds a group | true difference | called different % | of these not on the probe % |"
    )
    print("|---|---|---|---|", *of_probe(10 * draws), sep="\n")
    print("\n| spreads | seeds asked for | 0.05 found % |")
    print("|---|---|---|", *asked_for(draws), sep="\n")
    print("\n| seeds a group | never reached | null called different % |")
    print("|---|---|---|", *onsets(draws), sep="\n")
    print("\n| a by | called different % |")
    print("|---|---|", *ranges(max(1, draws // 20)), sep="\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
