"""The tabular policy: its start, its gradient, its entropy, and what it hears."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config.run import MAX_TURNS, STRATEGIES
from harness.policy.observation import CHANGES, CUES, MOODS, hear
from harness.policy.tabular import (
    FEATURES,
    NOTHING_YET,
    PRIOR,
    ROWS,
    Observations,
    TabularPolicy,
    observe,
)

TEMPERATURES = st.sampled_from([0.5, 1.0, 1.7])


def random_policy(seed: int) -> TabularPolicy:
    shape = TabularPolicy.start().table.shape
    return TabularPolicy(np.random.default_rng(seed).normal(size=shape))


def random_seen(seed: int, count: int = 12) -> Observations:
    draws = np.random.default_rng(seed)
    offsets = np.cumsum((0, *FEATURES[:-1]))
    rows = np.stack([draws.integers(0, n, count) for n in FEATURES], axis=1) + offsets
    return Observations(draws.integers(0, 4, count), rows)


def test_the_start_is_its_prior_whatever_it_hears() -> None:
    assert sum(PRIOR.values()) == pytest.approx(1)
    start, seen = TabularPolicy.start(), random_seen(0)
    wanted = np.tile([PRIOR[s] for s in STRATEGIES], (12, 1))
    np.testing.assert_allclose(np.exp(start.log_probabilities(seen, 1.0)), wanted)
    np.testing.assert_allclose(start.entropy_nats(seen, 1.0), 1.903, atol=5e-4)


@given(st.integers(0, 100), TEMPERATURES)
def test_entropy_is_the_mean_surprise(seed: int, temperature: float) -> None:
    policy, seen = random_policy(seed), random_seen(seed)
    log_p = policy.log_probabilities(seen, temperature)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1)
    surprise = [-sum(np.exp(x) * x for x in row) for row in log_p]
    np.testing.assert_allclose(policy.entropy_nats(seen, temperature), surprise)


@given(st.integers(0, 50), TEMPERATURES)
def test_the_gradient_equals_finite_differences(seed: int, temperature: float) -> None:
    policy, seen = random_policy(seed), random_seen(seed)
    draws = np.random.default_rng(seed)
    acts, weights = draws.integers(0, len(STRATEGIES), 12), draws.normal(size=12)

    def value(table: np.ndarray) -> float:
        log_p = TabularPolicy(table).log_probabilities(seen, temperature)
        return float((weights * log_p[np.arange(12), acts]).sum())

    gradient = policy.gradient(seen, acts, weights, temperature)
    step = 1e-6
    touched = np.argwhere(gradient)[:: max(1, np.count_nonzero(gradient) // 20)]
    for place in map(tuple, touched):
        shift = np.zeros_like(policy.table)
        shift[place] = step
        slope = (value(policy.table + shift) - value(policy.table - shift)) / (2 * step)
        assert gradient[place] == pytest.approx(slope, abs=1e-7)


def test_rows_that_were_not_heard_are_not_moved() -> None:
    seen = observe([2], ["I feel so sad. Please just listen to me."], [NOTHING_YET])
    gradient = TabularPolicy.start().gradient(seen, np.array([0]), np.ones(1), 1.0)
    assert gradient.shape == (MAX_TURNS, ROWS, len(STRATEGIES))
    assert set(np.argwhere(gradient)[:, 0]) == {2}
    assert len(set(np.argwhere(gradient)[:, 1])) == len(FEATURES)


@pytest.mark.parametrize(
    ("text", "mood", "cue", "change"),
    [
        ("It is about my exam. I feel so ashamed.", "heavy", "none", "neutral"),
        ("Thank you, that helps. I feel less sad now.", "lighter", "none", "better"),
        ("That does not help me. I need advice that works.", "unspoken", "advice", "worse"),
        ("I do not follow you. I feel tired.", "plain", "none", "puzzled"),
        ("No. Most days I feel lost. Please just listen to me.", "plain", "venting", "worse"),
        ("Yes. Please tell me it is not my fault.", "unspoken", "not_at_fault", "better"),
        ("Maybe. Help me learn from this.", "unspoken", "growth", "neutral"),
        ("", "unspoken", "none", "neutral"),
    ],
)
def test_a_message_is_heard_as_mood_cue_and_change(
    text: str, mood: str, cue: str, change: str
) -> None:
    heard = hear(text)
    assert (MOODS[heard.mood], CUES[heard.cue], CHANGES[heard.change]) == (mood, cue, change)


@given(st.text(max_size=200))
def test_any_text_is_heard_as_something(text: str) -> None:
    heard = hear(text)
    assert 0 <= heard.mood < len(MOODS)
    assert 0 <= heard.cue < len(CUES)
    assert 0 <= heard.change < len(CHANGES)
