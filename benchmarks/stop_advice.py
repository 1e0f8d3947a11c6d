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
import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression, nnls
from scipy.stats import beta

from benchmarks.stop_rivals import RIVALS, Rival, Seen
from benchmarks.stop_runs import LEVELS, RATES, REMEDIES
from harness.stopping import calibration as shipped
from harness.stopping import curve as curves
from harness.stopping import rule
from harness.stopping.calibration import Calibration
from harness.stopping.curve import Curve, Reading, Unit

Floats = NDArray[np.float64]
MOST_LOSS, BIG_LOSS, MOST_BIG = 0.01, 0.05, 0.05
SURE = 0.95
"""A constant is chosen by the upper bound, at this confidence, of its share of big losses: the best
of many constants is better on the runs it was chosen on than on others."""
FOLDS, RESAMPLES = 8, 400
REFITS, LEAST_SPREAD = 3, 0.01
RISKS = np.arange(0.2, 0.005, -0.005).round(4)
MARGINS = (0.01, 0.02, 0.05)
PREDICTED = np.array([0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0])
PLAIN = "plain"


@dataclass(frozen=True)
class Run:
    """The rows of a finished run."""

    name: str
    kind: str
    seen: Seen
    se: Floats

    def until(self, count: int) -> Seen:
        """The rows up to evaluation `count`, from 1."""
        last = int(self.seen.eval_step[count - 1])
        rows = self.seen.step <= last
        return replace(
            self.seen,
            step=self.seen.step[rows],
            entropy=self.seen.entropy[rows],
            variance=self.seen.variance[rows],
            eval_step=self.seen.eval_step[:count],
            reward=self.seen.reward[:count],
        )

    def curve(self, count: int) -> Curve:
        seen = self.until(count)
        return Curve(seen.eval_step, seen.reward, self.se[:count], seen.entropy)

    def reading(self, count: int) -> Reading:
        """The numbers of the rule after evaluation `count`."""
        read = curves.read(self.curve(count), self.seen.steps, Unit())
        assert isinstance(read, Reading)
        return read

    @property
    def seed(self) -> str:
        """From the file's name: 2000000-easy-..., or study-...-seed31."""
        return self.name.rsplit("seed", 1)[-1].split("-")[0]

    @property
    def evaluations(self) -> int:
        return len(self.seen.reward)

    def gain(self, count: int) -> float:
        """Last evaluation less that of number `count`."""
        return float(self.seen.reward[-1] - self.seen.reward[count - 1])

    def saved(self, count: int) -> float:
        """Share of the steps that a stop at evaluation `count` saves."""
        return 1 - float(self.seen.eval_step[count - 1]) / self.seen.steps


def load(folders: Sequence[Path], kind: str = PLAIN) -> list[Run]:
    """The whole runs of a kind; those that diverged are counted on stderr."""
    runs, short = [], 0
    for path in sorted(p for folder in folders for p in folder.glob("*.npz")):
        with np.load(path) as held:
            arrays = {name: held[name] for name in held.files}
        if not str(arrays["kind"]).startswith(kind):
            continue
        if arrays["step"][-1] < arrays["steps"]:
            short += 1
            continue
        at = np.isfinite(arrays["eval_reward"])
        seen = Seen(
            arrays["step"], arrays["entropy"], arrays["reward_std"] ** 2, arrays["step"][at],
            arrays["eval_reward"][at], int(arrays["steps"]),
        )  # fmt: skip
        runs.append(Run(path.stem, str(arrays["kind"]), seen, arrays["eval_reward_se"][at]))
    if short:
        print(f"{short} runs ended before their last step and are left out", file=sys.stderr)
    return runs


@dataclass(frozen=True)
class Points:
    """Every evaluation with advice of many runs, but for the last of each."""

    run: NDArray[np.intp]
    count: NDArray[np.intp]
    means: Floats
    """What the expected gain is linear in. Shape (points, 3)."""
    spreads: Floats
    """What the squared spread is linear in, before squaring. Shape (points, 3)."""
    gain: Floats
    rising: NDArray[np.bool_]


def points(runs: Sequence[Run], noise: float) -> Points:
    rows = []
    for index, run in enumerate(runs):
        for count in range(curves.FEWEST_EVALUATIONS, run.evaluations):
            reading = run.reading(count)
            means, spreads = rule.terms(reading, noise)
            rising = rule.still_rises(reading, Unit())
            rows.append((index, count, *means, *spreads, run.gain(count), rising))
    table = np.array(rows)
    return Points(
        table[:, 0].astype(np.intp), table[:, 1].astype(np.intp),
        table[:, 2:5], table[:, 5:8], table[:, 8], table[:, 9].astype(bool),
    )  # fmt: skip


def calibrated(runs: Sequence[Run], made: str) -> Calibration:
    """Weights by least squares, and how forecasts came true whose weights did not see the seed."""
    last = [run.reading(run.evaluations) for run in runs]
    noise = round(float(np.sqrt(np.mean([reading.noise**2 for reading in last]))), 4)
    held = points(runs, noise)
    weights = _weights(held, np.ones(len(held.gain), bool))
    gain, spread = crossed(runs, held)
    low, high = np.quantile((held.gain - gain) / np.maximum(spread, 1e-9), (0.05, 0.95))
    observed, interval = _came_true(held, gain, spread)
    risk = _most_risk(runs, held, gain, spread)
    room, room_entropy, level = np.round(weights[0], 4).tolist()
    by_noise, by_room, fallen = np.round(weights[1], 4).tolist()
    return Calibration(
        made, room, room_entropy, level, noise, by_noise, by_room, fallen, risk,
        (round(low, 3), round(high, 3)), PREDICTED, observed, *interval,
    )  # fmt: skip


def crossed(runs: Sequence[Run], held: Points) -> tuple[Floats, Floats]:
    """Expected gain and spread of every point by weights that did not see its seed."""
    _, seed = np.unique([run.seed for run in runs], return_inverse=True)
    fold = np.random.default_rng(0).permutation(seed.max() + 1)[seed][held.run] % FOLDS
    gain, spread = np.zeros(len(fold)), np.zeros(len(fold))
    for part in range(FOLDS):
        mean, sd = _weights(held, fold != part)
        gain[fold == part] = held.means[fold == part] @ mean
        spread[fold == part] = np.sqrt(held.spreads[fold == part] ** 2 @ sd**2)
    return gain, spread


def _weights(held: Points, rows: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Of the mean and of the spread; the mean is fitted again in units of the spread."""
    spread = np.ones(int(rows.sum()))
    for _ in range(REFITS):
        scaled = held.means[rows] / spread[:, None], held.gain[rows] / spread
        mean = np.asarray(np.linalg.lstsq(*scaled, rcond=None)[0], np.float64)
        off = held.gain[rows] - held.means[rows] @ mean
        by = held.spreads[rows] ** 2
        squared, _ = nnls(by / spread[:, None] ** 2, (off / spread) ** 2)
        spread = np.maximum(np.sqrt(by @ squared), LEAST_SPREAD)
    return mean, np.asarray(np.sqrt(squared), np.float64)


def _most_risk(runs: Sequence[Run], held: Points, gain: Floats, spread: Floats) -> float:
    """The largest that surely keeps what is promised on runs like these."""
    for most in RISKS:
        found = Outcome.of(runs, stops_at(runs, held, gain, spread, float(most)))
        if found.keeps() and found.most_big(len(runs)) <= MOST_BIG:
            return float(most)
    raise SystemExit("no risk keeps what is promised")


def stops_at(
    runs: Sequence[Run], held: Points, gain: Floats, spread: Floats, most: float
) -> list[int]:
    """The evaluation at which each run stops by a constant for the risk."""
    risk = [rule.exceeds(BIG_LOSS, g, s) for g, s in zip(gain, spread, strict=True)]
    return _first(runs, held, (gain < MOST_LOSS) & (np.array(risk) <= most) & ~held.rising)


def _first(runs: Sequence[Run], held: Points, stops: NDArray[np.bool_]) -> list[int]:
    """The evaluation at which each run stops: the first that says so, or its last."""
    found = [run.evaluations for run in runs]
    for index, count in zip(held.run[stops], held.count[stops], strict=True):
        found[index] = min(found[index], int(count))
    return found


def _came_true(held: Points, gain: Floats, spread: Floats) -> tuple[Floats, tuple[Floats, Floats]]:
    """Share of the forecasts of each probability that came true, and its interval over runs."""
    predicted = np.concatenate(
        [[rule.exceeds(m, g, s) for g, s in zip(gain, spread, strict=True)] for m in MARGINS]
    )
    true = np.concatenate([held.gain > margin for margin in MARGINS]).astype(float)
    run = np.tile(held.run, len(MARGINS))
    rng, draws = np.random.default_rng(1), []
    for _ in range(RESAMPLES):
        weight = np.bincount(rng.integers(0, run.max() + 1, run.max() + 1), minlength=run.max() + 1)
        draws.append(_shares(predicted, true, weight[run].astype(float)))
    low, high = np.quantile(draws, (0.025, 0.975), axis=0)
    return _shares(predicted, true, np.ones(len(true))), (low, high)


def _shares(predicted: Floats, true: Floats, weight: Floats) -> Floats:
    """The share that came true at each of PREDICTED, by isotonic regression."""
    used = np.flatnonzero(weight)
    order = used[np.argsort(predicted[used], kind="stable")]
    fitted = isotonic_regression(true[order], weights=weight[order]).x
    edges = (PREDICTED[1:] + PREDICTED[:-1]) / 2
    place = np.searchsorted(edges, predicted[order])
    total = np.bincount(place, weight[order], len(PREDICTED))
    share = np.bincount(place, weight[order] * fitted, len(PREDICTED)) / np.maximum(total, 1e-9)
    known = total > 0
    return np.asarray(np.interp(PREDICTED, PREDICTED[known], share[known]), np.float64)


@dataclass(frozen=True)
class Outcome:
    """What stopping runs at given evaluations came to."""

    saved: float
    lost: float
    lost_above_0: float
    big: float
    stopped: float

    @staticmethod
    def of(runs: Sequence[Run], stops: Sequence[int]) -> Outcome:
        pairs = list(zip(runs, stops, strict=True))
        losses = np.array([run.gain(count) for run, count in pairs])
        return Outcome(
            float(np.mean([run.saved(count) for run, count in pairs])),
            float(losses.mean()),
            float(np.maximum(losses, 0).mean()),
            float((losses > BIG_LOSS).mean()),
            float(np.mean([count < run.evaluations for run, count in pairs])),
        )

    def keeps(self) -> bool:
        return self.lost <= MOST_LOSS and self.big <= MOST_BIG

    def most_big(self, runs: int) -> float:
        """Upper bound of the share of big losses among runs like these, by their number."""
        count = round(self.big * runs)
        return float(beta.ppf(SURE, count + 1, runs - count))

    def row(self, name: str) -> str:
        kept = "yes" if self.keeps() else "no"
        return (
            f"| {name} | {self.stopped:.0%} | {self.saved:.1%} | {self.lost:+.4f} | "
            f"{self.lost_above_0:.4f} | {self.big:.1%} | {kept} |"
        )


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
