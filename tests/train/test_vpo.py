"""VPO: the reward of a set by hand, and a policy that knows its slot."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.compose import planner
from harness.config.run import MAX_TURNS, AlgorithmConfig, RewardConfig
from harness.errors import ConfigError
from harness.policy.tabular import TabularPolicy
from harness.simulator.protocol import SupporterReply
from harness.testing.algorithm_contract import CONFIG, LOST, AlgorithmContract, rewards
from harness.train.algorithms.vpo import Vpo, set_rewards, weighings
from harness.train.loop import tabular_state
from harness.train.loop.tabular_evaluation import probe
from harness.train.metrics.held_out import Meeting, slots_of
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.rewards import Rewards
from harness.train.rollout.qualities import qualities
from harness.train.rollout.rewards import compute_rewards
from tests.train.made import conversation, finish, make_run, rows_of, tabular, user_turn

VECTORS = np.random.default_rng(1).random((12, 4))
NUMBERS = {"kind": "vpo", "group_size": 8, "learning_rate": 60.0, "options": {"slots": 4}}


class TestVpo(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return Vpo(slots=2)

    def test_a_better_reward_never_has_a_lower_advantage(self, algorithm: Algorithm) -> None:
        """Of a set: its worse conversation has the better one's advantage."""
        given = rewards()
        best = np.nanmax(given.shared.reshape(-1, 2), axis=1)
        advantages = algorithm.advantages(given, None, CONFIG)[:, 0].reshape(-1, 2)
        for group in range(0, len(best), 2):
            first, second = best[group : group + 2]
            one, other = advantages[group : group + 2].sum(axis=1)  # a lost one adds 0
            assert (one - other) * (first - second) >= 0


def test_the_reward_of_a_set_is_that_of_its_best_at_each_weighing() -> None:
    weights = weighings(32, 4)
    by_hand = [
        np.mean([max(float(w @ r) for r in VECTORS[n : n + 3]) for w in weights])
        for n in range(0, 12, 3)
    ]
    np.testing.assert_allclose(set_rewards(VECTORS, 3, weights), by_hand, rtol=1e-12)


def test_with_one_weighing_it_is_best_of_m_and_with_mean_and_max_swapped_another() -> None:
    only = np.array([[1.0, 0.0, 0.0, 0.0]])
    best = VECTORS[:, 0].reshape(-1, 3).max(axis=1)
    np.testing.assert_allclose(set_rewards(VECTORS, 3, only), best)
    weights = weighings(32, 4)
    swapped = (VECTORS @ weights.T).mean(axis=1).reshape(-1, 3).max(axis=1)
    assert (set_rewards(VECTORS, 3, weights) > swapped + 1e-6).all()


def test_weighings_are_of_the_simplex_evenly_and_always_the_same() -> None:
    weights = weighings(10_000, 4)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose(weights.mean(axis=0), 0.25, atol=0.01)
    np.testing.assert_allclose(weights.var(axis=0), 0.25 * 0.75 / 5, atol=0.002)
    np.testing.assert_array_equal(weights, weighings(10_000, 4))


def test_all_conversations_of_a_set_share_its_advantage_and_a_lost_one_has_none() -> None:
    shared = VECTORS[:, 0].copy()
    vectors = VECTORS.copy()
    shared[LOST], vectors[LOST] = np.nan, np.nan
    given = Rewards(shared, shared, None, 0.0, qualities=vectors)
    config = AlgorithmConfig(group_size=12)
    advantages = Vpo(slots=3).advantages(given, None, config)
    assert advantages.shape == (12, MAX_TURNS)
    sets = set_rewards(vectors, 3, weighings(32, 4))
    wanted = np.repeat(sets - sets.mean(), 3)
    wanted[LOST] = 0
    np.testing.assert_allclose(advantages[:, 0], wanted, atol=1e-12)
    columns = Vpo(slots=3).metrics(given)
    assert columns["set/reward"] == pytest.approx(sets.mean())
    assert columns["set/width"] == pytest.approx(
        sets.mean() - np.nanmean(vectors @ weighings(32, 4).mean(axis=0))
    )
    alike = np.tile(VECTORS[:1], (12, 1))
    same = Rewards(alike[:, 0], alike[:, 0], None, 0.0, qualities=alike)
    assert Vpo(slots=3).metrics(same)["set/width"] == pytest.approx(0, abs=1e-12)


def test_the_qualities_of_a_conversation_by_hand() -> None:
    said = [
        (SupporterReply("What was the hardest moment?"), user_turn(50, strategies=("question",))),
        (
            SupporterReply("You could call her. " * 3),
            user_turn(60, strategies=("suggest", "affirm")),
        ),
    ]
    talk = conversation(0, 0, 40, said)
    table = qualities([talk, talk], np.array([0.6, np.nan]))
    np.testing.assert_allclose(table[0], [0.6, 0.5, 0.5, 1 - 8.5 / 20])
    assert np.isnan(table[1]).all()
    given = compute_rewards([talk], RewardConfig(), with_qualities=True)
    assert given.qualities is not None
    np.testing.assert_allclose(given.qualities[0], table[0])
    assert compute_rewards([talk], RewardConfig()).qualities is None


def test_a_policy_with_slots_differs_by_slot_where_it_has_learnt_to() -> None:
    start = TabularPolicy.start("conversation", slots=4)
    seen = probe("conversation", 8, 4)
    assert seen.features.shape == (8, start.table.shape[0])
    np.testing.assert_array_equal(seen.features[:, -4:].argmax(axis=1), [0, 1, 2, 3] * 2)
    plain = TabularPolicy.start("conversation")
    alike = plain.log_probabilities(probe("conversation", 8), 1.0)
    np.testing.assert_allclose(start.log_probabilities(seen, 1.0), alike)
    table = start.table.copy()
    table[-3, 2] = 2.0
    moved = replace(start, table=table).log_probabilities(seen, 1.0) - alike
    assert [bool(row.any()) for row in moved] == [False, True, False, False] * 2


def test_every_repeat_meets_a_user_by_another_slot() -> None:
    held = [Meeting(1, user, repeat) for user in range(3) for repeat in range(4)]
    by_user = slots_of(held, 4).reshape(3, 4)
    assert [sorted(row) for row in by_user.tolist()] == [[0, 1, 2, 3]] * 3
    assert len({row[0] for row in by_user.tolist()}) == 3
    assert not slots_of(held, 1).any()


@pytest.mark.slow
def test_a_run_learns_to_earn_more_as_a_set_and_its_slots_come_apart(tmp_path: Path) -> None:
    config = tabular(algorithm=NUMBERS, steps=40, conversations=64)
    config = replace(config, policy=replace(config.policy, observation="conversation"))
    rows = rows_of(tmp_path / "r", config)
    earned = [row["set/reward"] for row in rows]
    assert np.mean(earned[-10:]) > np.mean(earned[:10]) + 0.02
    assert min(row["set/width"] for row in rows) > 0
    run = make_run(tmp_path / "again", config)
    assert finish(run)[0] == 0
    policy = tabular_state.load(max(run.checkpoints.iterdir()), tabular_state.start_policy(config))
    slots = policy.table[-4:]
    assert np.abs(slots - slots.mean(axis=0)).max() > 0.1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["policy=tiny"],
            "policy.kind must be tabular with algorithm.kind=vpo, since a language",
        ),
        (
            ["policy=tabular", "algorithm.group_size=8", "algorithm.options.slots=3"],
            "algorithm.group_size must hold two or more sets of 3 (algorithm.options.slots)",
        ),
        (["policy=tabular", "algorithm.group_size=4"], "must hold two or more sets of 4"),
        (["policy=tabular", "reward=turns"], "reward.mode must not be turns, mixed or ctc with"),
        (["policy=tabular", "algorithm.options.draws=0"], "algorithm.options.draws must lie"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        planner.point(["algorithm=vpo", *words])
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("remedy", "does"), [("dynamic_sampling", "redraws"), ("snr_filter", "leaves out")]
)
def test_remedies_that_go_by_single_rewards_are_refused(remedy: str, does: str) -> None:
    with pytest.raises(ConfigError) as error:
        planner.point(["algorithm=vpo", "policy=tabular", f"remedy={remedy}"])
    assert str(error.value) == (
        f"remedy.methods.{remedy} must go with an algorithm that compares single rewards, since it "
        f"{does} groups by their spread, got algorithm.kind=vpo"
    )


def test_the_gain_in_emotion_teaches_what_the_end_does() -> None:
    """All of a group begin alike, so that what the first quality loses is the same for each set."""
    rng = np.random.default_rng(2)
    ends = rng.integers(0, 100, size=16)
    said = [
        (SupporterReply(text), int(end))
        for text, end in zip(["Yes.", "What is it?", "I see that now."] * 6, ends, strict=False)
    ]
    batch = [
        conversation(n // 8, n % 8, 40, [(reply, user_turn(end, ended="cap"))])
        for n, (reply, end) in enumerate(said)
    ]
    config = replace(CONFIG, group_size=8)
    by_end, by_gain = (
        Vpo(slots=4).advantages(compute_rewards(batch, RewardConfig(mode=mode), True), None, config)
        for mode in ("terminal", "delta")
    )
    assert np.abs(by_end).max() > 0.01
    np.testing.assert_allclose(by_gain, by_end, atol=1e-12)
