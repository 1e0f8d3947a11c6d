"""What was published of the two simulators that RLVER compares, and how near ours come.

RLVER, arXiv 2507.03112, Table 3: strategy acceptance 52.4% and 33.1%, emotion and need expression
78.6% and 63.6% of its Vanilla and Challenging simulators. Nothing easier was published; easy is
set as far above medium as hard is below it. A match is one of level: it proves no realism.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy.stats import spearmanr

from harness.calibration.card import LevelCard
from harness.calibration.decades import PUBLISHED_LAG1, PUBLISHED_RISE
from harness.config.run import INTENTIONS

ANCHORS = {
    "easy": {"acceptance": 0.717, "need_expression": 0.936},
    "medium": {"acceptance": 0.524, "need_expression": 0.786},
    "hard": {"acceptance": 0.331, "need_expression": 0.636},
}
WITHIN = 0.03
WITHIN_DECADE = 0.07
LEAST_RANK = 0.7
INTENTION_ACCEPTANCE = {
    "praise": 0.632, "dialectic": 0.582, "not_at_fault": 0.555, "advice": 0.544,
    "venting": 0.539, "growth": 0.501, "deep_empathy": 0.489, "motives": 0.363,
}  # fmt: skip
"""P(rise) by hidden intention, computed from the logs that decades.PUBLISHED_RISE comes from."""


@dataclass(frozen=True)
class Match:
    """A measured figure beside the published one."""

    level: str
    figure: str
    measured: float
    published: float
    matched: bool


def matches(level: str, card: LevelCard) -> list[Match]:
    """Each figure with a published counterpart; only medium has published dynamics."""
    found = [
        Match(level, name, value.value, target, abs(value.value - target) <= WITHIN)
        for name, target in ANCHORS.get(level, {}).items()
        if (value := getattr(card, name)) is not None
    ]
    return found + (_dynamics(level, card) if level == "medium" else [])


def _dynamics(level: str, card: LevelCard) -> list[Match]:
    found = [
        Match(level, f"P(rise) in the {decade.emotion}s", p.value, published,
              abs(p.value - published) <= WITHIN_DECADE)
        for decade, published in zip(card.by_decade, PUBLISHED_RISE, strict=True)
        if (p := decade.p_rise) is not None
    ]  # fmt: skip
    if card.lag1 is not None:
        near = card.lag1.low <= PUBLISHED_LAG1 <= card.lag1.high
        found.append(Match(level, "lag-1 correlation", card.lag1.value, PUBLISHED_LAG1, near))
    rank = _rank(card)
    return [*found, Match(level, "rank of intentions", rank, 1.0, rank >= LEAST_RANK)]


def _rank(card: LevelCard) -> float:
    """Spearman's correlation of our acceptance by intention with the published one."""
    ours = [getattr(card.acceptance_by_intention[i], "value", float("nan")) for i in INTENTIONS]
    theirs = [INTENTION_ACCEPTANCE[i] for i in INTENTIONS]
    return float(spearmanr(ours, theirs).statistic)
