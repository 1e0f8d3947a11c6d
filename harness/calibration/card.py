"""The difficulty card of a level: what was measured, in numbers with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from harness.calibration import acceptance, best, decades, expression, population
from harness.calibration.acceptance import Accepted
from harness.calibration.best import Best
from harness.calibration.contexts import Contexts
from harness.calibration.decades import Decade
from harness.calibration.interval import Floats, Interval, clustered, mean, share
from harness.calibration.population import Conversations
from harness.config.run import DifficultyConfig

USERS = 200
"""Held-out users each reference policy meets."""
GROUPS = 100


@dataclass(frozen=True)
class PolicyScore:
    """How one reference policy fares."""

    final_emotion: Interval | None
    success: Interval | None
    """Share of users whose emotion reached 100."""
    failure: Interval | None
    """Share of users who left."""


@dataclass(frozen=True)
class LevelCard:
    """One level, measured. Emotions are in points of 0-100, shares and rates 0-1."""

    acceptance: Interval | None
    need_expression: Interval | None
    policies: dict[str, PolicyScore]
    zero_variance_groups: Interval | None
    """Share of groups of random supporters whose final emotions are all the same."""
    tiny_variance_groups: Interval | None
    """Share with a standard deviation below population.TINY_STD."""
    lag1: Interval | None
    """Correlation of consecutive changes."""
    acceptance_held_out: Interval | None
    acceptance_free_wording: Interval | None
    acceptance_free_wording_held_out: Interval | None
    strategy_agreement: Interval | None
    """Share of held-out free-wording replies whose strategy is recognised; of every level alike."""
    acceptance_by_intention: dict[str, Interval | None]
    best: Best
    by_decade: list[Decade]
    by_decade_of_policy: dict[str, list[Decade]]
    """By member of the population, its mean final emotion in its name."""
    population_final_emotion: Interval | None

    def to_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class Measured:
    """A level's card, and the paired values by which levels are put in order."""

    card: LevelCard
    paired: dict[str, Floats]
    """By measure, of order.MEASURES: the same contexts, the same users at every level."""


def measure(level: DifficultyConfig, contexts: Contexts, group_size: int) -> Measured:
    """Measure `level`; `contexts` are those of the medium level, `group_size` that of GRPO."""
    accepted = acceptance.measure(level, contexts)
    shown = expression.measure(level, contexts)
    members = population.population(level, USERS)
    std = population.group_std(level, group_size, GROUPS)
    finals = np.concatenate([talks.finals for talks in members.values()])
    return Measured(
        _card(level, accepted, shown, members, std),
        {"acceptance": accepted.by_context, "need_expression": shown, "final_emotion": finals},
    )


def _card(
    level: DifficultyConfig,
    accepted: Accepted,
    shown: Floats,
    members: Mapping[float, Conversations],
    std: Floats,
) -> LevelCard:
    pooled = list(members.values())
    return LevelCard(
        acceptance=accepted.all(),
        need_expression=clustered(shown, accepted.contexts.conversations),
        policies={n: _score(population.named(level, n, USERS)) for n in population.NAMED},
        zero_variance_groups=share(std == 0),
        tiny_variance_groups=share(std < population.TINY_STD),
        lag1=decades.lag1(pooled),
        acceptance_held_out=accepted.held_out(),
        acceptance_free_wording=accepted.free_wording(),
        acceptance_free_wording_held_out=accepted.free_wording_held_out(),
        strategy_agreement=acceptance.agreement(held_out=True),
        acceptance_by_intention=accepted.by_intention(),
        best=best.measure(level),
        by_decade=decades.by_decade(pooled),
        by_decade_of_policy=_by_member(members),
        population_final_emotion=_pooled(pooled),
    )


def _score(talks: Conversations) -> PolicyScore:
    success, failure = share(talks.ended("success")), share(talks.ended("left"))
    return PolicyScore(mean(talks.finals), success, failure)


def _by_member(members: Mapping[float, Conversations]) -> dict[str, list[Decade]]:
    return {
        f"skill {skill:g}, final emotion {talks.finals.mean():.0f}": decades.by_decade([talks])
        for skill, talks in members.items()
    }


def _pooled(members: Sequence[Conversations]) -> Interval | None:
    """Mean over the population; its members meet the same users, so users are what is sampled."""
    return mean(np.mean([talks.finals for talks in members], axis=0))
