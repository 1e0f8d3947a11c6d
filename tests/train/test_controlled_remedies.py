"""Remedies whose strength follows the entropy: what they carry from step to step, and refuse."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.config.run import AlgorithmConfig, RemedyConfig
from harness.errors import ConfigError
from harness.testing.remedy_contract import observed, step
from harness.train.policy_gradient.adaptive import Doubling
from harness.train.policy_gradient.remedy_roles import Adaptive, State
from harness.train.remedies.adapo import Adapo
from harness.train.remedies.entrocraft import Entrocraft
from harness.train.remedies.entropy_controller import EntropyController
from harness.train.remedies.repo_d import RepoD
from harness.train.remedies.repo_r import RepoR
from harness.train.remedies.turn_band import TurnBand
from tests.train.made import go_on, stack_of, tokens_of
from tests.train.made_remedies import made_of, rows_of


def states(remedy: Adaptive, *entropies: float) -> list[State]:
    """What it carries in steps of these entropies, in nats."""
    given, seen = step(), list[State]()
    state: State = {}
    for nats in entropies:
        tokens = replace(given, entropy_nats=np.full(len(given.logp), nats))
        state = remedy.observed(state, tokens)
        seen.append(state)
    return seen


@pytest.mark.parametrize(
    "method",
    [RepoR(zeta=0.01, least=0.01, most=0.04), RepoD(zeta=0.01, least=0.01, most=0.04)],
)
def test_zeta_doubles_below_the_start_and_halves_above_and_changes_sign(method: Doubling) -> None:
    zetas = [s["zeta"] for s in states(method, 2.0, 1.9, 1.9, 1.9, 2.1, 2.1, 2.1, 2.1, 2.1, 1.9)]
    assert zetas == [0.01, 0.02, 0.04, 0.04, 0.02, 0.01, -0.01, -0.02, -0.04, -0.02]
    lower = replace(method, target_share=0.5)
    assert [s["zeta"] for s in states(lower, 2.0, 1.1, 0.9)] == [0.01, -0.01, 0.01]


def test_repo_r_is_the_loss_of_the_rescaled_advantage() -> None:
    """A (1 - zeta log p) and A (1 + zeta log p), neither past 0; zeta 0.7 lets some off whole."""
    method, given = RepoR(zeta=0.7, least=0.1, most=1.0), step()
    given = replace(given, advantage=np.where(given.advantage > 1, 0, given.advantage))
    stack = stack_of(AlgorithmConfig(), method)
    result = stack.loss(tokens_of(given.logp, given.logp, given.advantage), stack.select(given))
    advantage, logp = torch.tensor(given.advantage), torch.tensor(given.logp)
    good = (advantage * (1 - 0.7 * logp)).clamp(min=0)
    bad = (advantage * (1 + 0.7 * logp)).clamp(max=0)
    x = logp.clone().requires_grad_()
    loss = -((x - logp).exp() * torch.where(advantage > 0, good, bad)).sum()
    (slope,) = torch.autograd.grad(loss, x)
    np.testing.assert_allclose(result.loss.slope, slope, atol=1e-12)
    assert (slope == 0).float().mean() > 0.2
    np.testing.assert_array_equal(result.acted, given.advantage != 0)


def test_repo_d_is_the_loss_of_advantages_less_what_the_step_would_cost() -> None:
    method, given = RepoD(zeta=2.0, most=4.0), step()
    likely = given.logp > -2
    given = replace(given, advantage=np.where(likely, 1.0, 0.0), entropy_nats=-given.logp[::-1])
    stack = stack_of(AlgorithmConfig(clip_low=0.1, clip_high=0.1), method)
    now = given.logp + np.where(np.arange(len(given.logp)) % 2, 0.3, -0.3)
    result = stack.loss(tokens_of(now, given.logp, given.advantage), stack.select(given))
    logp, advantage = torch.tensor(given.logp), torch.tensor(given.advantage)
    centred = logp + torch.tensor(np.array(given.entropy_nats))
    change = -(advantage * centred * logp.exp()).mean()
    taken = advantage + 2.0 * change * centred
    x = torch.tensor(now, requires_grad=True)
    ratio = (x - logp).exp()
    loss = -torch.min(ratio * taken, ratio.clamp(0.9, 1.1) * taken).sum()
    (slope,) = torch.autograd.grad(loss, x)
    np.testing.assert_allclose(result.loss.slope, slope, atol=1e-12)
    assert (slope[~torch.tensor(likely)] != 0).any()  # also where the advantage is 0


def test_the_bound_of_adapo_follows_the_entropy_and_shapes_the_loss() -> None:
    method = Adapo(least=0.1)
    highs = [s["clip_high"] for s in states(method, 2.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0)]
    assert highs == pytest.approx([0.28, 0.56, 1.0, 1.0, 0.5, 0.25, 0.125, 0.1])
    given = step()
    stack = replace(stack_of(AlgorithmConfig(), method), states={"adapo": states(method, 9.0)[0]})
    selection = stack.select(given)
    assert selection.states["adapo"]["clip_high"] == 0.56
    now = given.logp + 0.4
    result = stack.loss(tokens_of(now, given.logp, given.advantage), selection)
    x = torch.tensor(now, requires_grad=True)
    ratio, advantage = (x - torch.tensor(given.logp)).exp(), torch.tensor(given.advantage)
    loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.56) * advantage).sum()
    (slope,) = torch.autograd.grad(loss, x)
    np.testing.assert_allclose(result.loss.slope, slope, atol=1e-12)
    assert (result.acted == (given.advantage > 0)).all()  # where 1.49 is beyond PPO's 1.2


def test_entrocraft_learns_from_the_side_that_moves_the_entropy_into_its_band() -> None:
    given, method = step(), Entrocraft(lower_start=1.0, lower_end=0.5, upper_start=2, upper_end=1)
    assert [method.band(p) for p in (0.0, 0.5, 1.0)] == [(1.0, 2.0), (0.75, 1.5), (0.5, 1.0)]
    good, bad = given.advantage > 0, given.advantage < 0
    cases = [(0.0, 1.5, good | bad), (0.5, 1.6, good), (0.5, 0.7, bad), (1.0, 0.7, good | bad)]
    for progress, nats, kept in cases:
        level = np.full(len(good), nats)
        weights = method.weigh(replace(given, progress=progress, entropy_nats=level))
        np.testing.assert_array_equal(weights.weight == 1, kept)
        np.testing.assert_array_equal(weights.chosen, ~kept)


def test_a_controllers_target_goes_from_start_to_end() -> None:
    fixed, moved = EntropyController(), EntropyController(target=1.0, target_end=0.5)
    assert fixed.scheduled(0.7) is fixed
    assert [moved.scheduled(p).target for p in (0.0, 0.5, 1.0)] == [1.0, 0.75, 0.5]
    assert moved.scheduled(0.5).applied(0.1, 0.8) == 0.0 == moved.scheduled(0.5).next(0.0, 0.8)
    assert moved.scheduled(0.0).applied(0.1, 0.8) == 0.1


def test_a_turns_entropy_is_raised_below_its_history_and_lowered_above() -> None:
    method, given = TurnBand(coefficient=0.1), step()
    assert not method.coefficients(observed(method, given)).any()
    assert given.turn is not None
    assert given.entropy_nats is not None
    state = observed(method, given, 2).state
    for turn, times in ((1, 0.7), (2, 0.9), (3, 1.1), (4, 1.3)):
        level = np.where(given.turn == turn, times * state[f"mean_{turn}"], given.entropy_nats)
        given = replace(given, entropy_nats=level)
    state = method.observed(state, given)
    coefficients = method.coefficients(replace(given, state=state))
    by_turn = [set(coefficients[given.turn == turn]) for turn in range(1, 6)]
    assert by_turn == [{0.1}, {0.0}, {0.0}, {-0.1}, {0.0}]


def test_the_history_is_the_mean_over_the_steps_before() -> None:
    seen = states(TurnBand(), 1.0, 2.0, 4.5, 0.0)
    assert [s.get("mean_1") for s in seen] == pytest.approx([None, 1.0, 1.5, 2.5])
    assert seen[3]["count_1"] == 3


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (
            lambda: RepoR(least=0.1, most=0.01),
            "remedy.methods.repo_r.least must not exceed remedy.methods.repo_r.most (0.01), "
            "got 0.1",
        ),
        (
            lambda: RepoD(zeta=-20.0),
            "remedy.methods.repo_d.zeta must be of a size from remedy.methods.repo_d.least to "
            "remedy.methods.repo_d.most (0.0001 to 10), got -20",
        ),
        (
            lambda: Adapo(clip_high=2.0),
            "remedy.methods.adapo.clip_high must be from remedy.methods.adapo.least to "
            "remedy.methods.adapo.most (0.2 to 1), got 2",
        ),
        (
            lambda: Entrocraft(lower_end=0.6),
            "remedy.methods.entrocraft.lower_end must not exceed "
            "remedy.methods.entrocraft.upper_end (0.5), got 0.6",
        ),
    ],
)
def test_bounds_the_wrong_way_round_are_refused(method: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        method()
    assert str(error.value) == sentence


CARRIED: dict[str, dict[str, Any]] = {
    "repo_r": {"zeta": 0.05, "most": 1.0},
    "era": {"low": 1.0},
    "turn_band": {"low": 1.0, "high": 1.0, "coefficient": 0.05},
    "adapo": {},
    "entrocraft": {"lower_start": 1.8, "lower_end": 1.8, "upper_start": 1.8, "upper_end": 1.8},
}


def test_what_is_carried_is_resumed_to_the_same_bytes(tmp_path: Path) -> None:
    remedy = RemedyConfig("many", CARRIED)
    whole, cut = (made_of(tmp_path / name, remedy, steps=6) for name in ("whole", "cut"))
    assert go_on(whole)[0] == 0
    assert go_on(cut, stop_after=3)[0] == 75
    assert go_on(cut)[0] == 0
    assert cut.metrics.read_bytes() == whole.metrics.read_bytes()
    assert all(row["remedy/acted"] > 0 for row in rows_of(whole))
    assert rows_of(whole)[0]["entropy_coef"] == 0
    assert any(row["entropy_coef"] != 0 for row in rows_of(whole))
