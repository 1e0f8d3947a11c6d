"""Stop advice by replay: steps saved and reward lost, beside the rules that others stop by.

    python -m benchmarks.stop_advice calibrate RUNS... [--out FILE]
    python -m benchmarks.stop_advice replay RUNS... [--chosen-on RUNS...] [--kind plain] [--parts]

RUNS are folders that benchmarks.stop_runs has filled. `calibrate` makes the constants of
harness/stopping; `replay` gives every run's rows to the rule, evaluation by evaluation, and prints
Markdown tables. A loss is the last evaluation of the run less the one at the stop, both with the
same held-out users. benchmarks/stop_advice.md holds a dated result.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.stop_calibrate import calibrated
from benchmarks.stop_outcome import PLAIN, Outcome, load
from benchmarks.stop_replay import best_oracle, ours, replay, told
from benchmarks.stop_runs import LEVELS, RATES, REMEDIES
from harness.stopping import calibration as shipped


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act", choices=("calibrate", "replay"))
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--chosen-on", type=Path, nargs="+", default=[])
    parser.add_argument("--kind", default=PLAIN)
    parser.add_argument("--parts", action="store_true", help="also by level, rate and remedy")
    parser.add_argument("--out", type=Path, default=shipped.FILE)
    given = parser.parse_args()
    runs = load(given.runs, given.kind)
    if given.act == "calibrate":
        made = f"python -m benchmarks.stop_advice calibrate, {len(runs)} runs of policy=tabular"
        given.out.write_text(shipped.to_json(calibrated(runs, made)), encoding="utf-8")
        return
    print(f"{len(runs)} runs\n")
    replay(runs, load(given.chosen_on))
    told(runs)
    if given.parts:
        print("\n| runs | runs stopped | steps saved | mean loss | mean loss, gains as 0 | "
              "losing more than .05 | keeps the promise | the oracle saves |\n"
              "|---|---|---|---|---|---|---|---|")  # fmt: skip
        for part in (*LEVELS, *RATES, *REMEDIES):
            some = [run for run in runs if part in run.name.split("-")]
            if some:
                most = Outcome.of(some, best_oracle(some)).saved
                print(f"{Outcome.of(some, ours(some)).row(f'{part}, {len(some)}')} {most:.1%} |")


if __name__ == "__main__":
    main()
