"""Tests for every remedy, by its roles: subclass RemedyContract and define the fixture `remedy`."""

# mypy: disable-error-code="type-abstract"
# roles are abstract, and `playing` only asks whether a remedy has one

from __future__ import annotations

import json
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pytest
import torch

from harness.config.options import Options
from harness.config.run import RunConfig, TrainerConfig
from harness.testing.algorithm_contract import assert_agree
from harness.testing.options_contract import OptionsContract
from harness.train.policy_gradient import remedy_roles as roles
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.remedy_roles import Remedy, State, StepTokens

PLAYED = (
    *(roles.Ratio, roles.Weight, roles.Shift, roles.Sharpening, roles.Term),
    *(roles.Filling, roles.Penalty, roles.Bonus, roles.TokenBonus),
)
"""A remedy has at least one of these roles; carrying numbers from step to step is not enough."""
TOKENS = 400
Role = TypeVar("Role", bound=Remedy)


def step(seed: int = 1) -> StepTokens:
    """Return a step's tokens before its first update."""
    rng = np.random.default_rng(seed)
    logp = -rng.exponential(1.5, TOKENS)
    return StepTokens(
        logp=logp,
        advantage=rng.normal(0, 0.5, TOKENS),
        entropy_nats=rng.uniform(0.1, 3, TOKENS),
        start_logp=logp + rng.normal(0, 0.3, TOKENS),
        rng=np.random.default_rng(7),
        conversation=np.arange(TOKENS) // 50,
        turn=1 + np.arange(TOKENS) % 50 // 10,
        group=np.arange(TOKENS) // 100,
        spread=np.repeat([0.3, 0.05, 0.0, 0.2], 100),
        planning=np.arange(TOKENS) % 10 < 3,
        mean_discriminant=rng.normal(0, 0.1, TOKENS),
        progress=0.5,
    )


def observed(remedy: Remedy, step_tokens: StepTokens, steps: int = 1) -> StepTokens:
    """Return the step with the state of `remedy` after it has observed `steps` such steps."""
    if not isinstance(remedy, roles.Adaptive):
        return step_tokens
    state: State = {}
    for _ in range(steps):
        state = remedy.observed(state, step_tokens)
    return replace(step_tokens, state=state)


def later(step_tokens: StepTokens) -> FloatArray:
    """Return log-probabilities after an update."""
    return step_tokens.logp + np.random.default_rng(9).normal(0, 0.3, TOKENS)


def singly(*columns: FloatArray) -> tuple[torch.Tensor, ...]:
    return tuple(torch.from_numpy(column).float() for column in columns)


class RemedyContract(OptionsContract):
    @pytest.fixture
    def remedy(self) -> Remedy:
        raise NotImplementedError

    @pytest.fixture
    def options(self, remedy: Remedy) -> Options:
        return remedy

    def test_it_plays_a_role(self, remedy: Remedy) -> None:
        assert isinstance(remedy, PLAYED)

    def test_it_can_act_in_some_run_and_says_in_one_line_why_not_in_others(
        self, remedy: Remedy
    ) -> None:
        several_updates = RunConfig(trainer=TrainerConfig(updates_per_batch=4))
        reasons = [
            remedy.idle(config) for config in (RunConfig(), several_updates, tiny(several_updates))
        ]
        assert None in reasons
        for reason in filter(None, reasons):
            assert ", got " in reason
            assert "\n" not in reason

    def test_it_says_whether_it_follows_the_length_of_the_run(self, remedy: Remedy) -> None:
        """Without that, `harness plan` would take the first part of a run for a shorter run."""
        if remedy.follows_length():
            return
        first, last = (replace(observed(remedy, step()), progress=at) for at in (0.0, 1.0))
        if isinstance(remedy, roles.Weight):
            np.testing.assert_array_equal(remedy.weigh(first).weight, remedy.weigh(last).weight)
        if isinstance(remedy, roles.Bonus):
            assert remedy.scheduled(0.0) == remedy.scheduled(1.0)

    def test_weights_are_one_a_token_and_the_same_for_the_same_step(self, remedy: Remedy) -> None:
        weight = playing(remedy, roles.Weight)
        first, second = (weight.weigh(observed(remedy, step())) for _ in range(2))
        assert first.weight.shape == first.chosen.shape == (TOKENS,)
        assert first.chosen.dtype == bool
        assert np.isfinite(first.weight).all()
        assert (first.weight >= 0).all()
        np.testing.assert_array_equal(first.weight, second.weight)

    def test_what_is_added_to_advantages_is_finite_and_the_same_for_the_same_step(
        self, remedy: Remedy
    ) -> None:
        shift = playing(remedy, roles.Shift)
        first, second = (shift.shift(observed(remedy, step())) for _ in range(2))
        assert first.shape == (TOKENS,)
        assert np.isfinite(first).all()
        np.testing.assert_array_equal(first, second)

    def test_factors_of_logits_are_above_0(self, remedy: Remedy) -> None:
        factors = playing(remedy, roles.Sharpening).factors(observed(remedy, step()))
        assert factors.shape == (TOKENS,)
        assert np.isfinite(factors).all()
        assert (factors > 0).all()

    def test_numbers_that_are_carried_are_floats_and_survive_a_checkpoint(
        self, remedy: Remedy
    ) -> None:
        adaptive, step_tokens = playing(remedy, roles.Adaptive), step()
        assert adaptive.needs_entropies
        before, state = (
            dict(adaptive.observed({}, step_tokens)),
            observed(remedy, step_tokens, 3).state,
        )
        assert before
        for name, value in state.items():
            assert isinstance(name, str)
            assert type(value) is float
            assert np.isfinite(value)
        assert json.loads(json.dumps(dict(state))) == state
        assert adaptive.observed({}, step_tokens) == before
        assert adaptive.at(state).name() == remedy.name()

    def test_coefficients_of_each_tokens_entropy_are_finite(self, remedy: Remedy) -> None:
        coefficients = playing(remedy, roles.TokenBonus).coefficients(observed(remedy, step(), 2))
        assert coefficients.shape == (TOKENS,)
        assert np.isfinite(coefficients).all()

    def test_a_shape_of_the_ratio_is_the_same_in_torch(self, remedy: Remedy) -> None:
        ratio, step_tokens = playing(remedy, roles.Ratio), step()
        columns = later(step_tokens), step_tokens.logp, step_tokens.advantage
        assert_agree(ratio.surrogate(*columns), ratio.surrogate(*singly(*columns)))

    def test_on_policy_a_shape_of_the_ratio_is_the_plain_gradient(self, remedy: Remedy) -> None:
        ratio, step_tokens = playing(remedy, roles.Ratio), step()
        slope = ratio.surrogate(step_tokens.logp, step_tokens.logp, step_tokens.advantage).slope
        np.testing.assert_allclose(slope, -step_tokens.advantage)

    def test_a_term_is_the_same_in_torch_and_its_slope_is_its_gradient(
        self, remedy: Remedy
    ) -> None:
        term, step_tokens, nudge = playing(remedy, roles.Term), step(), 1e-6
        logp, prepared = later(step_tokens), term.prepare(step_tokens)
        assert prepared.shape == (TOKENS,)
        exact = term.term(logp, step_tokens.logp, prepared)
        up, down = (
            term.term(logp + delta, step_tokens.logp, prepared).value for delta in (nudge, -nudge)
        )
        np.testing.assert_allclose(exact.slope, (up - down) / (2 * nudge), atol=1e-6)
        single = term.term(*singly(logp, step_tokens.logp, prepared))
        for name in ("value", "slope"):
            expected = getattr(exact, name)
            limit = 1e-6 * max(1.0, float(np.abs(expected).max()))
            np.testing.assert_allclose(getattr(single, name).numpy(), expected, atol=limit)
        assert isinstance(single, roles.Added)

    def test_a_bonus_keeps_its_coefficient_finite(self, remedy: Remedy) -> None:
        bonus = playing(remedy, roles.Bonus)
        coefficient = bonus.start()
        assert bonus.scheduled(0.0).applied(coefficient, 1.0) == bonus.applied(coefficient, 1.0)
        for entropy_nats in (2.0, 0.1, 0.0, 5.0):
            assert np.isfinite(bonus.applied(coefficient, entropy_nats))
            coefficient = bonus.next(coefficient, entropy_nats)
            assert np.isfinite(coefficient)

    def test_groups_are_drawn_once_or_more(self, remedy: Remedy) -> None:
        assert playing(remedy, roles.Filling).most_tries() >= 1

    def test_a_penalty_is_never_a_reward(self, remedy: Remedy) -> None:
        lengths = np.array([[1.0, 20.0, 32.0], [5.0, np.nan, np.nan]])
        penalties = playing(remedy, roles.Penalty).penalties(lengths, 32)
        assert penalties.shape == lengths.shape
        assert (penalties[np.isfinite(lengths)] <= 0).all()
        assert np.isnan(penalties[np.isnan(lengths)]).all()


def playing(remedy: Remedy, role: type[Role]) -> Role:
    """Return the remedy in this role. Skip the test if the remedy does not have it."""
    if not isinstance(remedy, role):
        pytest.skip(f"{remedy.name()} is no {role.__name__}")
    return remedy


def tiny(config: RunConfig) -> RunConfig:
    """Return the config with a language model as its policy."""
    return replace(config, policy=replace(config.policy, name="tiny", kind="tiny"))
