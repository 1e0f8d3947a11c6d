"""The difficulty card of a level: its measures with 95% confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.calibration import (
    anchors,
    optimum,
    population,
    reply_measures,
    schedules,
    second_game,
    shipped_anchors,
)
from harness.calibration.anchors import LevelAnchors
from harness.calibration.contexts import ReplyContexts
from harness.calibration.interval import ConfidenceInterval, Floats, clustered_mean, mean, share
from harness.calibration.population import Conversations, EmotionDecade
from harness.calibration.reply_measures import AcceptanceResult
from harness.calibration.strategy_game import StrategyGame
from harness.calibration.users import Reader, SecondReader
from harness.calibration.validity import measure as validity
from harness.calibration.validity.measure import Validity
from harness.config.run import DifficultyConfig
from harness.simulator.scripted.sentence_reader import LEXICAL

USERS = 200
"""Held-out users whom each reference policy meets."""
GROUPS = 100
"""Groups of random supporters."""


@dataclass(frozen=True)
class BestPolicies:
    """Mean final emotion of the best policy of each class in the strategy game, 0-100."""

    optimum: float
    """Best policy that knows the user and sees their state."""
    blind_schedule: float
    """Best schedule: a fixed strategy for each turn, whatever the user says."""
    cycle3: float
    cycle2: float
    constant: float
    start: float
    """Random strategies, as an untrained tabular policy plays them."""


def best_policies(
    level: DifficultyConfig, reader: Reader = LEXICAL
) -> tuple[BestPolicies, tuple[str, ...]]:
    """Solve the strategy game of `level`; return the values and the best schedule."""
    if isinstance(reader, SecondReader):
        return _best_of_second_game(second_game.SecondStrategyGame(level))
    game = StrategyGame(level)
    blind = schedules.best_schedule(game)
    values = (
        optimum.knowing_user(game),
        blind.value,
        *(schedules.best_cycle(game, length).value for length in (3, 2, 1)),
        optimum.uniform(game),
    )
    return BestPolicies(*(100 * value for value in values)), blind.strategies


def _best_of_second_game(
    game: second_game.SecondStrategyGame,
) -> tuple[BestPolicies, tuple[str, ...]]:
    cycle3, cycle2, constant = (second_game.best_cycle(game, length) for length in (3, 2, 1))
    value, schedule = second_game.best_schedule(game)
    knowing_user, random = second_game.knowing_user(game), second_game.uniform(game)
    return BestPolicies(knowing_user, value, cycle3, cycle2, constant, random), schedule


@dataclass(frozen=True)
class PolicyScore:
    """Results of one reference policy."""

    final_emotion: ConfidenceInterval | None
    success: ConfidenceInterval | None
    """Share of users whose emotion reached 100."""
    failure: ConfidenceInterval | None
    """Share of users who left."""


@dataclass(frozen=True)
class LevelCard:
    """One level, measured. Emotions are in points of 0-100, shares and rates 0-1."""

    acceptance: ConfidenceInterval | None
    need_expression: ConfidenceInterval | None
    policies: dict[str, PolicyScore]
    zero_variance_groups: ConfidenceInterval | None
    """Share of groups of random supporters whose final emotions are all the same."""
    tiny_variance_groups: ConfidenceInterval | None
    """Share of these groups with a standard deviation below population.TINY_STD."""
    lag1: ConfidenceInterval | None
    """Correlation of consecutive changes."""
    acceptance_held_out: ConfidenceInterval | None
    acceptance_free_wording: ConfidenceInterval | None
    acceptance_free_wording_held_out: ConfidenceInterval | None
    strategy_agreement: ConfidenceInterval | None
    """Share of held-out free-wording replies whose strategy is recognised; equal at all levels."""
    acceptance_by_intention: dict[str, ConfidenceInterval | None]
    best: BestPolicies
    by_decade: list[EmotionDecade]
    by_decade_of_policy: dict[str, list[EmotionDecade]]
    """By member of the population; the key has its skill and mean final emotion."""
    population_final_emotion: ConfidenceInterval | None
    anchors: LevelAnchors
    """Policies that other policies are compared with; rewards are 0-1."""
    users: str
    """Hash of everything that the level's users depend on: shipped_anchors.users_key."""
    reader: str
    """Name of the users' reader."""
    validity: Validity
    """Validity on all replies of the validity set."""
    validity_held_out: Validity
    """Validity on the held-out half, on which no simulator was tuned."""

    def to_json(self) -> dict[str, object]:
        """Return the card as stored."""
        return asdict(self)


@dataclass(frozen=True)
class MeasuredLevel:
    """A level's card, and the paired values that test the order of levels."""

    card: LevelCard
    paired: dict[str, Floats]
    """Values by measure (levels.MEASURES), for the same contexts or users at every level."""
    clusters: dict[str, NDArray[Any]]
    """The conversation of each context, or the user of each final emotion, by measure."""


def measure(
    level: DifficultyConfig,
    contexts: ReplyContexts,
    group_size: int,
    reader: Reader = LEXICAL,
) -> MeasuredLevel:
    """Measure `level`, with `contexts` from the medium level and groups of `group_size`."""
    acceptance = reply_measures.measure_acceptance(level, contexts, reader)
    need_expression = reply_measures.measure_need_expression(level, contexts, reader)
    members = population.population(level, USERS, reader)
    has_groups = group_size > 1  # a group of one has no spread to measure
    std = population.group_std(level, group_size, GROUPS, reader) if has_groups else np.zeros(0)
    finals = np.concatenate([member.finals for member in members.values()])
    return MeasuredLevel(
        _card(level, acceptance, need_expression, members, std, reader),
        {
            "acceptance": acceptance.by_context,
            "need_expression": need_expression,
            "final_emotion": finals,
        },
        {
            "acceptance": contexts.conversations,
            "need_expression": contexts.conversations,
            "final_emotion": np.tile(np.arange(USERS), len(members)),  # members meet the same users
        },
    )


def _card(
    level: DifficultyConfig,
    acceptance: AcceptanceResult,
    need_expression: Floats,
    members: Mapping[float, Conversations],
    std: Floats,
    reader: Reader,
) -> LevelCard:
    pooled = list(members.values())
    best, schedule = best_policies(level, reader)
    references = {
        name: population.converse_with_reference(
            level, name, anchors.USERS if name in anchors.SPOKEN else USERS, reader
        )
        for name in population.NAMED
    }
    return LevelCard(
        acceptance=acceptance.all(),
        need_expression=clustered_mean(need_expression, acceptance.contexts.conversations),
        policies={
            name: _score(conversations.first(USERS)) for name, conversations in references.items()
        },
        zero_variance_groups=share(std == 0),
        tiny_variance_groups=share(std < population.TINY_STD),
        lag1=population.lag1(pooled),
        acceptance_held_out=acceptance.held_out(),
        acceptance_free_wording=acceptance.free_wording(),
        acceptance_free_wording_held_out=acceptance.free_wording_held_out(),
        strategy_agreement=reply_measures.strategy_agreement(held_out=True, reader=reader),
        acceptance_by_intention=acceptance.by_intention(),
        best=best,
        by_decade=population.by_decade(pooled),
        by_decade_of_policy=_by_member(members),
        population_final_emotion=_population_mean(pooled),
        anchors=anchors.measure(level, schedule, best.optimum / 100, references, reader),
        users=shipped_anchors.users_key(level, reader.name),
        reader=reader.name,
        validity=validity.measure(level, reader=reader),
        validity_held_out=validity.measure(level, "held_out", reader),
    )


def _score(conversations: Conversations) -> PolicyScore:
    success, failure = share(conversations.ended("success")), share(conversations.ended("left"))
    return PolicyScore(mean(conversations.finals), success, failure)


def _by_member(members: Mapping[float, Conversations]) -> dict[str, list[EmotionDecade]]:
    return {
        f"skill {skill:g}, final emotion {member.finals.mean():.0f}": population.by_decade([member])
        for skill, member in members.items()
    }


def _population_mean(members: Sequence[Conversations]) -> ConfidenceInterval | None:
    """Return the mean over the population.

    Its members meet the same users, so the interval is over users.
    """
    return mean(np.mean([member.finals for member in members], axis=0))
