"""What a study's links do not state: the means of its arms, and differences between any two.

    python -m benchmarks.study_arms FOLDER QUANTITY EVALUATION [A-B ...] [--without LEVEL]

Reads the finished runs of a study's folder, takes no look at it, and tests nothing: what it prints
was not stated beforehand. `QUANTITY` and `EVALUATION` are those of a link, such as `final_reward`
and `eval/hard/reward`. Prints Markdown: each arm, and each best of several, with the mean over its
seeds; then each A minus B, paired by seed. 95% t intervals. With `--without` also the variance
components of the study's crossed table without the rows of which an arm begins with LEVEL.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.errors import ConfigError
from harness.execution import ledger
from harness.law import analysis
from harness.law.compare import crossed, link_tests, study_arms
from harness.law.compare.comparison_basis import ComparisonBasis
from harness.law.compare.quantities import QUANTITIES
from harness.law.compare.study_arms import ArmRuns
from harness.records import study_file
from harness.records.study_file import FactorialTable, StudyStatement

BySeed = Mapping[int, float]


def read(folder: Path) -> tuple[StudyStatement, ArmRuns]:
    """Return what a study first stated, and the runs of its arms and of its bests."""
    record, runs = study_file.read(folder), ledger.read(folder)
    stated = study_file.from_plain(record.stated)
    members = analysis.load_members(study_arms.finished_folders(runs))
    return stated, study_arms.assign_runs(record, stated, members)


def values(arms: ArmRuns, quantity: str, evaluation: str) -> dict[str, BySeed]:
    """Return arm -> seed -> the number of its run. Runs without one are left out.

    Raises ConfigError if no run has one.
    """
    basis = ComparisonBasis(evaluation)
    of_arms = {
        arm: {seed: QUANTITIES[quantity].value(member, basis) for seed, member in runs.items()}
        for arm, runs in arms.runs.items()
    }
    found: dict[str, BySeed] = {
        arm: {seed: interval.value for seed, interval in by_seed.items() if interval is not None}
        for arm, by_seed in of_arms.items()
    }
    if not any(found.values()):
        rule = "must be an evaluation of the runs, such as eval/medium/reward"
        raise ConfigError(f"{evaluation}: {rule}; no run has {quantity} there")
    return found


def mean(of_seeds: Sequence[float]) -> str:
    """Return a mean with its 95% t interval, or why there is none."""
    found = link_tests.paired_estimate(of_seeds)
    if found is None:
        return f"no interval of {len(of_seeds)} seeds"
    interval = found.interval()
    return f"{interval.value:.5f} [{interval.low:.5f}, {interval.high:.5f}]"


def difference(pair: str, by_arm: Mapping[str, BySeed]) -> str:
    """Return the mean of A minus B, paired by seed. Raises ConfigError for an unknown arm."""
    names = pair.split("-")
    if len(names) != 2 or not set(names) <= set(by_arm):
        known = ", ".join(by_arm)
        raise ConfigError(f"{pair}: must be two of the study's arms, A-B; it has {known}")
    first, second = (by_arm[name] for name in names)
    return mean([first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())])


def without(level: str, table: FactorialTable) -> FactorialTable:
    """Return the table without the rows of which an arm begins with `level`."""
    rows = tuple(row for row in table.arms if not any(arm.startswith(level) for arm in row))
    if len(rows) in (0, 1, len(table.arms)):
        rule = "must be of some rows, and leave two"
        raise ConfigError(f"--without: {rule}, got {level!r}; arms: {table.arms}")
    return replace(table, arms=rows)


def lines(
    folder: Path, quantity: str, evaluation: str, pairs: Sequence[str], level: str | None
) -> Iterator[str]:
    stated, arms = read(folder)
    by_arm = values(arms, quantity, evaluation)
    yield f"| {quantity}, {evaluation} | seeds | mean [95%] |\n|---|---|---|"
    for arm, by_seed in by_arm.items():
        chosen = arms.chosen.get(arm)
        named = f"{arm}, which is {chosen}" if chosen else arm
        yield f"| {named} | {len(by_seed)} | {mean(list(by_seed.values()))} |"
    for pair in pairs:
        yield f"| {pair} | | {difference(pair, by_arm)} |"
    if level is None:
        return
    tables = list(dict.fromkeys(link.crossed for link in stated.links if link.crossed is not None))
    if not tables:
        raise ConfigError(f"--without: needs a study with a crossed table, got {folder}")
    for table in tables:
        rest = without(level, table)
        of_rows = [by_arm[arm] for row in rest.arms for arm in row]
        for name, by_seed in crossed.components(rest, of_rows).items():
            yield f"| variance of {name} without {level} | | {mean(list(by_seed.values()))} |"


def main() -> None:
    form = argparse.RawTextHelpFormatter
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    asked.add_argument("folder", type=Path)
    asked.add_argument("quantity", choices=sorted(QUANTITIES))
    asked.add_argument("evaluation")
    asked.add_argument("pairs", nargs="*")
    asked.add_argument("--without")
    given = asked.parse_args()
    for line in lines(given.folder, given.quantity, given.evaluation, given.pairs, given.without):
        print(line)


if __name__ == "__main__":
    main()
