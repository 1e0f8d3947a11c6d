"""Critique-GRPO: its loss and advantages, whole tabular runs, and what it cannot do."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from harness.compose import planner
from harness.config.curriculum import CurriculumConfig
from harness.errors import ConfigError
from harness.testing.algorithm_contract import CONFIG, TOKENS, AlgorithmContract, tokens_for
from harness.train.algorithms.critique_grpo import CritiqueGrpo
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.losses import LossTokens, shaped_loss
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.policy_gradient.rewards import Rewards
from tests.train.made import LEVELS, go_on, make_run, rows_of, tabular

AGAIN = np.arange(TOKENS) % 3 == 0


class TestCritiqueGrpo(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return CritiqueGrpo()


def mixed(algorithm: CritiqueGrpo) -> LossTokens:
    """Tokens of which each third was spoken again."""
    return replace(tokens_for(algorithm), prepared=(AGAIN.astype(float),))


@pytest.mark.parametrize(("p", "slope"), [(0.1, 0.25), (1.0, 0.1 / 1.21), (0.01, 0.001 / 0.0121)])
def test_the_shaped_slope_is_largest_where_p_is_the_shaping(p: float, slope: float) -> None:
    """-A shaping p / (p + shaping)^2, the table of the paper's code at shaping 0.1."""
    made = shaped_loss(np.log([p]), np.array([2.0]), 0.1)
    assert made.slope[0] == pytest.approx(-2 * slope, abs=1e-12)
    assert made.value[0] == pytest.approx(-2 * p / (p + 0.1), abs=1e-12)


def test_the_slope_goes_through_f_by_finite_differences_and_autograd() -> None:
    algorithm, step = CritiqueGrpo(shaping=0.3), 1e-6
    given = mixed(algorithm)
    slope = algorithm.loss(given, CONFIG).slope
    up, down = (
        algorithm.loss(replace(given, logp=given.logp + by), CONFIG).value for by in (step, -step)
    )
    np.testing.assert_allclose(slope, (up - down) / (2 * step), atol=1e-8)
    logp = torch.tensor(given.logp, requires_grad=True)
    p, advantage = logp.exp(), torch.tensor(given.advantage)
    untold = (logp - torch.tensor(given.old_logp)).exp()
    loss = -advantage * torch.where(torch.tensor(AGAIN), p / (p + 0.3), untold)
    (wanted,) = torch.autograd.grad(loss.sum(), logp)
    np.testing.assert_allclose(slope, wanted, atol=1e-12)


def test_only_what_was_spoken_again_is_shaped() -> None:
    algorithm = CritiqueGrpo()
    given = mixed(algorithm)
    ratio = np.exp(given.logp - given.old_logp)
    slope = algorithm.loss(given, CONFIG).slope
    np.testing.assert_allclose(slope[~AGAIN], (-ratio * given.advantage)[~AGAIN], atol=1e-15)
    step = StepTokens(given.logp, given.advantage, None, None, np.random.default_rng(1))
    assert not algorithm.prepare(step)[0].any()
    assert algorithm.prepare(replace(step, is_refined=AGAIN))[0].tolist() == AGAIN.tolist()


def test_advantages_are_the_distance_from_the_mean_with_the_refined_one_in_it() -> None:
    """By hand: 0.1 was the worst of 0.1, 0.5, 0.3, 0.7 and became 0.9; the mean is then 0.6."""
    refined = Rewards.of(np.array([0.9, 0.5, 0.3, 0.7]))
    advantages = CritiqueGrpo().advantages(refined, None, CONFIG)[:, 0]
    np.testing.assert_allclose(advantages, [0.3, -0.1, -0.3, 0.1], atol=1e-15)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_stopped_run_goes_on_to_the_same_bytes(tmp_path: Path, reverse: bool) -> None:
    config = tabular(
        LEVELS.hard, algorithm={"kind": "critique_grpo"}, steps=6, checkpoint_every=2,
        updates_per_batch=2,
    )  # fmt: skip
    if reverse:
        course = CurriculumConfig(name="reverse", kind="reverse", whole_from=5)
        config = replace(config, curriculum=course)
    straight = rows_of(tmp_path / "straight", config)
    assert all(row["refined/replies"] > 0 for row in straight)
    stopped = make_run(tmp_path / "stopped", config)
    go_on(stopped, stop_after=3)
    go_on(stopped)
    assert stopped.metrics.read_bytes() == (tmp_path / "straight/metrics.jsonl").read_bytes()


def test_the_first_row_speaks_of_what_the_policy_did_untold(tmp_path: Path) -> None:
    """R, H and kl of the first batch are those of grpo's; what is learnt from is another."""
    rows = {
        kind: rows_of(tmp_path / kind, tabular(LEVELS.hard, algorithm={"kind": kind}, steps=1))[0]
        for kind in ("grpo", "critique_grpo")
    }
    for column in ("reward", "entropy", "entropy/t1", "kl", "turns/mean", "emotion/final"):
        assert rows["critique_grpo"][column] == rows["grpo"][column]
    assert rows["critique_grpo"]["cov/mean"] != rows["grpo"]["cov/mean"]
    assert rows["grpo"]["refined/replies"] is None


@pytest.mark.parametrize(
    "words",
    [
        ("reward=mixed", "remedy=dynamic_sampling"),
        ("reward=delta", "remedy=entropy_bonus"),
        ("algorithm.null_control=true", "algorithm.options.critique=score", "simulator=second"),
    ],
)
def test_it_goes_with_other_rewards_users_and_remedies(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    small = ("trainer.steps=2", "trainer.conversations=16", "policy=tabular", "difficulty=hard")
    plan = planner.plan(["algorithm=critique_grpo", "seed=1", *small, *words])
    last = rows_of(tmp_path / "r", plan.points[0].config)[-1]
    assert last["refined/replies"] > 0
    assert np.isfinite(last["grad_norm"])


def test_what_it_cannot_do_is_refused_by_name() -> None:
    def refused(*words: str) -> str:
        with pytest.raises(ConfigError) as error:
            planner.plan(["algorithm=critique_grpo", *words])
        return str(error.value)

    tab = "policy=tabular"
    assert refused(tab, "curriculum=mixed") == (
        "curriculum.kind must be none or reverse with algorithm.kind=critique_grpo, whose "
        "conversations are taken over at the run's own level, got mixed"
    )
    assert refused(tab, "simulator=second") == (
        "algorithm.options.critique must not be reason with simulator.kind=second, whose "
        "appraisals have no parts for a strategy, got reason"
    )
    assert refused(tab, "algorithm.options.critique=hint") == (
        "algorithm.options.critique must be one of none, score, reaction, reason, got 'hint'"
    )
    assert refused(tab, "algorithm.options.shaping=0") == (
        "algorithm.options.shaping must lie between 0.001 and 10, got 0"
    )
    assert refused(tab, "remedy=dppo").startswith(
        "remedy.methods.dppo must go with an algorithm that has a ratio"
    )
    assert refused(tab, "algorithm.clip_low=0.1", "trainer.updates_per_batch=2") == (
        "algorithm.clip_low: has no effect with algorithm.kind=critique_grpo, since it does not "
        "clip, got 0.1"
    )
