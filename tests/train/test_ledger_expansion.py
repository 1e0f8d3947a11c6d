"""The change of H by an update, split: derivatives, unbiased parts, errors that cover."""

import numpy as np
import pytest

from harness.train.ledger.expansion import EntropyIncrement, derivatives, increment, third
from harness.train.policy_gradient.advantages import FloatArray

GROUPS, PREFIXES, CHOICES = 6, 5, 8


def log_probabilities(logits: FloatArray) -> FloatArray:
    log_p: FloatArray = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    return log_p


def entropy(logits: FloatArray) -> float:
    log_p = log_probabilities(logits)
    return float(-(np.exp(log_p) * log_p).sum(axis=-1).mean())


def made(seed: int, size: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Logits of a probe, and a move of them for each group."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(PREFIXES, CHOICES))
    return logits, size * rng.normal(size=(GROUPS, PREFIXES, CHOICES))


def parts(made: EntropyIncrement) -> FloatArray:
    return np.array([made.signal.value, made.noise.value, made.remedy.value])


def test_derivatives_are_those_of_the_mean_entropy() -> None:
    logits, moves = made(1)
    slopes, products = derivatives(log_probabilities(logits), moves)
    step = 1e-4
    for one, u in enumerate(moves):
        ahead, back = entropy(logits + step * u), entropy(logits - step * u)
        assert slopes[one] == pytest.approx((ahead - back) / (2 * step), abs=1e-6)
        for other, v in enumerate(moves):
            corners = [
                a * b * entropy(logits + step * (a * u + b * v)) for a in (1, -1) for b in (1, -1)
            ]
            assert products[one, other] == pytest.approx(sum(corners) / (4 * step**2), abs=1e-5)
            nearby = [
                derivatives(log_probabilities(logits + a * step * u), v[None])[1] for a in (1, -1)
            ]
            slope = float((nearby[0] - nearby[1])[0, 0]) / (2 * step)
            assert third(log_probabilities(logits), u[None], v[None])[0] == pytest.approx(
                slope, abs=1e-5
            )


def test_a_shift_of_all_logits_of_a_prefix_changes_nothing() -> None:
    logits, moves = made(2)
    shifted = moves + np.random.default_rng(3).normal(size=(GROUPS, PREFIXES, 1))
    log_p = log_probabilities(logits)
    np.testing.assert_allclose(parts(increment(log_p, moves)), parts(increment(log_p, shifted)))


def test_parts_sum_to_the_change_but_for_the_fourth_order() -> None:
    logits, moves = made(4, 0.06)
    plain = made(5, 0.06)[1]
    log_p, errors = log_probabilities(logits), []
    for scale in (1.0, 0.5):
        split = increment(log_p, scale * moves, scale * plain)
        change = entropy(logits + scale * moves.sum(axis=0)) - entropy(logits)
        errors.append(change - parts(split).sum())
    assert 0 < abs(errors[0]) < 1e-3
    assert errors[1] == pytest.approx(errors[0] / 16, rel=0.15)


def test_groups_that_move_alike_make_no_noise() -> None:
    """However large the move, and so however much the expansion leaves."""
    logits, moves = made(10)
    split = increment(log_probabilities(logits), np.repeat(moves[:1], GROUPS, axis=0))
    assert split.noise.value == pytest.approx(0, abs=1e-12)
    assert abs(split.signal.value) > 0.1


def test_in_a_batch_whose_groups_cancel_signal_and_noise_do_too() -> None:
    logits, moves = made(11, 0.05)
    log_p, pairs = log_probabilities(logits), np.concatenate([moves, -moves])
    split = increment(log_p, pairs)
    trace = np.trace(derivatives(log_p, pairs)[1])
    unbiased = len(pairs) / (len(pairs) - 1)
    assert split.noise.value == pytest.approx(unbiased * trace / 2)
    assert split.signal.value == pytest.approx(-unbiased * trace / 2)


def test_signal_and_noise_average_to_those_of_the_distribution() -> None:
    """Of many batches whose groups are drawn with a known mean and covariance."""
    rng = np.random.default_rng(6)
    logits, (mean, *factors) = made(7, 0.02)
    log_p = log_probabilities(logits)
    whole, every = GROUPS * mean[None], np.stack(factors)
    slopes, products = derivatives(log_p, np.concatenate([whole, every]))
    signal = slopes[0] + products[0, 0] / 2 + third(log_p, whole, whole)[0] / 6
    noise = GROUPS * (np.trace(products[1:, 1:]) + third(log_p, whole, every).sum()) / 2
    drawn = rng.normal(size=(2000, GROUPS, len(factors)))
    splits = [increment(log_p, mean + np.tensordot(draws, every, axes=1)) for draws in drawn]
    signals, noises = (
        np.array([getattr(s, name).value for s in splits]) for name in ("signal", "noise")
    )
    for values, truth in ((signals, signal), (noises, noise)):
        assert abs(values.mean() - truth) < 3.5 * values.std() / np.sqrt(len(values))
    assert abs(noise) > 20 * noises.std() / np.sqrt(len(noises))
    for name, values in (("signal", signals), ("noise", noises)):
        stated = np.mean([getattr(s, name).variance for s in splits])
        assert stated == pytest.approx(values.var(), rel=0.15)


def test_a_remedy_is_what_the_update_does_beyond_the_plain_one() -> None:
    logits, moves = made(8, 0.05)
    log_p = log_probabilities(logits)
    bonus = -0.02 * np.exp(log_p) * (log_p - (np.exp(log_p) * log_p).sum(axis=1, keepdims=True))
    alone, treated = increment(log_p, moves), increment(log_p, moves + bonus, moves)
    np.testing.assert_allclose(parts(treated)[:2], parts(alone)[:2])
    both, without = moves.sum(axis=0) + GROUPS * bonus, moves.sum(axis=0)
    raised = entropy(logits + both) - entropy(logits + without)
    assert treated.remedy.value == pytest.approx(raised, rel=0.05)
    assert raised > 0
    assert increment(log_p, moves, moves).remedy.value == 0


def test_parts_and_their_variances_add_up_over_steps() -> None:
    logits, moves = made(9, 0.1)
    one, other = (
        increment(log_probabilities(logits), moves),
        increment(logits * 0 - np.log(8), moves),
    )
    both = one + other
    assert both.noise.value == one.noise.value + other.noise.value
    assert both.signal.variance == one.signal.variance + other.signal.variance
