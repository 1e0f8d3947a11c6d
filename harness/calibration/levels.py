"""All levels at once: their cards, and whether they are in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from harness.calibration import card, order, published
from harness.calibration.card import LevelCard, Measured
from harness.calibration.contexts import Contexts, contexts
from harness.calibration.order import Step
from harness.calibration.published import Match
from harness.config.run import DifficultyConfig
from harness.utils import process_pool

SCHEMA = 1


@dataclass(frozen=True)
class Calibration:
    """What calibrate found."""

    levels: dict[str, LevelCard]
    order: list[Step]
    """Empty below three levels."""
    matches: list[Match]

    @property
    def order_holds(self) -> bool | None:
        """Whether each level is easier than the next by every measure; None below three levels."""
        return all(step.holds for step in self.order) if self.order else None

    def to_json(self) -> dict[str, object]:
        return {
            "schema": SCHEMA,
            "levels": {name: found.to_json() for name, found in self.levels.items()},
            "order_holds": self.order_holds,
            "order": [asdict(step) for step in self.order],
            "published": [asdict(match) for match in self.matches],
        }


def calibrate(
    levels: Mapping[str, DifficultyConfig],
    medium: DifficultyConfig,
    group_size: int,
    processes: int,
) -> Calibration:
    """Measure `levels`, easiest first; `medium` gives the contexts that all are measured in."""
    where = contexts(medium)
    measured = _measured(list(levels.values()), where, group_size, processes)
    found = dict(zip(levels, measured, strict=True))
    cards = {name: measured.card for name, measured in found.items()}
    steps = order.steps({n: m.paired for n, m in found.items()}) if len(found) > 2 else []
    matches = [match for name, c in cards.items() for match in published.matches(name, c)]
    return Calibration(cards, steps, matches)


def _measured(
    levels: Sequence[DifficultyConfig], where: Contexts, group_size: int, processes: int
) -> list[Measured]:
    measure = partial(card.measure, contexts=where, group_size=group_size)
    with process_pool.others(min(processes, len(levels))) as pool:
        return process_pool.begin(pool, measure, levels).results()
