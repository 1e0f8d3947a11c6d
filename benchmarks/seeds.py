"""How often differences over seeds are wrong, and how often they are found.

    python -m benchmarks.seeds [draws per cell]

Estimates: seeds differ by `spread`, each is known to 0.005 to 0.03 as well as seven blocks of time
tell. Groups that are unlike: the same, with other numbers of seeds or spreads in either. Seeds
asked for: as many as `seeds_needed` names for a difference of 0.05. Onsets: a run reaches one at
0.5 (sd 0.05) or, with a given probability, never. Range of H: five runs a level on one bent curve
R = 1 - 0.5 H^3, H falling to 5% in one level and to 50% in the other, a twentieth as many studies.
Prints Markdown; benchmarks/seeds.md holds a dated result.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from harness.law import claims, gates, random_effects, shared_range
from harness.law.clean import Points
from harness.law.random_effects import Estimate, Sample
from harness.law.results import Interval
from tests.law import synthetic

FIRST_SEED = 4_000_000
SEEDS = (3, 5)
SPREADS = (0.0, 0.02, 0.05)
UNLIKE = (
    ((10, 3), (0.012, 0.045)), ((5, 3), (0.012, 0.045)), ((10, 3), (0.01, 0.1)),
    ((3, 10), (0.01, 0.1)), ((3, 3), (0.0, 0.1)), ((5, 5), (0.0, 0.1)), ((10, 3), (0.02, 0.02)),
)  # fmt: skip
"""Seeds and spreads of either group; those of the first two rows are as real levels showed them."""
CENSORED = (0.3, 0.5, 0.7)
DIFFERENCE = 0.05
STEPS = 300


def estimates(draws: int) -> Iterator[str]:
    for seeds, spread in itertools.product(SEEDS, SPREADS):
        rng = np.random.default_rng(FIRST_SEED + seeds)
        covered = wrong = right = 0
        for _ in range(draws):
            one, other = _drawn(rng, seeds, spread), _drawn(rng, seeds, spread)
            mean = random_effects.mean(one)
            covered += mean is not None and mean.interval().low <= 0 <= mean.interval().high
            wrong += _differ(one, other)
            right += _differ(Sample(one.values + DIFFERENCE, one.errors), other)
        shares = " | ".join(f"{100 * hits / draws:.1f}" for hits in (covered, wrong, right))
        yield f"| {seeds} | {spread} | {shares} |"


def unlike(draws: int) -> Iterator[str]:
    for seeds, spreads in UNLIKE:
        rng, wrong = np.random.default_rng(FIRST_SEED), 0
        for _ in range(draws):
            wrong += _differ(*(_drawn(rng, n, s) for n, s in zip(seeds, spreads, strict=True)))
        named = " | ".join(" and ".join(map(str, pair)) for pair in (seeds, spreads))
        yield f"| {named} | {100 * wrong / draws:.1f} |"


def asked_for(draws: int) -> Iterator[str]:
    for spreads in ((0.02, 0.02), (0.05, 0.05), (0.012, 0.045)):
        rng, right = np.random.default_rng(FIRST_SEED), 0
        seeds = claims.seeds_needed(spreads, DIFFERENCE, comparisons=1) or 0
        for _ in range(draws):
            one, other = (rng.normal(0, spread, seeds) for spread in spreads)
            values = (list(one + DIFFERENCE), list(other))
            right += _differ(*map(random_effects.unweighted, values))
        yield f"| {spreads[0]} and {spreads[1]} | {seeds} | {100 * right / draws:.1f} |"


def _drawn(rng: Generator, seeds: int, spread: float) -> Sample:
    errors = rng.uniform(0.005, 0.03, seeds)
    values = rng.normal(0, spread, seeds) + rng.normal(0, errors)
    return Sample(values, errors * np.sqrt(rng.chisquare(6, seeds) / 6))


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
        own = [[_slope(points) for points in level] for level in levels]
        within = shared_range.shared([points for level in levels for points in level])
        assert within is not None
        shared = [[shared_range.slope(points, within) for points in level] for level in levels]
        values = [[a.value for a in level if a] for level in own]
        found = (
            _differ(*map(random_effects.unweighted, values)),
            _differ(*(random_effects.sample([a for a in level if a]) for level in own)),
            _differ(*(random_effects.sample([a for a in level if a]) for level in shared)),
        )
        for name, hit in zip(called, found, strict=True):
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
    spread = gates.fit(points).spread
    return spread.a if spread is not None else None


def main(draws: int = 2000) -> None:
    print("| seeds a group | spread | mean covered % | null called different % | 0.05 found % |")
    print("|---|---|---|---|---|", *estimates(draws), sep="\n")
    print("\n| seeds | spreads | null called different % |")
    print("|---|---|---|", *unlike(draws), sep="\n")
    print("\n| spreads | seeds asked for | 0.05 found % |")
    print("|---|---|---|", *asked_for(draws), sep="\n")
    print("\n| seeds a group | never reached | null called different % |")
    print("|---|---|---|", *onsets(draws), sep="\n")
    print("\n| a by | called different % |")
    print("|---|---|", *ranges(max(1, draws // 20)), sep="\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
