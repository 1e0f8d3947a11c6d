"""Rewards and their advantages, worked out by hand; what rewards must keep, what is refused."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.config.reward import MODES, RewardConfig
from harness.config.run import RunConfig, SimulatorConfig
from harness.errors import ConfigError
from harness.simulator.protocol import SupporterReply
from harness.testing.reward_contract import RewardContract
from harness.train.objective import registry
from harness.train.policy_gradient.rewards import returns
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.rewards import (
    OURS,
    Delta,
    Mixed,
    Reward,
    Terminal,
    TurnCredit,
    Warmth,
    WorkingAlliance,
    card,
    compute_rewards,
)
from harness.utils import extensions
from tests.train import made
from tests.train.made_rewards import MIXED, TURNS, config_of

CTC = RewardConfig(mode="ctc", credit=15.0)
WARMTH = RewardConfig(mode="warmth")


def conversation_of(
    sample: int, emotions: Sequence[float], strategies: Sequence[tuple[str, ...]] = ()
) -> Conversation:
    """A conversation from 40 through `emotions`, as reported; the last ends it."""
    exchanges = [
        (
            SupporterReply("Hm."),
            made.user_turn(50, reported_emotion=float(e), strategies=kinds),
        )
        for e, kinds in zip(emotions, strategies or [()] * len(emotions), strict=True)
    ]
    return made.conversation(0, sample, 40, exchanges)


GROUP = [
    conversation_of(0, (50, 60), [("suggest",), ("question", "inform")]),
    conversation_of(1, (40, 40), [("suggest",), ("affirm",)]),
    conversation_of(2, (30,), [("question",)]),
    conversation_of(3, (40, float("nan"))),
]


@pytest.mark.parametrize(
    ("reward", "wanted"),
    [
        (RewardConfig(), [0.6, 0.4, 0.3]),
        (RewardConfig(mode="delta"), [0.2, 0.0, -0.1]),
        (TURNS, [0.2, 0.0, -0.1]),
        (MIXED, [0.75 * 0.6 + 0.25 * 0.2, 0.75 * 0.4, 0.75 * 0.3 - 0.25 * 0.1]),
        # all, half and none of the replies solve
        (RewardConfig(solution_bias=0.5), [0.8, 0.45, 0.15]),
        (RewardConfig(mode="turns", solution_bias=1.0), [1.0, 0.5, 0.0]),
        (CTC, [0.6, 0.4, 0.3]),
        # suggest and inform are kind to .1, question to .4, affirm to .7, whatever became of it
        (WARMTH, [(0.1 + (0.4 + 0.1) / 2) / 2, (0.1 + 0.7) / 2, 0.4]),
    ],
)
def test_rewards_equal_those_worked_out_by_hand(reward: RewardConfig, wanted: list[float]) -> None:
    totals = compute_rewards(GROUP, reward).total
    assert totals[:3] == pytest.approx(wanted)
    assert np.isnan(totals[3])


def test_advantages_by_turn_equal_those_worked_out_by_hand() -> None:
    advantages = made.advantages_of(
        compute_rewards(GROUP, TURNS), config_of(TURNS, std_floor=None), 1
    )
    assert advantages.shape == (4, 20)
    # first replies .1, 0, -.1 about 0; second .1 and 0 about .05; the lost one is left out
    np.testing.assert_allclose(advantages[:, 0], [0.1, 0, -0.1, 0], atol=1e-15)
    np.testing.assert_allclose(advantages[:, 1], [0.05, -0.05, 0, 0], atol=1e-15)
    assert not advantages[:, 2:].any()


def test_each_turn_is_divided_by_its_own_spread_or_the_floor() -> None:
    advantages = made.advantages_of(
        compute_rewards(GROUP, TURNS), config_of(TURNS, std_floor=0.06), 1
    )
    np.testing.assert_allclose(
        advantages[:3, 0], np.array([0.1, 0, -0.1]) / np.sqrt(0.02 / 3), atol=1e-12
    )
    np.testing.assert_allclose(advantages[:2, 1], np.array([0.05, -0.05]) / 0.06)


def test_a_mix_is_between_terminal_and_turns_and_ends_in_them() -> None:
    config = config_of(TURNS)
    terminal, turns, mixed, none, all_ = (
        made.advantages_of(compute_rewards(GROUP, reward), config, 1)
        for reward in (
            RewardConfig(), TURNS, MIXED, replace(MIXED, mix=0.0), replace(MIXED, mix=1.0),
        )
    )  # fmt: skip
    np.testing.assert_allclose(mixed, 0.75 * terminal + 0.25 * turns, atol=1e-15)
    np.testing.assert_array_equal(none, terminal)
    np.testing.assert_array_equal(all_, turns)
    assert (terminal == terminal[:, :1]).all()


def test_turn_credit_adds_what_a_reply_changed_against_the_mean_of_its_turn() -> None:
    config = config_of(CTC, std_floor=0.1)
    advantages = made.advantages_of(compute_rewards(GROUP, CTC), config, 1)
    terminal = made.advantages_of(compute_rewards(GROUP, RewardConfig()), config, 1)
    # first replies .1, 0, -.1 about 0; second .1 and 0 about .05; nothing is divided
    own = np.zeros((4, 20))
    own[:3, 0], own[:2, 1] = [0.1, 0, -0.1], [0.05, -0.05]
    np.testing.assert_allclose(advantages, terminal + 15 * own, atol=1e-12)
    none = replace(CTC, credit=0.0)
    np.testing.assert_array_equal(
        made.advantages_of(compute_rewards(GROUP, none), config, 1), terminal
    )


@pytest.mark.parametrize("kind", ["grpo", "lite_ppo", "rloo", "dr_grpo", "reinforce"])
def test_turn_credit_is_centred_for_every_algorithm(kind: str) -> None:
    """Where all replies of a turn change the emotion alike, no turn has credit."""
    alike = [conversation_of(n, (50, 60)) for n in range(3)] + [conversation_of(3, (50, 30))]
    advantages = made.advantages_of(compute_rewards(alike, CTC), config_of(CTC, kind=kind), 1)
    terminal = RewardConfig()
    shared = made.advantages_of(compute_rewards(alike, terminal), config_of(terminal, kind=kind), 1)
    np.testing.assert_allclose(advantages[:, 0], shared[:, 0], atol=1e-12)
    factor = 4 / 3 if kind == "rloo" else 1.0  # against the others
    np.testing.assert_allclose(
        advantages[:, 1] - shared[:, 1], 15 * factor * np.array([0.075] * 3 + [-0.225])
    )


def test_a_reply_answers_for_later_turns_by_the_return_mix() -> None:
    def by_turn(mix: float) -> np.ndarray:
        reward = replace(TURNS, return_mix=mix)
        return made.advantages_of(
            compute_rewards(GROUP, reward), config_of(reward, std_floor=None), 1
        )

    # from the first reply on .2, 0, -.1 about .1/3; from the second on .1 and 0, as alone
    wanted = np.zeros((4, 20))
    wanted[:3, 0] = np.array([0.2, 0.0, -0.1]) - 0.1 / 3
    wanted[:2, 1] = [0.05, -0.05]
    np.testing.assert_allclose(by_turn(1.0), wanted, atol=1e-12)
    np.testing.assert_allclose(by_turn(0.25), 0.75 * by_turn(0.0) + 0.25 * wanted, atol=1e-12)


def test_the_return_is_what_a_reply_and_all_later_ones_have() -> None:
    nan = np.nan
    parts = np.array([[1.0, 2.0, 4.0], [3.0, -1.0, nan], [nan, nan, nan]])
    np.testing.assert_array_equal(returns(parts), [[7, 6, 4], [2, -1, nan], [nan, nan, nan]])


def test_algorithms_that_cannot_credit_turns_refuse_them() -> None:
    for kind, reward, sentence in (
        ("ppo", CTC, "reward.mode must not be ctc with algorithm.kind=ppo, whose critic replaces"),
        ("ppo", replace(TURNS, return_mix=0.5), "reward.return_mix must be 0 with algorithm.kind="),
        ("max_rl", CTC, "reward.mode must not be delta, turns, mixed or ctc with"),
        ("kto", CTC, "reward.mode must not be turns, mixed or ctc with algorithm.kind=kto"),
        ("gspo", CTC, "reward.mode must not be turns, mixed or ctc with algorithm.kind=gspo"),
    ):
        with pytest.raises(ConfigError) as caught:
            registry.check(config_of(reward, kind=kind))
        assert sentence in str(caught.value)


def test_warmth_is_what_was_said_whoever_heard_it() -> None:
    """It goes by strategies alone: emotions and intentions may be any."""
    said = [("affirm", "reflect"), ()]
    for emotions in ((10, 0), (90, 100)):
        (earned,) = compute_rewards([conversation_of(0, emotions, said)], WARMTH).total
        assert earned == pytest.approx(0.7 / 2)  # a reply in which nothing is recognised has 0


def test_alliance_is_refused_where_nobody_knows_what_users_came_for() -> None:
    with extensions.registered("simulator", "x", 0), pytest.raises(ConfigError) as caught:
        RunConfig(reward=RewardConfig(mode="alliance"), simulator=SimulatorConfig("x", "x"))
    assert str(caught.value) == (
        "reward.mode must not be alliance with simulator.kind=x, since the goals of its users are "
        "not known, got alliance"
    )


def test_solving_is_credited_to_the_reply_that_solves() -> None:
    biased = RewardConfig(mode="turns", solution_bias=1.0)
    advantages = made.advantages_of(
        compute_rewards(GROUP, biased), config_of(biased, std_floor=None), 1
    )
    # first replies earn 1/2, 1/2 and 0; second ones 1/2 and 0
    np.testing.assert_allclose(advantages[:3, 0], [1 / 6, 1 / 6, -1 / 3])
    np.testing.assert_allclose(advantages[:2, 1], [0.25, -0.25])


def test_a_null_control_deals_out_whole_conversations() -> None:
    real = made.advantages_of(compute_rewards(GROUP, TURNS), config_of(TURNS), 1)
    seen = set()
    for step in range(1, 30):
        null = made.advantages_of(
            compute_rewards(GROUP, TURNS), config_of(TURNS, null_control=True), step
        )
        assert sorted(map(tuple, null)) == sorted(map(tuple, real))
        assert not null[3].any()
        seen.add(null.tobytes())
    assert len(seen) == 6  # the lost conversation takes no part


def test_unlike_rewards_have_unlike_cards() -> None:
    rewards = [RewardConfig(), RewardConfig(mode="delta"), TURNS, MIXED, replace(MIXED, mix=0.5)]
    rewards += [RewardConfig(solution_bias=0.1), CTC, replace(CTC, credit=1.0), WARMTH]
    rewards.append(replace(TURNS, return_mix=0.5))
    assert len({repr(card(reward)) for reward in rewards}) == len(rewards)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"mode": "final"},
            "reward.mode must be one of terminal, delta, turns, mixed, ctc, warmth, alliance, got "
            "'final'",
        ),
        ({"solution_bias": 1.5}, "reward.solution_bias must lie between 0 and 1, got 1.5"),
        ({"mode": "mixed"}, "reward.mix must be a number if reward.mode is mixed, got null"),
        ({"mode": "mixed", "mix": -1}, "reward.mix must lie between 0 and 1, got -1"),
        ({"mode": "ctc"}, "reward.credit must be a number if reward.mode is ctc, got null"),
        ({"mode": "ctc", "credit": -1.0}, "reward.credit must lie between 0 and 1000, got -1"),
        ({"mode": "turns", "return_mix": 2.0}, "reward.return_mix must lie between 0 and 1"),
    ],
)
def test_a_wrong_reward_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RewardConfig(**values)
    assert message in str(caught.value)


class TestOurs(RewardContract):
    @pytest.fixture(
        params=[
            Terminal(),
            Delta(),
            Mixed(),
            Mixed(0.5),
            TurnCredit(),
            Warmth(),
            WorkingAlliance(),
        ],
        ids=repr,
    )
    def reward(self, request: pytest.FixtureRequest) -> Reward:
        reward: Reward = request.param
        return reward


def test_every_mode_of_the_config_is_there() -> None:
    assert tuple(OURS) == MODES
