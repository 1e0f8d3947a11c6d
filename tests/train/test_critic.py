"""The critic: what it learns, what it says of itself, and how it comes back from a checkpoint."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.errors import DataError, DivergedError
from harness.records.checkpoints import CRITIC
from harness.train.policy_gradient.critic import LinearCritic, fit_metrics
from harness.train.rollout.learning_signal import Actions, CriticBatch
from tests.train.made import finish, killed_after, make_run, rows_of, tabular

RNG = np.random.default_rng(1)
FEATURES = RNG.normal(0, 1, (400, 6))
TRUTH = np.array([0.5, -0.2, 0, 0, 0.1, 0])


def test_it_finds_the_weights_that_made_the_rewards() -> None:
    critic = LinearCritic.start(0.02, 1000).fitted(FEATURES, FEATURES @ TRUTH + 0.3)
    np.testing.assert_allclose(critic.state[0], [*TRUTH, 0.3], atol=1e-3)
    np.testing.assert_allclose(critic.values(FEATURES), FEATURES @ TRUTH + 0.3, atol=5e-3)


def test_it_expects_nothing_before_its_first_batch() -> None:
    assert not LinearCritic.start(0.1, 1).values(FEATURES).any()


def test_its_first_update_is_adams_along_the_gradient_by_finite_differences() -> None:
    targets = FEATURES @ TRUTH + 0.3
    with_bias = np.column_stack([FEATURES, np.ones(len(FEATURES))])

    def loss(weights: Any) -> float:
        return float(((with_bias @ weights - targets) ** 2).mean() / 2)

    slope = [(loss(1e-5 * e) - loss(-1e-5 * e)) / 2e-5 for e in np.eye(7)]
    critic = LinearCritic.start(0.1, 1).fitted(FEATURES, targets)
    np.testing.assert_allclose(critic.state[1], 0.1 * np.array(slope), atol=1e-9)
    np.testing.assert_allclose(critic.state[0], -0.1 * np.sign(slope), atol=1e-6)


def test_its_metrics_equal_those_worked_out_by_hand() -> None:
    measured = fit_metrics(np.array([0.5, 0.5, 1.0]), np.array([0.0, 1.0, 2.0]))
    assert measured["value/mean"] == pytest.approx(2 / 3)
    assert measured["value/loss"] == pytest.approx((0.25 + 0.25 + 1) / 6)
    # errors -.5, .5, 1 about 1/3; targets 0, 1, 2 about 1
    assert measured["value/explained_variance"] == pytest.approx(1 - (7 / 18) / (2 / 3))
    for equal in (1.0, 0.35, 0.1):  # the variance of 48 times 0.1 is not 0
        constant = fit_metrics(np.zeros(48), np.full(48, equal))
        assert constant["value/explained_variance"] is None


def test_after_its_last_reply_a_conversation_keeps_that_value() -> None:
    replies = Actions(np.array([0, 0, 1]), np.array([0, 1, 0]), np.zeros((3, 1)))
    table = replies.table(np.array([0.1, 0.2, 0.7]), 3)
    assert table[0].tolist() == [0.1] + [0.2] * 19
    assert table[1].tolist() == [0.7] * 20
    assert table[2].tolist() == [0.0] * 20  # which held none


@pytest.mark.parametrize(("rate", "size"), [(1e200, 1e200), (100.0, 1.0)])
def test_a_rate_that_is_too_high_ends_in_a_sentence(rate: float, size: float) -> None:
    with pytest.raises(DivergedError) as error:
        LinearCritic.start(rate, 9).fitted(FEATURES, (FEATURES @ TRUTH + 0.3) * size)
    said = str(error.value)
    assert said.startswith("the critic must stay near the rewards, and is off by ")
    assert said.endswith(
        f"(root mean square) after 9 updates at algorithm.options.critic_rate={rate:g}; "
        "lower the rate"
    )


def test_a_critic_that_learns_each_batch_by_heart_and_knows_nothing_of_the_next_diverges() -> None:
    """At a wild rate with many passes it ends near every batch that it has seen."""
    one, other = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    state = np.array([[0.0, 40.0, 0.0], np.zeros(3), np.zeros(3)])
    critic = LinearCritic(1.0, 1000, state, updates=1)
    assert critic.fitted(one, np.array([0.5])).values(one) == pytest.approx(0.5, abs=0.1)
    with pytest.raises(DivergedError) as error:
        critic.fitted(other, np.array([0.5]))
    assert "is off by 39.5 (root mean square) after 1 updates" in str(error.value)


def test_it_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    critic = LinearCritic.start(0.1, 5).fitted(FEATURES, FEATURES @ TRUTH)
    critic.save(tmp_path)
    restored = LinearCritic.start(0.1, 5).restored(tmp_path)
    np.testing.assert_array_equal(restored.state, critic.state)
    np.testing.assert_array_equal(
        restored.fitted(FEATURES, FEATURES @ TRUTH).state,
        critic.fitted(FEATURES, FEATURES @ TRUTH).state,
    )


@pytest.mark.parametrize("damage", ["missing", "text", "half", "shape", "count", "nan"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    file = tmp_path / CRITIC
    LinearCritic.start(0.1, 5).fitted(FEATURES, FEATURES @ TRUTH).save(tmp_path)
    if damage == "missing":
        file.unlink()
    elif damage == "text":
        file.write_text("critic")
    elif damage == "half":
        file.write_bytes(file.read_bytes()[:200])
    elif damage == "shape":
        np.savez(file, state=np.zeros((2, 3)), updates=np.array(1))
    elif damage == "count":
        np.savez(file, state=np.zeros((3, 7)), updates=np.array([1, 2]))
    else:
        np.savez(file, state=np.full((3, 7), np.nan), updates=np.array(1))
    with pytest.raises(DataError) as error:
        LinearCritic.start(0.1, 5).restored(tmp_path)
    assert str(error.value).startswith(f"{file}: must hold ")


def test_a_critic_of_other_features_is_refused() -> None:
    critic = LinearCritic.start(0.1, 5).fitted(FEATURES, FEATURES @ TRUTH)
    with pytest.raises(
        DataError, match=r"^critic\.npz: must hold a critic of 4 features, .*got 6$"
    ):
        critic.values(FEATURES[:, :4])


def test_a_critic_that_diverges_names_the_run_and_the_step() -> None:
    critic_batch = CriticBatch(LinearCritic.start(1e300, 9), FEATURES, FEATURES @ TRUTH * 1e200)
    with pytest.raises(DivergedError) as error:
        critic_batch.fitted_critic("runs/one: step 3")
    assert str(error.value).startswith("runs/one: step 3: the critic must stay near the rewards")


WITH_CRITIC = {
    "kind": "reinforce",
    "options": {"critic_rate": 0.02, "critic_passes": 10},
    "group_size": 1,
    "learning_rate": 12.0,
}


@pytest.mark.slow
def test_a_run_with_a_critic_explains_rewards_and_says_so(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "r", tabular(algorithm=WITH_CRITIC, steps=60, conversations=64))
    explained = [row["value/explained_variance"] for row in rows]
    assert np.mean(explained[-20:]) > 0.1
    assert np.mean(explained[-20:]) > np.mean(explained[:5])
    assert rows[0]["value/mean"] == 0
    without = rows_of(tmp_path / "w", tabular(steps=2))
    assert without[0]["value/mean"] is without[0]["value/loss"] is None


@pytest.mark.slow
def test_a_killed_run_with_a_critic_ends_with_the_rows_of_one_that_was_not(tmp_path: Path) -> None:
    config = tabular(algorithm=WITH_CRITIC, steps=24, conversations=32, checkpoint_every=5)
    whole = make_run(tmp_path / "whole", config)
    assert finish(whole)[0] == 0
    killed = killed_after(make_run(tmp_path / "killed", config), 13)
    assert finish(killed)[0] == 0
    assert killed.metrics.read_bytes() == whole.metrics.read_bytes()


@pytest.mark.parametrize("compressed", [False, True])
def test_damage_at_any_byte_is_told_with_the_file_s_name(tmp_path: Path, compressed: bool) -> None:
    """numpy raises errors of eight kinds; those of a compressed archive are zlib's own."""
    critic = LinearCritic.start(0.1, 3).fitted(np.eye(3), np.ones(3))
    critic.save(tmp_path)
    path = tmp_path / "critic.npz"
    if compressed:
        np.savez_compressed(path, state=critic.state, updates=np.array(critic.updates))
    whole, told = path.read_bytes(), list[str]()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            LinearCritic.start(0.1, 3).restored(tmp_path)
        except DataError as error:
            told.append(str(error))
    assert len(told) > len(whole) / 2
    assert [said for said in told if not said.startswith(f"{path}: must hold ")] == []
