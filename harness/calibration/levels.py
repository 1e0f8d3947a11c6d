"""Calibrates several levels: their cards, their order, and a comparison with published values.

The order is tested by one-sided paired t-tests over conversations or users, with Holm's correction
over all tests. Published values are those of RLVER's Vanilla and Challenging simulators (arXiv
2507.03112, Table 3): strategy acceptance 52.4% and 33.1%, emotion and need expression 78.6% and
63.6%. Nothing easier was published, so easy is set as far above medium as hard is below it. A match
shows agreement in these values and does not prove realism.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr
from scipy.stats import spearmanr

from harness.calibration import card
from harness.calibration.card import LevelCard, MeasuredLevel
from harness.calibration.contexts import collect_contexts
from harness.calibration.interval import Floats, clustered_error
from harness.calibration.population import PUBLISHED_LAG1, PUBLISHED_RISE
from harness.calibration.users import Reader
from harness.calibration.validity import measure as validity
from harness.config.run import INTENTIONS, DifficultyConfig
from harness.simulator.scripted.sentence_reader import LEXICAL
from harness.utils import process_pool

SIGNIFICANCE = 0.05
"""Family-wise error rate of the order tests."""
MEASURES = ("acceptance", "need_expression", "final_emotion")
NONE: Mapping[str, NDArray[Any]] = {}


@dataclass(frozen=True)
class OrderTest:
    """Test that one level is easier than the next by one measure."""

    measure: str
    easier: str
    harder: str
    difference: float | None
    """None if no pair has both values."""
    p_holm: float

    @property
    def holds(self) -> bool:
        """Whether the order is significant."""
        return self.p_holm < SIGNIFICANCE


def order_tests(
    levels: Mapping[str, Mapping[str, Floats]], clusters: Mapping[str, NDArray[Any]] = NONE
) -> list[OrderTest]:
    """Test each consecutive pair of `levels`, easiest first, by each measure.

    Values are paired by context or user. A pair with a missing value is left out. `clusters` has
    the conversation or user of each value by measure; without one, values are independent.
    """
    pairs = [
        (measure, easier, harder) for easier, harder in pairwise(levels) for measure in MEASURES
    ]
    results = [
        _test_pair(levels[easier][measure] - levels[harder][measure], clusters.get(measure))
        for measure, easier, harder in pairs
    ]
    adjusted = _holm([p for _, p in results])
    return [
        OrderTest(*pair, difference, p)
        for pair, (difference, _), p in zip(pairs, results, adjusted, strict=True)
    ]


def _test_pair(differences: Floats, clusters: NDArray[Any] | None) -> tuple[float | None, float]:
    """Return the mean difference and the one-sided p-value of a paired t-test over clusters.

    Fewer than two pairs or clusters show nothing: their p-value is 1.
    """
    is_known = np.isfinite(differences)
    finite = differences[is_known]
    if not finite.size:
        return None, 1.0
    labels = np.arange(finite.size) if clusters is None else clusters[is_known]
    mean, (error, df) = float(finite.mean()), clustered_error(finite, labels)
    if df < 1:
        return mean, 1.0
    if np.ptp(finite) == 0 or error == 0:
        return mean, 0.0 if mean > 0 else 1.0
    return mean, float(stdtr(df, -mean / error))


def _holm(p: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values in the order of `p`."""
    adjusted, largest = [1.0] * len(p), 0.0
    for rank, index in enumerate(np.argsort(p)):
        largest = max(largest, min(1.0, (len(p) - rank) * p[index]))
        adjusted[index] = largest
    return adjusted


PUBLISHED = {
    "medium": {"acceptance": 0.524, "need_expression": 0.786},
    "hard": {"acceptance": 0.331, "need_expression": 0.636},
}
WITHIN, WITHIN_DECADE = 0.03, 0.07
"""Largest difference that counts as a match, for a share and for P(rise) in a decade of emotion."""
LEAST_RANK = 0.7
"""Least rank correlation that counts as a match of the order of intentions."""
INTENTION_ACCEPTANCE = {
    "praise": 0.632, "dialectic": 0.582, "not_at_fault": 0.555, "advice": 0.544,
    "venting": 0.539, "growth": 0.501, "deep_empathy": 0.489, "motives": 0.363,
}  # fmt: skip
"""P(rise) by hidden intention, computed from the logs that population.PUBLISHED_RISE comes from."""


@dataclass(frozen=True)
class PublishedMatch:
    """A measured value and its published counterpart."""

    level: str
    figure: str
    measured: float
    published: float
    matched: bool


def published_matches(level: str, card: LevelCard) -> list[PublishedMatch]:
    """Return each value with a published counterpart. Only medium has published dynamics."""
    matches = [
        PublishedMatch(level, name, value.value, target, abs(value.value - target) <= WITHIN)
        for name, target in PUBLISHED.get(level, {}).items()
        if (value := getattr(card, name)) is not None
    ]
    return matches + (_dynamics(level, card) if level == "medium" else [])


def _dynamics(level: str, card: LevelCard) -> list[PublishedMatch]:
    matches = [
        PublishedMatch(level, f"P(rise) in the {decade.emotion}s", p.value, published,
              abs(p.value - published) <= WITHIN_DECADE)
        for decade, published in zip(card.by_decade, PUBLISHED_RISE, strict=True)
        if (p := decade.p_rise) is not None
    ]  # fmt: skip
    if card.lag1 is not None:
        is_near = card.lag1.low <= PUBLISHED_LAG1 <= card.lag1.high
        matches.append(
            PublishedMatch(level, "lag-1 correlation", card.lag1.value, PUBLISHED_LAG1, is_near)
        )
    rank = _rank(card)
    return [*matches, PublishedMatch(level, "rank of intentions", rank, 1.0, rank >= LEAST_RANK)]


def _rank(card: LevelCard) -> float:
    """Return Spearman's correlation of measured and published acceptance by intention."""
    measured = [
        getattr(card.acceptance_by_intention[intention], "value", float("nan"))
        for intention in INTENTIONS
    ]
    published = [INTENTION_ACCEPTANCE[intention] for intention in INTENTIONS]
    return float(spearmanr(measured, published).statistic)


SCHEMA = 1


@dataclass(frozen=True)
class Calibration:
    """Results of `calibrate`."""

    levels: dict[str, LevelCard]
    order: list[OrderTest]
    """Empty for fewer than three levels."""
    matches: list[PublishedMatch]

    @property
    def order_holds(self) -> bool | None:
        """Whether each level is easier than the next by every measure; None without `order`."""
        return all(test.holds for test in self.order) if self.order else None

    @property
    def problems(self) -> list[tuple[str, str]]:
        """(level, problem) of each failure of the validity test on the held-out half."""
        return [
            (name, problem)
            for name, card in self.levels.items()
            for problem in validity.problems(card.validity_held_out)
        ]

    def to_json(self) -> dict[str, object]:
        """Return the content of calibration.json without the levels' settings."""
        return {
            "schema": SCHEMA,
            "levels": {name: card.to_json() for name, card in self.levels.items()},
            "order_holds": self.order_holds,
            "order": [asdict(test) for test in self.order],
            "published": [asdict(match) for match in self.matches],
            "invalid": [[level, problem] for level, problem in self.problems],
        }


class _Count:
    """Reports each measured level, the number measured, and the time so far."""

    def __init__(self, names: Sequence[str], report: Callable[[str], None]) -> None:
        self._names, self._report, self._start = names, report, time.monotonic()
        self._done = itertools.count(1)

    def report_when_done(self, name: str, future: Future[MeasuredLevel]) -> None:
        if not future.cancelled() and future.exception() is None:
            self._report_level(name)

    def measure_and_report(
        self, measure: Callable[[DifficultyConfig], MeasuredLevel], level: DifficultyConfig
    ) -> MeasuredLevel:
        measured = measure(level)
        self._report_level(level.name)
        return measured

    def _report_level(self, name: str) -> None:
        seconds = time.monotonic() - self._start
        self._report(f"{name} measured, {next(self._done)} of {len(self._names)}, {seconds:.0f} s")


def calibrate(
    levels: Mapping[str, DifficultyConfig],
    medium: DifficultyConfig,
    group_size: int,
    processes: int,
    reader: Reader = LEXICAL,
    report: Callable[[str], None] = lambda line: None,
) -> Calibration:
    """Measure `levels`, easiest first, in contexts from conversations at `medium`.

    `report` is called with a line of progress at the beginning and for each level, from any thread.
    """
    report(f"measuring {', '.join(levels)}")
    contexts = collect_contexts(medium, reader)
    measure = partial(card.measure, contexts=contexts, group_size=group_size, reader=reader)
    count = _Count(list(levels), report)
    with process_pool.worker_pool(min(processes, len(levels))) as pool:
        submitted = process_pool.submit(pool, measure, list(levels.values()))
        for name, future in zip(levels, submitted.futures, strict=False):
            future.add_done_callback(partial(count.report_when_done, name))
        results = replace(submitted, work=partial(count.measure_and_report, measure)).results()
    measured = dict(zip(levels, results, strict=True))
    cards = {name: level.card for name, level in measured.items()}
    paired = {name: level.paired for name, level in measured.items()}
    clusters = next(iter(measured.values())).clusters  # of the same contexts and users
    tests = order_tests(paired, clusters) if len(measured) > 2 else []
    matches = [
        match for name, level_card in cards.items() for match in published_matches(name, level_card)
    ]
    return Calibration(cards, tests, matches)
