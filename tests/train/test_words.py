"""Information of words from cross-scored replies, against known answers."""

import math

import numpy as np
import pytest

from harness.train.metrics.words import words_information


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
