"""The tabular policy: its start, its gradient, its entropy, and what it hears."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.compose import planner
from harness.config.policy import WIDTHS
from harness.config.run import INTENTIONS, MAX_TURNS, STRATEGIES
from harness.policy.grammar import NARROW
from harness.policy.memory import after_acts, after_messages, empty_memory
from harness.policy.observation import CHANGES, CUES, MOODS, TESTS, hear
from harness.policy.tabular import (
    OBSERVATIONS,
    PRIOR,
    Observations,
    TabularPolicy,
    observe,
    recall,
)
from harness.train.loop.tabular_evaluation import speakers
from harness.train.metrics import evaluate

TEMPERATURES = st.sampled_from([0.5, 1.0, 1.7])
EITHER = st.sampled_from(sorted(OBSERVATIONS))
SAID = (
    "It is about my exam. I feel so ashamed.",
    "Thank you, that helps. I failed the exam twice. Please just listen to me.",
    "That does not help me. I feel how it is.",
    "I think about it all day.",
)

RECEPTION = np.random.default_rng(9).normal(size=(2, len(INTENTIONS), len(STRATEGIES)))


def random_policy(seed: int, observation: str = "conversation") -> TabularPolicy:
    shape = TabularPolicy.start(observation).table.shape
    return TabularPolicy(np.random.default_rng(seed).normal(size=shape), observation)


def random_seen(seed: int, observation: str = "conversation") -> Observations:
    """Of 12 conversations after two replies."""
    draws = np.random.default_rng(seed)
    memory = empty_memory(12)
    for _ in range(2):
        memory = after_messages(memory, draws.choice(SAID, 12).tolist(), RECEPTION)
        memory = after_acts(memory, draws.integers(0, len(STRATEGIES), 12))
    return observe(observation, after_messages(memory, draws.choice(SAID, 12).tolist(), RECEPTION))


def test_a_policy_that_hears_tests_hears_all_else_as_one_that_does_not() -> None:
    tests = ("I see. You put words in my mouth, and then you say they are mine.", SAID[0])
    memory = after_messages(empty_memory(2), tests, RECEPTION)
    with_tests = observe("conversation_and_tests", memory).features
    without = observe("conversation", memory).features
    np.testing.assert_array_equal(with_tests[:, : without.shape[1]], without)
    tested = with_tests[:, without.shape[1] :].argmax(axis=1)
    assert [TESTS[number] for number in tested] == ["gaslighting", "none"]


def test_the_start_is_its_prior_whatever_it_hears() -> None:
    assert sum(PRIOR.values()) == pytest.approx(1)
    start, seen = TabularPolicy.start("conversation"), random_seen(0)
    wanted = np.tile([PRIOR[s] for s in STRATEGIES], (12, 1))
    np.testing.assert_allclose(np.exp(start.log_probabilities(seen, 1.0)), wanted)
    np.testing.assert_allclose(start.entropy_nats(seen, 1.0), 1.903, atol=5e-4)


def test_a_narrow_start_plays_three_strategies_and_keeps_the_others_possible() -> None:
    start = TabularPolicy.start("conversation", width="narrow")
    p = dict(zip(STRATEGIES, np.exp(start.log_probabilities(random_seen(0), 1.0))[3], strict=True))
    assert sum(p.values()) == pytest.approx(1)
    assert sum(p[s] for s in NARROW) == pytest.approx(0.92 + 0.08 * sum(PRIOR[s] for s in NARROW))
    for name in set(STRATEGIES) - set(NARROW):
        assert p[name] == pytest.approx(0.08 * PRIOR[name])
    assert p["question"] / p["affirm"] == pytest.approx(PRIOR["question"] / PRIOR["affirm"])


@pytest.mark.slow
def test_a_narrow_start_earns_what_a_wide_one_does_at_each_level() -> None:
    finals = {}
    for width in WIDTHS:
        words = ["policy=tabular", "eval.users=256", "eval.repeats=4", "eval.deaf=false"]
        config = planner.point([*words, f"policy.warm_start_strategies={width}"]).config
        start = TabularPolicy.start("conversation", width=width)
        held = evaluate.finals(config, speakers(start, 1.0))
        finals[width] = [final.mean() for _, final in sorted(held.items())]
    np.testing.assert_allclose(finals["narrow"], finals["all"], atol=0.04)


@pytest.mark.parametrize("prior_temperature", [0.5, 1.0, 2.0])
def test_a_prior_temperature_sharpens_or_evens_the_start_alone(prior_temperature: float) -> None:
    seen = random_seen(0)
    start = TabularPolicy.start("conversation", prior_temperature)
    raised = np.array([PRIOR[s] for s in STRATEGIES]) ** (1 / prior_temperature)
    np.testing.assert_allclose(np.exp(start.log_probabilities(seen, 1.0))[3], raised / raised.sum())
    # the learnt part is as it was: the table moves logits by the same amount
    learnt = replace(start, table=random_policy(1).table)
    plain = replace(learnt, prior_temperature=1.0)
    moved = learnt.log_probabilities(seen, 1.0) - start.log_probabilities(seen, 1.0)
    wanted = plain.log_probabilities(seen, 1.0) - TabularPolicy.start(
        "conversation"
    ).log_probabilities(seen, 1.0)
    apart = moved - wanted  # up to what normalises each row
    np.testing.assert_allclose(apart - apart[:, :1], 0, atol=1e-12)


@given(st.integers(0, 100), TEMPERATURES, EITHER)
def test_entropy_is_the_mean_surprise(seed: int, temperature: float, observation: str) -> None:
    policy, seen = random_policy(seed, observation), random_seen(seed, observation)
    log_p = policy.log_probabilities(seen, temperature)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1)
    surprise = [-sum(np.exp(x) * x for x in row) for row in log_p]
    np.testing.assert_allclose(policy.entropy_nats(seen, temperature), surprise)


@given(st.integers(0, 50), TEMPERATURES, EITHER)
def test_the_gradient_equals_finite_differences(
    seed: int, temperature: float, observation: str
) -> None:
    policy, seen = random_policy(seed, observation), random_seen(seed, observation)
    draws = np.random.default_rng(seed)
    acts, weights = draws.integers(0, len(STRATEGIES), 12), draws.normal(size=12)

    def value(table: np.ndarray) -> float:
        log_p = TabularPolicy(table, observation).log_probabilities(seen, temperature)
        return float((weights * log_p[np.arange(12), acts]).sum())

    gradient = policy.gradient(seen, acts, weights, temperature)
    step = 1e-6
    touched = np.argwhere(gradient)[:: max(1, np.count_nonzero(gradient) // 20)]
    for place in map(tuple, touched):
        shift = np.zeros_like(policy.table)
        shift[place] = step
        slope = (value(policy.table + shift) - value(policy.table - shift)) / (2 * step)
        assert gradient[place] == pytest.approx(slope, abs=1e-7)


def test_the_last_words_move_the_rows_of_their_turn_alone() -> None:
    words = ["It is about my exam.", "I see.", "Please just listen."]
    memory = recall(words, ["other", "inform"], RECEPTION)
    seen = observe("last_words", memory)
    gradient = TabularPolicy.start("last_words").gradient(seen, np.array([0]), np.ones(1), 1.0)
    by_turn = gradient.reshape(MAX_TURNS, -1, len(STRATEGIES))
    assert set(np.argwhere(by_turn)[:, 0]) == {2}
    assert len(set(np.argwhere(by_turn)[:, 1])) == 4  # mood, cue, change, own


def test_a_need_named_early_counts_in_the_whole_conversation_and_not_in_the_last_words() -> None:
    """Two users who named unlike needs and then say the same."""
    heard = [[need, "I see."] for need in ("Please just listen to me.", "I need advice.")]
    for observation, differ in (("conversation", True), ("last_words", False)):
        one, other = (observe(observation, recall(h, ["other"], RECEPTION)).features for h in heard)
        assert (not np.array_equal(one, other)) == differ


@pytest.mark.parametrize("observation", sorted(OBSERVATIONS))
def test_each_turn_has_a_bias_of_its_own_so_that_the_optimum_is_deterministic(
    observation: str,
) -> None:
    """For each turn some table moves its logits alone, whatever was heard."""
    memory, seen = empty_memory(40), []
    draws = np.random.default_rng(0)
    for _ in range(8):
        memory = after_messages(memory, draws.choice(SAID, 40).tolist(), RECEPTION)
        seen.append(observe(observation, memory))
        memory = after_acts(memory, draws.integers(0, len(STRATEGIES), 40))
    features, turns = np.concatenate([s.features for s in seen]), np.repeat(range(8), 40)
    for turn in range(8):
        wanted = (turns == turn) * 1.0
        shift = np.linalg.lstsq(features, wanted, rcond=None)[0]
        np.testing.assert_allclose(features @ shift, wanted, atol=1e-9)


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
