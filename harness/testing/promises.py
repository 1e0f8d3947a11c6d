"""The law stage's promises about runs with known truth, compared with measurements.

A promise is `reached` if every cell it covers meets the bound, else `short`, with the cells that do
not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from harness.testing.cells import Coverage, IntervalCoverage, RegimeResult
from harness.testing.synthetic import TRUE_A

COVERED, COVERED_MEDIAN, SIGNIFICANT = 90.0, 93.0, 0.01
WIDER = 1.15
PEER_HALF_WIDTHS: dict[str, tuple[float | None, float]] = {
    "n20 rho.5 sigma.05": (47.0, 0.0628),
    "n50 rho.5 sigma.05": (35.4, 0.0452),
    "n50 rho.5 sigma.15": (41.7, 0.0491),
    "n100 rho.5 sigma.15": (27.8, 0.0334),
    "n100 rho.9 sigma.15": (61.4, 0.0712),
    "n200 rho0 sigma0": (9.44, 0.0127),
    "n200 rho.5 sigma.05": (15.6, 0.0216),
    "n200 rho.5 sigma.15": (20.5, 0.0241),
    "n200 rho.9 sigma.05": (45.3, 0.0528),
    "n200 rho.9 sigma.15": (53.0, 0.0602),
    "n1000 rho.5 sigma.05": (7.08, 0.00972),
    "n1000 rho.5 sigma.15": (10.2, 0.0113),
    "n1000 rho.9 sigma.05": (17.4, 0.0241),
    "n1000 rho.9 sigma.15": (22.9, 0.0270),
    "n5000 rho.5 sigma.15": (4.37, 0.005),
    "partial n200": (21.5, 0.0665),
    "partial n1000": (9.49, 0.0295),
    "narrow n1000": (None, 0.0348),
}
"""Median half-widths of a (in % of a) and of the ceiling, from the notes on methods that preceded
this stage: 300 to 2,000 runs per cell of a simulator with the same description, including runs with
few independent points. For `narrow` only the ceiling can be compared: the notes' two widths are
consistent only for an a about twice as large as here.
"""

HOLDS = ("holds", "holds_form_open")
CLAIMED = (*HOLDS, "linear")
"""Verdicts that claim that R follows H over the whole run."""
SHARP = {"kink_fall": 95.0, "kink_flat": 93.0}
NO_LAW = ("kink_flat", "kink_fall", "kink_soft", "hack", "explode", "rise_stop",
          "rise_unrelated", "wrong_sign", "unrelated",
          "flat", "starved", "saturating", "random_walk")  # fmt: skip
NO_ONSET = ("law_partial", "hack", "flat", "starved")
FALSE_HOLDS, FALSE_HOLDS_MEDIAN, FALSE_FAILS, FALSE_ALARMS = 10.0, 5.0, 5.0, 3.0
ERROR_MEDIAN, ERROR_P90 = 2.0, 7.0


@dataclass(frozen=True)
class Promise:
    """A promise, its measured value in each cell, and the cells that fall short of it."""

    text: str
    bound: str
    figures: dict[str, float]
    worst: str
    short: tuple[str, ...]


def of_intervals(measured: Sequence[IntervalCoverage]) -> list[Promise]:
    """Return the promises about coverage and width, over the cells without drift."""
    cells = [m for m in measured if not m.cell.startswith("drift")]
    promises: list[Promise] = []
    for name, coverages in (("a", {m.cell: m.a for m in cells}),
                       ("ceiling", {m.cell: m.ceiling for m in cells})):  # fmt: skip
        percent = {cell: h.percent for cell, h in coverages.items()}
        low = tuple(cell for cell, h in coverages.items() if significantly_low(h))
        worst = min(percent, key=lambda cell: percent[cell])
        bound = f"not below {COVERED:g}, one-sided binomial 1%"
        promises.append(Promise(f"coverage of {name}, %", bound, percent, worst, low))
        median = {f"median of {len(cells)} cells": float(np.median(list(percent.values())))}
        promises.append(at_least(f"coverage of {name}, %, median cell", median, COVERED_MEDIAN))
    for index, name in enumerate(("a", "ceiling")):
        text = f"median half-width of {name} / measured before"
        promises.append(at_most(text, _over_peers(cells, index), WIDER))
    return promises


def significantly_low(coverage: Coverage) -> bool:
    """Return whether coverage is below 90% by a one-sided binomial test at the 1% level."""
    return bool(stats.binom.cdf(coverage.count, coverage.of, COVERED / 100) < SIGNIFICANT)


def _over_peers(cells: Sequence[IntervalCoverage], index: int) -> dict[str, float]:
    ratios = {}
    for m in cells:
        own_width = (100 * m.a.half_width / TRUE_A, m.ceiling.half_width)[index]
        peer = PEER_HALF_WIDTHS[m.cell][index]
        if peer is not None:
            ratios[m.cell] = own_width / peer
    return ratios


def of_verdicts(measured: Sequence[RegimeResult]) -> list[Promise]:
    false = _words(measured, CLAIMED, NO_LAW)
    median = {f"median of {len(false)} cells": float(np.median(list(false.values())))}
    kinks, fail = ("kink_flat", "kink_fall", "kink_soft"), ("hack", "explode")
    long, low, high = _long(measured), _long(measured, "low"), _long(measured, "high")
    return [
        at_least("law, n >= 300, low noise: holds, %", _words(low, HOLDS, ("law",)), 95.0),
        at_least("law, n >= 300, high noise: holds, %", _words(high, HOLDS, ("law",)), 75.0),
        at_least(
            "kink, n >= 300, low noise: holds_until_onset, %",
            _words(low, ("holds_until_onset",), kinks),
            90.0,
        ),
        at_least("hack, explode, n >= 300: fails, %", _words(long, ("fails",), fail), 90.0),
        at_most(
            "law where exp(H) hardly moves, low noise: fails, %",
            _words([m for m in measured if m.noise == "low"], ("fails",), ("law_slight",)),
            FALSE_FAILS,
        ),
        at_most("no law over the whole run: false holds, %", false, FALSE_HOLDS),
        at_most("the same, %, median cell", median, FALSE_HOLDS_MEDIAN),
    ]


def of_onsets(measured: Sequence[RegimeResult]) -> list[Promise]:
    alarms = {m.cell: m.found for m in measured if m.regime in NO_ONSET}
    long = _long(measured)
    promises = [at_most("onset where there is none, %", alarms, FALSE_ALARMS)]
    for regime, share in SHARP.items():
        shares = {m.cell: m.found for m in long if m.regime == regime}
        promises.append(at_least(f"{regime}, n >= 300: found, %", shares, share))
    sharp = [m for m in long if m.regime in SHARP]
    prefix = "sharp falls, n >= 300"
    return [
        *promises,
        at_most(
            f"{prefix}: median error, % of run",
            _measured_values(sharp, "median_error"),
            ERROR_MEDIAN,
        ),
        at_most(
            f"{prefix}: 90th percentile, % of run", _measured_values(sharp, "p90_error"), ERROR_P90
        ),
        at_least(f"{prefix}: interval holds, %", _measured_values(sharp, "held"), COVERED),
    ]


def _long(measured: Iterable[RegimeResult], noise: str | None = None) -> list[RegimeResult]:
    return [m for m in measured if m.n >= 300 and noise in (None, m.noise)]


def _words(
    measured: Iterable[RegimeResult], words: Sequence[str], regimes: Sequence[str]
) -> dict[str, float]:
    """Return the percentage of each cell's runs whose verdict is one of `words`."""
    return {
        m.cell: sum(m.words.get(word, 0.0) for word in words)
        for m in measured
        if m.regime in regimes
    }


def _measured_values(measured: Iterable[RegimeResult], name: str) -> dict[str, float]:
    return {m.cell: v for m in measured if (v := getattr(m, name)) is not None}


def at_least(text: str, figures: Mapping[str, float], bound: float) -> Promise:
    short = tuple(cell for cell, value in figures.items() if value < bound)
    return _promise(text, f"at least {bound:g}", figures, min, short)


def at_most(text: str, figures: Mapping[str, float], bound: float) -> Promise:
    short = tuple(cell for cell, value in figures.items() if value > bound)
    return _promise(text, f"at most {bound:g}", figures, max, short)


def _promise(
    text: str,
    bound: str,
    figures: Mapping[str, float],
    extreme: Callable[..., str],
    short: tuple[str, ...],
) -> Promise:
    worst = extreme(figures, key=lambda cell: figures[cell])
    return Promise(text, bound, dict(figures), worst, short)


def table(promises: Sequence[Promise]) -> str:
    """Return the promises as a Markdown table."""
    lines = ["| promise | cells | worst cell | measured | bound | |", "|" + "---|" * 6]
    for p in promises:
        short_cells = ", ".join(f"{cell} ({_number(p.figures[cell])})" for cell in p.short)
        verdict = f"short in {len(p.short)}: {short_cells}" if p.short else "reached"
        worst = _number(p.figures[p.worst])
        lines.append(
            f"| {p.text} | {len(p.figures)} | {p.worst} | {worst} | {p.bound} | {verdict} |"
        )
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"
