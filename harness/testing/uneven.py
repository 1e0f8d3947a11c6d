"""Runs with unevenly spaced rows: onset and verdict when the logging interval changes.

Logging does not change H or R, so each cell should give the same results as with all rows. Part of
benchmarks/coverage.py, which prints the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import product, repeat

import numpy as np
from numpy.typing import NDArray

from harness.law.results import VERDICTS
from harness.testing import cells, synthetic
from harness.testing.cells import Make
from harness.testing.synthetic import Noise, SyntheticRun

Kept = NDArray[np.bool_]


def spending(seed: int, n: int, noise: Noise) -> SyntheticRun:
    """Return a lawful run whose log H falls linearly, H to 5%, so that no fall begins anywhere."""
    return synthetic.lawful(seed, n, noise, lambda u: np.exp(-3 * u))


REGIMES: dict[str, Make] = {
    "spending": spending,
    "law_partial": cells.REGIMES["law_partial"],
    "hack": synthetic.hack,
    "kink_fall": synthetic.kink,
}
ROWS: dict[str, Callable[[NDArray[np.float64]], Kept]] = {
    "all": lambda u: u >= 0,
    "second half every 4th": lambda u: (u < 0.5) | _every(4, u),
    "first half every 4th": lambda u: (u >= 0.5) | _every(4, u),
    "first tenth, then every 10th": lambda u: (u < 0.1) | _every(10, u),
    "none from 15 to 35%": lambda u: (u < 0.15) | (u > 0.35),
    "none from 50 to 90%": lambda u: (u < 0.5) | (u > 0.9),
}
GRID = [(300, "low"), (300, "high"), (1500, "high")]


@dataclass(frozen=True)
class ThinnedResult:
    """One regime with one selection of logged rows. Percentages of runs."""

    rows: str
    regime: str
    n: int
    noise: str
    words: dict[str, float]
    falls: float
    """Runs with the onset terminal_fall."""
    spent: float


def thin_log(log: SyntheticRun, rows: str) -> SyntheticRun:
    """Return the log with only some of its rows, selected by `rows`."""
    mask = ROWS[rows](np.arange(len(log.steps)) / len(log.steps))
    return SyntheticRun(log.steps[mask], log.entropy[mask], log.reward[mask], log.onset)


def measure(pool: Executor, runs: int) -> list[ThinnedResult]:
    """Return the results of every regime with every selection of rows."""
    grid = [(*selection, n, noise) for selection in product(ROWS, REGIMES) for n, noise in GRID]
    return list(pool.map(judge, *zip(*grid, strict=True), repeat(runs)))


def judge(rows: str, name: str, n: int, noise: str, runs: int) -> ThinnedResult:
    """Return the onsets and verdicts of one cell."""
    logs = [REGIMES[name](cells.FIRST_SEED + s, n, cells.NOISES[noise]) for s in range(runs)]
    looks = [cells.look(thin_log(log, rows)) for log in logs]
    words = Counter(look.verdict.word for look in looks)
    kinds = Counter(look.onset.kind for look in looks if look.onset is not None)
    return ThinnedResult(
        rows,
        name,
        n,
        noise,
        {word: 100 * count / runs for word, count in words.items()},
        100 * kinds["terminal_fall"] / runs,
        100 * kinds["budget_spent"] / runs,
    )


def table(measured: Sequence[ThinnedResult]) -> str:
    """Return a Markdown table of onsets and verdicts, one line per selection and regime."""
    names = [f"n{n} {noise}" for n, noise in GRID]
    lines = ["| rows | regime | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 2)]
    for rows, regime in product(ROWS, REGIMES):
        row = [m for m in measured if (m.rows, m.regime) == (rows, regime)]
        texts = (f"{m.falls:.0f}, {m.spent:.0f}: {_words(m)}" for m in row)
        lines.append(f"| {rows} | {regime} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _words(m: ThinnedResult) -> str:
    return "/".join(f"{m.words.get(word, 0):.0f}" for word in VERDICTS)


def _every(stride: int, u: NDArray[np.float64]) -> Kept:
    mask: Kept = np.arange(len(u)) % stride == 0
    return mask
