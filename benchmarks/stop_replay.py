"""The rule, oracles and rivals on the same runs: `benchmarks.stop_advice replay`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.stop_calibrate import PREDICTED
from benchmarks.stop_outcome import BIG_LOSS, MOST_LOSS, Outcome, Run
from benchmarks.stop_rivals import RIVALS, Rival, Seen
from harness.stopping import curve as curves
from harness.stopping import rule


def ours(runs: Sequence[Run]) -> list[int]:
    return [_when(run, functools.partial(_advises, run)) for run in runs]


def _advises(run: Run, seen: Seen) -> bool:
    return rule.advise(run.curve(len(seen.reward)), run.seen.steps).stops


def _when(run: Run, stops: Callable[[Seen], bool]) -> int:
    counts = range(1, run.evaluations)
    return next((n for n in counts if stops(run.until(n))), run.evaluations)


def oracle(runs: Sequence[Run], most: float) -> list[int]:
    """The first evaluation within `most` of the last, which only the end can tell."""
    return [next(n for n in range(1, run.evaluations + 1) if run.gain(n) <= most) for run in runs]


def best_oracle(runs: Sequence[Run]) -> list[int]:
    """The most that such an oracle saves within what is promised."""
    allowed = [oracle(runs, most) for most in np.linspace(0, 0.1, 101)]
    kept = [stops for stops in allowed if Outcome.of(runs, stops).keeps()]
    return max(kept, key=lambda stops: Outcome.of(runs, stops).saved)


def replay(runs: Sequence[Run], chosen_on: Sequence[Run]) -> None:
    """Print the table of a set of runs: the rule, the oracles, the rivals."""
    print("| rule | runs stopped | steps saved | mean loss | mean loss, gains as 0 | "
          "losing more than .05 | keeps the promise |\n|---|---|---|---|---|---|---|")  # fmt: skip
    print(Outcome.of(runs, ours(runs)).row("**harness/stopping**"))
    print(Outcome.of(runs, oracle(runs, MOST_LOSS)).row("oracle, within .01 of the end"))
    print(Outcome.of(runs, best_oracle(runs)).row("oracle, at the same mean loss"))
    for rival in RIVALS:
        print(Outcome.of(runs, _stops(runs, rival, rival.at)).row(rival.name))
        if chosen_on:
            value = _best(rival, chosen_on)
            if value is None:
                print(f"| the same, no constant of {rival.choices} keeps it | | | | | | |")
                continue
            told = f"the same, {value:g}: best on development runs"
            print(Outcome.of(runs, _stops(runs, rival, value)).row(told))


def _stops(runs: Sequence[Run], rival: Rival, value: float) -> list[int]:
    def stops(seen: Seen) -> bool:
        return rival.stops(seen, value)

    return [_when(run, stops) for run in runs]


def _best(rival: Rival, runs: Sequence[Run]) -> float | None:
    """The constant that saves most of those that keep the promise on these runs."""
    found: tuple[float, float] | None = None
    for value in rival.choices:
        outcome = Outcome.of(runs, _stops(runs, rival, value))
        if outcome.keeps() and (found is None or outcome.saved > found[0]):
            found = outcome.saved, value
    return found[1] if found else None


def told(runs: Sequence[Run]) -> None:
    """Print how the numbers beside the advice came true, and the rate of false alarms."""
    said, true, inside, alarms, steps = [], [], [], 0, 0
    for run in runs:
        for count in range(curves.FEWEST_EVALUATIONS, run.evaluations):
            advice = rule.advise(run.curve(count), run.seen.steps)
            assert advice.p_gain is not None
            assert advice.final is not None
            assert advice.margin is not None
            said.append(advice.p_gain[0])
            true.append(run.gain(count) > advice.margin)
            inside.append(advice.final[0] <= run.seen.reward[-1] <= advice.final[1])
        stop = ours([run])[0]
        steps += int(run.seen.eval_step[stop - 1])
        alarms += stop < run.evaluations and run.gain(stop) > BIG_LOSS
    print(f"\nfalse alarms (stops that lose more than {BIG_LOSS:g}): {alarms} in {steps} steps "
          f"watched, {1000 * alarms / steps:.3f} per 1,000 steps")  # fmt: skip
    print(f"90% interval of the final reward holds it in {np.mean(inside):.1%} of {len(inside)}")
    print("\n| P told | forecasts | came true |\n|---|---|---|")
    probability, happened = np.array(said), np.array(true)
    for low, high in zip(PREDICTED[[0, 3, 4, 6, 8, 10]], PREDICTED[[3, 4, 6, 8, 10, 13]],
                         strict=True):  # fmt: skip
        at = (probability >= low) & (probability < high + (high == 1))
        if at.any():
            print(f"| {low:g} to {high:g} | {at.sum()} | {happened[at].mean():.3f} |")
