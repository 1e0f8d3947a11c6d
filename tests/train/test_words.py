"""Information of words from cross-scored replies, against known answers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.train.metrics.words import (
    information_by_class,
    token_information,
    words_information,
)
from harness.train.policy_gradient.advantages import FloatArray


def test_the_same_words_for_everyone_tell_nothing() -> None:
    log_p = np.repeat(np.array([[-3.0], [-50.0], [-0.1], [-7.0]]), 4, axis=1)
    nats, share = words_information(log_p)
    assert nats == pytest.approx(0, abs=1e-12)
    assert share == pytest.approx(1 / 4)


def test_words_that_fit_one_conversation_alone_tell_it() -> None:
    log_p = np.full((8, 8), -2000.0)
    np.fill_diagonal(log_p, -900.0)
    nats, share = words_information(log_p)
    assert nats == pytest.approx(math.log(8))
    assert share == 1


def test_the_estimate_is_unbiased_for_a_known_channel() -> None:
    """A reply of 3 words given each of 5 conversations: its mean is the exact information."""
    rng = np.random.default_rng(1)
    channel = rng.dirichlet(np.ones(3), size=5)
    mixed = channel.mean(axis=0)
    exact = float((channel * np.log(channel / mixed)).sum() / 5)
    drawn = [[rng.choice(3, p=row) for row in channel] for _ in range(4000)]
    found = [words_information(np.log(channel[:, replies].T))[0] for replies in drawn]
    assert np.mean(found) == pytest.approx(exact, abs=4 * float(np.std(found)) / math.sqrt(4000))


def drawn_replies(seed: int, conversations: int = 5, tokens: int = 7) -> list[FloatArray]:
    """Log-probabilities of the tokens of a reply a conversation, after every conversation."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, tokens, size=conversations)
    return [rng.normal(-2, 1.5, size=(conversations, n)) for n in lengths]


@given(st.integers(0, 10_000))
def test_the_parts_of_classes_add_up_to_the_whole(seed: int) -> None:
    log_p, rng = drawn_replies(seed), np.random.default_rng(seed + 1)
    marks = [np.asarray(rng.random(own.shape[1]) < 0.4) for own in log_p]
    parts = information_by_class(log_p, {"a": marks, "b": [np.logical_not(mark) for mark in marks]})
    whole, _ = words_information(np.array([own.sum(axis=1) for own in log_p]))
    assert parts["a"] + parts["b"] == pytest.approx(whole)


def test_a_token_tells_what_those_before_it_have_left_open() -> None:
    """Four conversations: the first token tells which half, the second which of it, the third none.

    What was told once is not told again.
    """
    tiny = -800.0
    first = [0.0, 0.0, tiny, tiny]
    second = [0.0, tiny, 0.0, tiny]
    again = first
    log_p = np.array([first, again, second, [-3.0] * 4]).T
    told = token_information(log_p, own=0)
    assert told == pytest.approx([math.log(2), 0, math.log(2), 0])


def test_a_class_has_the_exact_information_of_a_known_channel() -> None:
    """Two tokens: the second goes by the conversation, the first by nothing."""
    rng = np.random.default_rng(2)
    channel, blind = rng.dirichlet(np.ones(3), size=4), rng.dirichlet(np.ones(3))
    exact = float((channel * np.log(channel / channel.mean(axis=0))).sum() / 4)
    found = []
    for _ in range(3000):
        replies = [(rng.choice(3, p=blind), rng.choice(3, p=row)) for row in channel]
        log_p = [
            np.log(np.stack([np.full(4, blind[a]), channel[:, b]], axis=1)) for a, b in replies
        ]
        marks = {"first": [np.array([True, False])] * 4, "second": [np.array([False, True])] * 4}
        found.append(information_by_class(log_p, marks))
    first, second = ([one[name] for one in found] for name in ("first", "second"))
    assert np.mean(second) == pytest.approx(exact, abs=4 * float(np.std(second)) / math.sqrt(3000))
    assert first == pytest.approx([0.0] * 3000, abs=1e-12)
    assert information_by_class(log_p, {"none": [np.zeros(2, bool)] * 4}) == {"none": 0.0}
