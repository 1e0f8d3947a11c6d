"""PPO: its advantages over time, its critic's loss, and what a critic is for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.compose import planner
from harness.config.run import MAX_TURNS, RunConfig
from harness.errors import ConfigError
from harness.policy.tabular import Observations, TabularPolicy
from harness.testing.algorithm_contract import (
    CONFIG,
    CONVERSATIONS,
    AlgorithmContract,
    rewards,
    tokens,
    values,
)
from harness.train.algorithms.ppo import Ppo
from harness.train.algorithms.reinforce import Reinforce
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.critic import LinearCritic, value_losses, value_slopes
from harness.train.policy_gradient.rewards import Rewards
from harness.train.rollout.learning_signal import Actions, learning_signal
from tests.train.made import FEW, finish, go_on, make_run, rows_of, tabular

PLAIN = Ppo(advantage_norm="none")


class TestPpo(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return Ppo()


def of_lengths(shared: FloatArray, replies: list[int], **parts: Any) -> Rewards:
    return replace(Rewards.of(shared, **parts), replies=np.array(replies))


def test_advantages_over_time_equal_those_worked_out_by_hand() -> None:
    """Two replies and one reply; gamma .5, lambda .8."""
    expected = np.zeros((2, MAX_TURNS))
    expected[0, :2], expected[1, 0] = [0.2, 0.6], 0.3
    given = of_lengths(np.array([1.0, 0.5]), [2, 1])
    sighted = replace(PLAIN, gamma=0.5, gae_lambda=0.8)
    made = sighted.advantages(given, expected, CONFIG)
    last = 1.0 - 0.6
    first = (0.5 * 0.6 - 0.2) + 0.5 * 0.8 * last
    assert made[0, :2] == pytest.approx([first, last], abs=1e-12)
    assert made[1, 0] == pytest.approx(0.5 - 0.3, abs=1e-12)
    assert (made[0, 2:] == made[0, 1]).all()  # a null control may deal it to a longer one
    learnt = sighted.targets(given, expected, CONFIG)
    assert learnt[0, :2] == pytest.approx([first + 0.2, 1.0], abs=1e-12)


def test_with_lambda_and_gamma_one_it_is_the_reward_minus_the_value() -> None:
    lengths = [1 + n % MAX_TURNS for n in range(CONVERSATIONS)]
    given = of_lengths(rewards().shared, lengths)
    made, learnt = (of(given, values(), CONFIG) for of in (PLAIN.advantages, PLAIN.targets))
    known = np.isfinite(given.shared)
    for row, length in enumerate(lengths):
        if known[row]:
            wanted = given.shared[row] - values()[row, :length]
            np.testing.assert_allclose(made[row, :length], wanted, atol=1e-12)
            np.testing.assert_allclose(learnt[row, :length], given.shared[row], atol=1e-12)
    assert np.isnan(learnt[~known]).all()
    assert not made[~known].any()


def test_rewards_of_turns_add_up_to_what_is_still_to_come() -> None:
    per_turn = np.full((1, MAX_TURNS), np.nan)
    per_turn[0, :3] = [0.1, -0.2, 0.4]
    given = of_lengths(np.array([0.9]), [3], per_turn=per_turn, mix=0.75)
    to_come = PLAIN.advantages(given, None, CONFIG)[0, :3]
    end = 0.25 * 0.9
    assert to_come == pytest.approx([0.225 + end, 0.15 + end, 0.3 + end], abs=1e-12)


def tokens_in(replies: list[list[int]], features: FloatArray) -> Actions:
    """The tokens of conversations whose replies have so many tokens each."""
    place = np.concatenate([np.arange(sum(row)) for row in replies])
    owner = np.repeat(np.arange(len(replies)), [sum(row) for row in replies])
    reply = np.concatenate([np.repeat(np.arange(len(row)), row) for row in replies])
    return Actions(owner, place, features, reply)


def test_with_a_value_a_token_time_goes_on_token_by_token() -> None:
    """Two replies, of two tokens and one, and one reply of two; gamma .5, lambda .8."""
    by_token = replace(PLAIN, value_per="token", gamma=0.5, gae_lambda=0.8)
    actions = tokens_in([[2, 1], [2]], np.eye(5))
    critic = LinearCritic(0.02, 1, np.stack([[0.1, 0.2, 0.3, 0.4, 0.5, 0.0], *np.zeros((2, 6))]))
    per_turn = np.full((2, MAX_TURNS), np.nan)
    per_turn[0, :2], per_turn[1, 0] = [0.6, -0.2], 0.8
    given = Rewards.of(np.array([1.0, 0.0]), per_turn=per_turn, mix=0.5)
    signal = learning_signal(by_token, critic, given, actions, RunConfig(), 1)
    third = -0.1 + 0.5 - 0.3  # its reply's own part and the conversation's reward, each by half
    second = (0.3 + 0.5 * 0.3 - 0.2) + 0.4 * third  # its reply's own part
    first = (0.5 * 0.2 - 0.1) + 0.4 * second
    last = 0.4 + 0.0 - 0.5
    before = (0.5 * 0.5 - 0.4) + 0.4 * last
    assert signal.token_advantages is not None
    assert signal.critic_batch is not None
    exact = pytest.approx([first, second, third, before, last], abs=1e-12)
    assert signal.token_advantages.tolist() == exact
    learnt = signal.token_advantages + critic.values(actions.features)
    np.testing.assert_allclose(signal.critic_batch.targets, learnt, atol=1e-12)
    of_replies = signal.advantages
    assert of_replies.shape == (2, MAX_TURNS)
    assert of_replies[0, :2] == pytest.approx([(first + second) / 2, third], abs=1e-12)
    assert of_replies[1, 0] == pytest.approx((before + last) / 2, abs=1e-12)
    assert not of_replies[0, 2:].any()  # where no reply is


def test_a_critic_that_expects_as_much_of_all_tokens_of_a_reply_is_one_a_reply() -> None:
    rng = np.random.default_rng(4)
    replies = [rng.integers(1, 6, rng.integers(1, 5)).tolist() for _ in range(12)]
    given = of_lengths(rng.random(12), [len(row) for row in replies])
    given.shared[3] = np.nan
    of_reply = rng.normal(0, 1, (sum(map(len, replies)), 4))
    whole = Actions(
        np.repeat(np.arange(12), [len(row) for row in replies]),
        np.concatenate([np.arange(len(row)) for row in replies]),
        of_reply,
    )
    tokens_each = np.concatenate(replies)
    split = tokens_in(replies, of_reply.repeat(tokens_each, axis=0))
    critic = LinearCritic(0.02, 1, rng.normal(0, 1, (3, 5)))
    made = [
        learning_signal(replace(PLAIN, value_per=per), critic, given, seen, RunConfig(), 1)
        for per, seen in (("reply", whole), ("token", split))
    ]
    expected = made[0].advantages[whole.conversation, whole.place].repeat(tokens_each)
    assert made[1].token_advantages is not None
    assert made[0].token_advantages is None
    np.testing.assert_allclose(made[1].token_advantages, expected, atol=1e-12)
    assert made[1].critic_batch is not None
    assert len(made[1].critic_batch.targets) == sum(map(sum, replies)) - sum(replies[3])


def test_a_null_control_deals_whole_conversations_of_tokens() -> None:
    """Also to a longer conversation, which then goes on with the last of what it was dealt."""
    shared, replies = np.arange(6.0), [[1], [2], [3], [1, 2], [4], [2, 3]]
    null = RunConfig(algorithm=replace(CONFIG, null_control=True))
    actions = tokens_in(replies, np.zeros((18, 1)))
    by_token = replace(PLAIN, value_per="token")
    signal = learning_signal(by_token, LinearCritic.start(0.1, 1), of_lengths(shared, [1] * 6),
                             actions, null, 1)  # fmt: skip
    assert signal.token_advantages is not None
    dealt = [set(signal.token_advantages[actions.conversation == n]) for n in range(6)]
    assert all(len(of_one) == 1 for of_one in dealt)
    assert sorted(value for of_one in dealt for value in of_one) == shared.tolist()
    assert dealt != [{value} for value in shared]


def test_whitened_advantages_have_mean_0_and_deviation_1_over_the_replies_that_were_made() -> None:
    lengths = [1 + n % 7 for n in range(CONVERSATIONS)]
    given = of_lengths(rewards().shared, lengths)
    made = Ppo().advantages(given, values(), CONFIG)
    mine = np.concatenate(
        [made[n, :k] for n, k in enumerate(lengths) if np.isfinite(given.shared[n])]
    )
    assert (mine.mean(), mine.std()) == (pytest.approx(0, abs=1e-12), pytest.approx(1, abs=1e-6))


def test_a_critic_that_expects_nothing_leaves_reinforce() -> None:
    """V = 0, lambda = gamma = 1, nothing whitened: the gradient of -R log p, to 1e-12."""
    given, nothing = rewards(), np.zeros((CONVERSATIONS, MAX_TURNS))
    made = PLAIN.advantages(given, nothing, CONFIG)
    plain = Reinforce(critic_rate=0.1).advantages(given, nothing, CONFIG)
    np.testing.assert_allclose(made, plain, atol=1e-12)
    # at the weights that drew the tokens a clipped ratio has the score function's slope
    on_policy = replace(tokens(), logp=tokens().old_logp)
    ppo, reinforce = (a.loss(on_policy, CONFIG).slope for a in (PLAIN, Reinforce()))
    np.testing.assert_allclose(ppo, reinforce, atol=1e-12)


def game(
    rng: np.random.Generator, count: int = 32
) -> tuple[Observations, Any, FloatArray, Rewards]:
    """Conversations with a known user: three replies, each of a fixed worth to one of two moods.

    Returns observations, acts, shape (3, count), the exact value before each reply, and rewards.
    """
    worth = np.linspace(-0.4, 0.4, 16).reshape(2, 8)[:, [3, 0, 6, 1, 7, 4, 2, 5]]
    mood = rng.integers(0, 2, count)
    seen = Observations(np.eye(2)[mood])
    p = np.exp(TabularPolicy(np.zeros((2, 8)), "last_words").log_probabilities(seen, 1.0))
    acts = np.stack([[rng.choice(8, p=row) for row in p] for _ in range(3)])
    gained = worth[mood, acts]
    to_come = (p * worth[mood]).sum(axis=1)
    exact = np.zeros((count, MAX_TURNS))
    for turn in range(3):
        exact[:, turn] = 0.5 + gained[:turn].sum(axis=0) + (3 - turn) * to_come
    return seen, acts, exact, of_lengths(0.5 + gained.sum(axis=0), [3] * count)


def test_exact_values_lower_the_variance_of_the_gradient_and_not_its_mean() -> None:
    rng, policy = np.random.default_rng(1), TabularPolicy(np.zeros((2, 8)), "last_words")
    drawn: dict[str, list[FloatArray]] = {"exact": [], "none": []}
    for _ in range(300):
        seen, acts, exact, given = game(rng)
        for name, expected in (("exact", exact), ("none", np.zeros_like(exact))):
            advantages = PLAIN.advantages(given, expected, CONFIG)
            parts = [policy.gradient(seen, acts[t], advantages[:, t], 1.0) for t in range(3)]
            drawn[name].append(sum(parts, np.zeros((2, 8))).ravel())
    exact_draws, plain_draws = (np.stack(drawn[name]) for name in ("exact", "none"))
    assert exact_draws.var(axis=0).sum() < 0.6 * plain_draws.var(axis=0).sum()
    error = (exact_draws - plain_draws).std(axis=0) / np.sqrt(300)
    apart = np.abs(exact_draws.mean(axis=0) - plain_draws.mean(axis=0)) / error
    assert (apart < 3.5).all()  # of 16 numbers
    assert np.abs(exact_draws.mean(axis=0) / exact_draws.std(axis=0) * np.sqrt(300)).max() > 10


@pytest.mark.parametrize("clip", [None, 0.3])
def test_the_slope_of_a_value_is_that_of_its_loss_by_finite_differences(clip: float | None) -> None:
    rng, step = np.random.default_rng(2), 1e-6
    before, targets = rng.normal(0, 1, 400), rng.normal(0, 1, 400)
    now = before + rng.normal(0, 0.5, 400)
    up, down = (value_losses(now + by, before, targets, clip) for by in (step, -step))
    slopes = value_slopes(now, before, targets, clip)
    np.testing.assert_allclose(slopes, (up - down) / (2 * step), atol=1e-6)
    assert (slopes == 0).any() == (clip is not None)


def test_a_value_that_has_gone_far_enough_on_a_batch_learns_no_more_from_it() -> None:
    features, targets = np.ones((50, 1)), np.full(50, 3.0)
    free, held = (
        LinearCritic.start(0.05, 400, clip).fitted(features, targets).values(features)[0]
        for clip in (None, 0.5)
    )
    assert free == pytest.approx(3.0, abs=0.01)
    assert 0.5 < held < 2  # Adam's moments carry it past the bound


def refused(*words: str) -> str:
    with pytest.raises(ConfigError) as error:
        planner.plan(["policy=tabular", "algorithm=ppo", *words])
    return str(error.value)


def test_a_mistake_names_its_key() -> None:
    key = "algorithm.options"
    assert refused(f"{key}.gae_lambda=2") == f"{key}.gae_lambda must lie between 0 and 1, got 2"
    assert refused(f"{key}.value_lr=1").startswith(f"a key of {key} must be one of gamma, ")
    assert refused(f"{key}.advantage_norm=group").startswith(
        f"{key}.advantage_norm must be one of batch, none, got 'group'"
    )
    assert refused(f"{key}.value_per=token") == (
        f"{key}.value_per must be reply with policy.kind=tabular, which samples whole replies, "
        "got token"
    )
    assert refused("remedy=dynamic_sampling").startswith(
        "remedy.methods.dynamic_sampling must go with an algorithm that compares groups"
    )


WITH_CRITIC: dict[str, Any] = {"kind": "ppo", "group_size": 1, "learning_rate": 12.0}


def test_a_critic_that_diverges_ends_70_with_its_name(tmp_path: Path) -> None:
    wild = tabular(algorithm={**WITH_CRITIC, "options": {"value_rate": 100.0}}, steps=4)
    run = make_run(tmp_path / "r", wild)
    code, _, said = finish(run)
    assert code == 70
    assert f"{run.path}: step 1: the critic must stay near the rewards, and is off by " in said
    assert "at algorithm.options.value_rate=100; lower the rate" in said


def test_a_checkpoint_whose_critic_was_taken_is_refused_before_anything_changes(
    tmp_path: Path,
) -> None:
    config = tabular(algorithm=WITH_CRITIC, steps=4, checkpoint_every=1)
    run = make_run(tmp_path / "r", config)
    go_on(run, stop_after=2)
    saved = run.checkpoints / "step-00002" / "critic.npz"
    kept = saved.read_bytes()
    saved.unlink()
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    with pytest.raises(ConfigError) as error:
        go_on(run)
    assert str(error.value) == (
        f"{saved}: a checkpoint of algorithm.kind=ppo must hold the run's critic, got no such "
        "file; restore it, or move step-00002 away to continue from an earlier checkpoint"
    )
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before
    saved.write_bytes(kept)
    assert go_on(run)[0] == 0


def test_a_checkpoint_that_has_more_wrong_than_its_critic_is_passed_over(tmp_path: Path) -> None:
    config = tabular(algorithm=WITH_CRITIC, steps=4, checkpoint_every=2)
    run = make_run(tmp_path / "r", config)
    go_on(run, stop_after=2)
    (saved,) = run.checkpoints.glob("*/critic.npz")
    saved.unlink()
    (saved.parent / "table.npy").write_bytes(b"broken")
    code, events, said = go_on(run)
    assert (code, events[0]["step"]) == (0, 0)  # from the start, to the same rows
    assert "critic.npz differs from its manifest" in said


@pytest.mark.slow
@pytest.mark.parametrize(("level", "least"), [("medium", 0.25), ("hard", 0.15)])
def test_it_explains_rewards_after_fifty_steps(tmp_path: Path, level: str, least: float) -> None:
    (point,) = planner.plan(
        ["policy=tabular", "algorithm=ppo", f"difficulty={level}", "trainer.steps=100",
         "trainer.eval_every=0", f"eval.users={FEW}"]
    ).points  # fmt: skip
    explained = [r["value/explained_variance"] for r in rows_of(tmp_path / "r", point.config)]
    assert np.mean(explained[-50:]) >= least


@pytest.mark.slow
def test_a_null_control_without_groups_learns_nothing(tmp_path: Path) -> None:
    null = tabular(algorithm={**WITH_CRITIC, "null_control": True}, steps=100, conversations=64)
    rewarded = [row["reward"] for row in rows_of(tmp_path / "n", null)]
    assert abs(np.mean(rewarded[-30:]) - np.mean(rewarded[:30])) < 0.05
