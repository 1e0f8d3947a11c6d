"""The remedy frontier: what published methods keep of H, and at what price, beside a better rate.

    OMP_NUM_THREADS=1 python -m benchmarks.frontier FOLDER [--methods A,B] [--strengths N]
        [--levels medium,hard] [--seeds 1,2] [--steps N] [--users N] [--repeats N] [--out FOLDER]

All of it is 31 methods x 5 strengths x 5 seeds on two levels: 1,550 tabular runs
(frontier_methods.yaml).
FOLDER keeps a sweep for each level, method and strength; the same command again goes on where it
ended, and reads what is done. Writes frontier.md, frontier.csv and frontier.png to --out (FOLDER).

Of each run, at the end of its level:

* entropy: what is left of H on the probe, nats
* reward, best_at_16: of held-out users of the level; best_at_16 needs 16 repeats
* listening: I(strategy; hidden intention | reply number), nats
* trainability: what as many steps on hard then gain on hard's users; of medium alone, since no
  level is above hard
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import frontier_plan
from benchmarks.frontier_front import (
    QUANTITIES,
    Difference,
    Judged,
    judge,
    sentence,
    sentence_at_equal_entropy,
)
from benchmarks.frontier_measured import Measured, measured
from benchmarks.frontier_picture import draw
from benchmarks.frontier_plan import LEVELS, Size

SEEDS = (1, 2, 3, 4, 5)


def write(out: Path, cells: Sequence[Measured], size: Size, command: str) -> str:
    """Write page, data and figure; returns the page."""
    lines = ["# The remedy frontier", "", f"    {command}", ""]
    lines += [f"{_size(size, cells)}", ""]
    every: list[Judged] = []
    for level in size.levels:
        best, judged = judge([cell for cell in cells if cell.level == level])
        every += judged
        answers = [sentence(level, best, judged), sentence_at_equal_entropy(level, judged)]
        lines += [f"## {level}", "", *answers, "", *_table(judged), ""]
    lines += ["![Reward against the entropy that is left, by method](frontier.png)", ""]
    page = "\n".join(lines)
    out.mkdir(parents=True, exist_ok=True)
    (out / "frontier.md").write_text(page)
    _write_csv(out / "frontier.csv", every)
    draw(out / "frontier.png", every, size.levels)
    return page


def _size(size: Size, cells: Sequence[Measured]) -> str:
    names = {cell.method for cell in cells if not cell.is_rate}
    return (
        f"{len(names)} methods beside plain grpo at several rates, {len(cells)} cells, seeds "
        f"{', '.join(map(str, size.seeds))}, {size.steps} steps of 64 conversations; means over "
        "seeds. Methods of frontier_methods.yaml that are not in the table: not run. In brackets: "
        "the difference to the best rate, or at equal entropy to the rates, with an interval that "
        "holds for the level as a whole. "
        "Remedies run at the shipped rate, so one that loses here may only want another."
    )


def _table(judged: Sequence[Judged]) -> list[str]:
    heads = ["method", "strength", *QUANTITIES, "front", "verdict", "reward at equal entropy"]
    rows = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for one in judged:
        numbers = [_number(one, quantity) for quantity in QUANTITIES]
        front = "yes" if one.on_front else ""
        numbers += [front, one.verdict or "a rate", _at_equal_entropy(one)]
        cells = [one.cell.method, one.cell.strength, *numbers]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _number(judged: Judged, quantity: str) -> str:
    mean, beside = judged.cell.mean(quantity), judged.differences.get(quantity)
    if mean is None:
        return ""
    if beside is None:
        return f"{mean:.3f}"
    return f"{mean:.3f} ({_difference(beside)})"


def _at_equal_entropy(judged: Judged) -> str:
    one = judged.at_equal_entropy
    return judged.beside_rates if one is None else f"{judged.beside_rates} ({_difference(one)})"


def _difference(one: Difference) -> str:
    return f"{one.value:+.3f}, {one.low:+.3f} to {one.high:+.3f}"


def _write_csv(path: Path, judged: Sequence[Judged]) -> None:
    """A row a cell and quantity; reward_at_equal_entropy is a difference alone."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            ["level", "method", "strength", "quantity", "seeds", "mean", "less_rate", "low",
             "high", "on_front", "verdict"]
        )  # fmt: skip
        for one in judged:
            about = [one.cell.level, one.cell.method, one.cell.strength]
            for quantity in QUANTITIES:
                seeds = len(one.cell.values.get(quantity, {}))
                beside, mean = one.differences.get(quantity), one.cell.mean(quantity)
                numbers = [quantity, seeds, mean, *_bounds(beside)]
                rows.writerow([*about, *numbers, one.on_front, one.verdict])
            seeds = len(one.cell.values.get("reward", {}))
            equal = ["reward_at_equal_entropy", seeds, None, *_bounds(one.at_equal_entropy)]
            rows.writerow([*about, *equal, one.on_front, one.beside_rates])


def _bounds(one: Difference | None) -> list[float | None]:
    return [None, None, None] if one is None else [one.value, one.low, one.high]


def arguments(words: Sequence[str]) -> tuple[argparse.Namespace, Size]:
    """The command line, and the size that it asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", type=Path)
    parser.add_argument("--methods", default="", help="names, all by default; the rates are in it")
    parser.add_argument("--strengths", type=int, default=5)
    parser.add_argument("--levels", default=",".join(LEVELS))
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)))
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--users", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=16)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args(words)
    levels = tuple(asked.levels.split(","))
    if unknown := set(levels) - set(LEVELS):
        parser.error(f"--levels must be among {', '.join(LEVELS)}, got {', '.join(unknown)}")
    seeds = tuple(map(int, asked.seeds.split(",")))
    return asked, Size(levels, seeds, asked.steps, asked.steps, asked.users, asked.repeats)


def main(words: Sequence[str]) -> None:
    asked, size = arguments(words)
    names = [name for name in asked.methods.split(",") if name]
    try:
        chosen = frontier_plan.methods(names, asked.strengths)
    except KeyError as error:
        sys.exit(f"--methods: a method must be in {frontier_plan.METHODS.name}, got {error}")
    every = frontier_plan.cells(chosen, size)
    for number, cell in enumerate(every, start=1):
        print(f"{number}/{len(every)} {cell.name}", file=sys.stderr, flush=True)
        frontier_plan.ensure(asked.folder, cell, size)
    found = [measured(asked.folder, cell, size) for cell in every]
    command = f"OMP_NUM_THREADS=1 python -m benchmarks.frontier {' '.join(words)}"
    print(write(asked.out or asked.folder, found, size, command))


if __name__ == "__main__":
    main(sys.argv[1:])
