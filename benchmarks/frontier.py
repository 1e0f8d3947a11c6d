"""The remedy frontier: what published methods keep of H, and at what price, beside a better rate.

    OMP_NUM_THREADS=1 python -m benchmarks.frontier FOLDER [--methods A,B] [--strengths N]
        [--levels medium,hard] [--seeds 1,2] [--steps N] [--users N] [--repeats N] [--out FOLDER]

All of it is 30 methods x 5 strengths x 5 seeds on two levels: 1,500 tabular runs
(frontier_methods.yaml).
FOLDER keeps a sweep for each level, method and strength; the same command again goes on where it
ended, and reads what is done. Writes frontier.md, frontier.csv and frontier.png to --out (FOLDER).

Of each run, at the end of its level:

* kept: what signal and remedy did to H on the probe, by the ledger; noise is left out, nats
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
from typing import Any

import pandas as pd

import harness
from benchmarks import frontier_plan
from benchmarks.frontier_front import QUANTITIES, Judged, Measured, judge, sentence
from benchmarks.frontier_plan import LEVELS, Cell, Size

SEEDS = (1, 2, 3, 4, 5)
HELD_OUT = ("reward", "best_at_16", "listening")


def measured(folder: Path, cell: Cell, size: Size) -> Measured:
    """The numbers of a cell's finished runs; a run that failed has none."""
    values: dict[str, dict[int, float]] = {quantity: {} for quantity in QUANTITIES}
    table = harness.load(str(folder / cell.name)).metrics()
    for seed, rows in table.groupby("seed"):
        if rows["step"].max() < size.steps + 1:
            continue
        for quantity, value in _of_run(rows.set_index("step"), cell.level, size).items():
            if pd.notna(value):
                values[quantity][int(str(seed))] = float(value)
    words = (w.split("=", 1) for w in cell.method.strengths[cell.strength - 1])
    strength = " ".join(f"{key.rpartition('.')[2]}={value}" for key, value in words)
    return Measured(cell.name, cell.method.name, strength, cell.level, cell.method.is_rate, values)


def _of_run(rows: pd.DataFrame, level: str, size: Size) -> dict[str, float]:
    at, last = (dict[str, Any](rows.loc[step]) for step in (size.steps + 1, rows.index.max()))
    remedy = at["ledger/remedy"] if pd.notna(at["ledger/remedy"]) else 0.0
    found = {name: float(at[f"eval/{level}/{name}"]) for name in HELD_OUT}
    found["kept"] = float(at["ledger/signal"] + remedy)
    if level == "medium" and rows.index.max() == size.steps + size.more_steps:
        found["trainability"] = float(last["eval/hard/reward"] - at["eval/hard/reward"])
    return found


def write(out: Path, cells: Sequence[Measured], size: Size, command: str) -> str:
    """Write page, data and figure; returns the page."""
    lines = ["# The remedy frontier", "", f"    {command}", ""]
    lines += [f"{_size(size, cells)}", ""]
    every: list[Judged] = []
    for level in size.levels:
        best, judged = judge([cell for cell in cells if cell.level == level])
        every += judged
        lines += [f"## {level}", "", sentence(level, best, judged), "", *_table(judged), ""]
    lines += ["![Reward against entropy kept, by method](frontier.png)", ""]
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
        "the difference to the best rate, with an interval that holds for the level as a whole. "
        "Remedies run at the shipped rate, so one that loses here may only want another."
    )


def _table(judged: Sequence[Judged]) -> list[str]:
    heads = ["method", "strength", *QUANTITIES, "front", "verdict"]
    rows = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for one in judged:
        numbers = [_number(one, quantity) for quantity in QUANTITIES]
        front = "yes" if one.on_front else ""
        cells = [one.cell.method, one.cell.strength, *numbers, front, one.verdict or "a rate"]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _number(judged: Judged, quantity: str) -> str:
    mean, beside = judged.cell.mean(quantity), judged.differences.get(quantity)
    if mean is None:
        return ""
    if beside is None:
        return f"{mean:.3f}"
    return f"{mean:.3f} ({beside.value:+.3f}, {beside.low:+.3f} to {beside.high:+.3f})"


def _write_csv(path: Path, judged: Sequence[Judged]) -> None:
    """A row a cell and quantity."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(
            ["level", "method", "strength", "quantity", "seeds", "mean", "less_best_rate", "low",
             "high", "on_front", "verdict"]
        )  # fmt: skip
        for one in judged:
            for quantity in QUANTITIES:
                by_seed = one.cell.values.get(quantity, {})
                beside = one.differences.get(quantity)
                differs = (
                    ["", "", ""] if beside is None else [beside.value, beside.low, beside.high]
                )
                about = [one.cell.level, one.cell.method, one.cell.strength, quantity, len(by_seed)]
                mean = one.cell.mean(quantity)
                rows.writerow(
                    [*about, "" if mean is None else mean, *differs, one.on_front, one.verdict]
                )


def draw(path: Path, judged: Sequence[Judged], levels: Sequence[str]) -> None:
    """Reward against entropy kept, a panel a level: rates as a line, cells of the front filled."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(levels), figsize=(6.5 * len(levels), 5), squeeze=False)
    for panel, level in zip(panels[0], levels, strict=True):
        here = [one for one in judged if one.cell.level == level]
        for method in dict.fromkeys(one.cell.method for one in here):
            own = [one for one in here if one.cell.method == method]
            x = [one.cell.mean("kept") for one in own]
            y = [one.cell.mean("reward") for one in own]
            known = [(a, b, one) for a, b, one in zip(x, y, own, strict=True) if a is not None]
            if not known:
                continue
            rate = own[0].cell.is_rate
            style = {"color": "black", "linewidth": 1.5} if rate else {"linewidth": 0.6}
            (line,) = panel.plot([a for a, _, _ in known], [b for _, b, _ in known], **style)
            for a, b, one in known:
                face = line.get_color() if one.on_front else "white"
                panel.plot(a, b, "o", color=line.get_color(), markerfacecolor=face, markersize=5)
            a, b, _ = known[-1]
            panel.annotate(method, (a, b), fontsize=7, xytext=(3, 3), textcoords="offset points")
        panel.set_title(f"{level}: filled cells are on the front of all quantities")
        panel.set_xscale("symlog", linthresh=1.0)  # at large rates the ledger is far off
        panel.set_xlabel("what signal and remedy did to H on the probe, nats")
        panel.set_ylabel("reward of held-out users")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


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
