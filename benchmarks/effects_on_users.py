"""How wide a study's intervals would be if they covered other held-out users, not only other seeds.

    python -m benchmarks.effects_on_users FOLDER...

All runs meet the same held-out users with the same draws, and a link's interval is over seeds: it
is about these users. An arm may suit some of them more than another arm does. Takes the outcomes
of the runs' last evaluations (a link is of the last tenth), of each two arms that a link compares,
and prints for each study and level how much of the error of a difference is of the users.

For n seeds and m users a difference has the variance seed/n + user/m + (seed x user)/(nm), whose
estimate is (MS_seed + MS_user - MS_seed x user) / (nm) (Searle, Casella and McCulloch, Variance
Components, 1992, chapter 4); an interval over seeds has MS_seed / (nm). Half-widths are of 95% t
intervals, with Satterthwaite's degrees of freedom.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.study_arms import read
from harness.errors import DataError
from harness.law.compare.best_arms import Runs
from harness.law.compare.random_effects import Estimate
from harness.law.results import Floats
from harness.records import outcomes
from harness.records.run_folder import RunFolder

REWARDS = ("final_reward", "gain")
"""Quantities of a link whose difference between two arms is one of reward at the end."""


def over_seeds(differences: Floats) -> Estimate:
    """Return the mean of differences, shape (seeds, users), for other seeds and these users."""
    of_seeds = differences.mean(axis=1)
    n = len(of_seeds)
    return Estimate(float(of_seeds.mean()), float(of_seeds.std(ddof=1)) / n**0.5, n - 1)


def over_seeds_and_users(differences: Floats) -> Estimate:
    """Return the same mean for other seeds and other users; its error is at least `over_seeds`."""
    n, m = differences.shape
    mean, of_seeds, of_users = (differences.mean(axis=axis) for axis in (None, 1, 0))
    rest = differences - of_seeds[:, None] - of_users + mean
    squares = np.array([m * of_seeds.var(ddof=1), n * of_users.var(ddof=1), (rest**2).sum()])
    squares[2] /= (n - 1) * (m - 1)
    if squares[1] <= squares[2]:
        return over_seeds(differences)
    total = squares[0] + squares[1] - squares[2]
    df = total**2 / (squares**2 / [n - 1, m - 1, (n - 1) * (m - 1)]).sum()
    return Estimate(float(mean), float((total / (n * m)) ** 0.5), float(df))


def ends(run: RunFolder, level: str) -> Floats:
    """Return each user's mean outcome at the run's last evaluation; nan if one was lost."""
    by_level = outcomes.read(run.outcomes).by_level
    if level not in by_level:
        rule = f"must have outcomes at {level}, which a link compares"
        raise DataError(f"{run.outcomes}: {rule}; it has {', '.join(by_level)}")
    means: Floats = np.array(by_level[level], float).mean(axis=1)
    return means


def differences(folder: Path, level: str, one: Runs, other: Runs) -> Floats:
    """Return the ends of `one` minus those of `other`, shape (seeds of both, users of all)."""
    seeds = sorted(one.keys() & other.keys())
    of_one, of_other = (
        np.array([ends(RunFolder(folder / Path(runs[s].result.run).name), level) for s in seeds])
        for runs in (one, other)
    )
    difference: Floats = of_one - of_other
    return difference[:, ~np.isnan(difference).any(axis=0)]


def compared(folder: Path) -> Iterator[tuple[str, Floats]]:
    """Yield (level, differences) of each two arms whose rewards a link of the study compares."""
    stated, arms = read(folder)
    pairs = {
        (link.evaluation.removeprefix("eval/").removesuffix("/reward"), link.arm, link.against)
        for link in stated.links
        if link.quantity in REWARDS
        and link.against
        and link.crossed is None
        and link.evaluation.startswith("eval/")
    }
    for level, one, other in sorted(pairs):
        level = outcomes.OWN if level == "reward" else level
        yield level, differences(folder, level, arms.runs[one], arms.runs[other])


def rows(folder: Path) -> Iterator[str]:
    """Yield a Markdown row for each level at which links of the study compare rewards."""
    by_level: dict[str, list[tuple[Estimate, Estimate]]] = {}
    for level, difference in compared(folder):
        pair = over_seeds(difference), over_seeds_and_users(difference)
        by_level.setdefault(level, []).append(pair)
    for level, pairs in by_level.items():
        halves = np.array([[e.interval().high - e.value for e in pair] for pair in pairs])
        means = np.array([[e.value for e in pair] for pair in pairs])
        shown = (abs(means) > halves).sum(axis=0)
        ratios = halves[:, 1] / halves[:, 0]
        yield (
            f"| {folder.name} | {level} | {len(pairs)} | {np.median(halves[:, 0]):.3f} | "
            f"{np.median(halves[:, 1]):.3f} | {np.median(ratios):.2f} ({ratios.min():.2f} to "
            f"{ratios.max():.2f}) | {shown[0]} | {shown[1]} |"
        )


def main() -> None:
    print("| study | level | pairs | over seeds | and users | ratio | shown | and over users |")
    print(f"|{'---|' * 8}")
    for name in sys.argv[1:]:
        for row in rows(Path(name)):
            print(row, flush=True)


if __name__ == "__main__":
    main()
