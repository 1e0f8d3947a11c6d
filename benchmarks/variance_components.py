"""Coverage of the intervals of `harness variance` on outcomes whose components are known.

    python benchmarks/variance_components.py tuning|held-out DRAWS
    python benchmarks/variance_components.py arms DRAWS

Outcomes are normal, or held to [0, 1] in steps of .01 as rewards are, of which a third then stand
at a bound; the components of the latter are means over 40 tables of 200 seeds, 200 users and 4
repeats. Seeds of
`held-out` were looked at once, when all was decided. `arms`: several arms of normal outcomes that
share users and draws, or have their own.
"""

from __future__ import annotations

import sys

import numpy as np

from harness.law.results import Floats
from harness.law.variance import components, sizes
from harness.law.variance.components import REPEAT, REST, SEED, SEED_USER, USER

SD = {SEED: 0.05, USER: 0.17, REPEAT: 0.23, SEED_USER: 0.05, REST: 0.17}
FIRST = {"tuning": 0, "held-out": 1_000_000}
ARMS = ((8, (5, 64, 1)), (4, (10, 64, 4)))
SHAPES = ((3, 64, 1), (5, 64, 4), (10, 64, 1), (10, 64, 16))
CENTRE = 0.3


def outcomes(rng: np.random.Generator, shape: tuple[int, int, int], bounded: bool) -> Floats:
    """Outcomes of shape (seeds, users, repeats)."""
    seeds, users, repeats = shape
    parts = {
        SEED: (seeds, 1, 1), USER: (1, users, 1), REPEAT: (1, users, repeats),
        SEED_USER: (seeds, users, 1), REST: shape,
    }  # fmt: skip
    total: Floats = np.full(shape, CENTRE)
    for name, part in parts.items():
        total += SD[name] * rng.normal(size=part)
    return np.asarray(np.round(np.clip(total, 0.0, 1.0), 2), float) if bounded else total


def arms(draws: int) -> None:
    """Print how often intervals over several arms hold what is true."""
    for count, shape in ARMS:
        known = truth(False, shape[2])
        for is_shared in (True, False):
            covered = dict.fromkeys(known, 0)
            for n in range(draws):
                rng = np.random.default_rng([11, n])
                found = components.from_crossed_outcomes(*_arms(rng, count, shape, is_shared))
                for name, part in found.items():
                    interval = part.interval()
                    covered[name] += interval.low <= known[name] <= interval.high
            shares = ", ".join(f"{name} {covered[name] / draws:.3f}" for name in known)
            users = "shared" if is_shared else "own"
            print(f"{count} arms {shape}, users {users}: covered {shares}", flush=True)


def _arms(
    rng: np.random.Generator, count: int, shape: tuple[int, int, int], is_shared: bool
) -> list[Floats]:
    if not is_shared:
        return [outcomes(rng, shape, False) for _ in range(count)]
    seeds, users, repeats = shape
    common = SD[USER] * rng.normal(size=(users, 1)) + SD[REPEAT] * rng.normal(size=(users, repeats))
    return [
        CENTRE + common
        + SD[SEED] * rng.normal(size=(seeds, 1, 1))
        + SD[SEED_USER] * rng.normal(size=(seeds, users, 1))
        + SD[REST] * rng.normal(size=shape)
        for _ in range(count)
    ]  # fmt: skip


def truth(bounded: bool, repeats: int) -> dict[str, float]:
    """The components as `crossed` names them."""
    known = {name: sd**2 for name, sd in SD.items()}
    if bounded:
        large = [outcomes(np.random.default_rng([7, n]), (200, 200, 4), True) for n in range(40)]
        each = [components.from_crossed_outcomes(table) for table in large]
        known = {name: float(np.mean([parts[name].value for parts in each])) for name in SD}
    if repeats == 1:
        known[USER] += known.pop(REPEAT)
        known[SEED_USER] += known.pop(REST)
    return known


def main(half: str, draws: int) -> None:
    for bounded in (False, True):
        for shape in SHAPES:
            known = truth(bounded, shape[2])
            covered, means = dict.fromkeys(known, 0), dict.fromkeys(known, 0.0)
            planned = 0
            for n in range(draws):
                rng = np.random.default_rng(FIRST[half] + n)
                found = components.from_crossed_outcomes(outcomes(rng, shape, bounded))
                for name, part in found.items():
                    interval = part.interval()
                    covered[name] += interval.low <= known[name] <= interval.high
                    means[name] += part.value / draws
                planned += _held(found, known, shape)
            kind = "bounded" if bounded else "normal"
            shares = ", ".join(f"{name} {covered[name] / draws:.3f}" for name in known)
            bias = ", ".join(f"{name} {means[name] / known[name]:.2f}" for name in known)
            print(f"{kind} {shape}: covered {shares}; mean / truth {bias}; "
                  f"half-width at most, held {planned / draws:.3f}", flush=True)  # fmt: skip


def _held(
    found: dict[str, components.ComponentDraws],
    known: dict[str, float],
    shape: tuple[int, int, int],
) -> bool:
    """Whether the half-width of a plan is at most what the plan says."""
    plan = sizes.SizePlan(sizes.MEAN, 5, 100, 1, 0.0, 0.0)
    most = sizes.with_upper_half_width(
        plan, {name: part.draws for name, part in found.items()}
    ).most
    true = sizes.half_width(sizes.MEAN, known, np.array([5.0]), np.array([100.0]), 1)
    return most is not None and float(true[0]) <= most


if __name__ == "__main__":
    if sys.argv[1] == "arms":
        arms(int(sys.argv[2]))
    else:
        main(sys.argv[1], int(sys.argv[2]))
