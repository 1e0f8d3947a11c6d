"""The entropy ledger of a run: sums, the share of noise, and the critical batch."""

import numpy as np
import pytest

from harness.law.estimate import entropy_ledger
from harness.law.estimate.entropy_ledger import COLUMNS, EntropyLedger, read
from harness.law.results import Interval

NONE = np.full(4, np.nan)


def columns(**parts: tuple[list[float], list[float]]) -> dict[str, np.ndarray]:
    """Rows 1 and 3 of four hold entries: values and errors."""
    every = {name: np.full(4, np.nan) for name in COLUMNS}
    for part in entropy_ledger.PARTS:
        values, errors = parts.get(part, ([0.0, 0.0], [0.0, 0.0]))
        every[f"ledger/{part}"][[1, 3]] = values
        every[f"ledger/{part}_se"][[1, 3]] = errors
    return every


def test_entries_add_up_and_their_errors_in_squares() -> None:
    ledger = read(columns(signal=([-0.3, -0.6], [0.03, 0.04]), noise=([-0.1, -0.2], [0.0, 0.0])))
    assert ledger is not None
    assert ledger.signal.value == pytest.approx(-0.9)
    assert ledger.signal.high - ledger.signal.low == pytest.approx(2 * 1.96 * 0.05)
    assert ledger.noise_share is not None
    assert ledger.noise_share.value == pytest.approx(0.25)
    assert 0.2 < ledger.noise_share.low < 0.25 < ledger.noise_share.high < 0.3


def test_the_share_of_noise_covers_the_truth_though_the_fall_holds_the_noise() -> None:
    rng, hits = np.random.default_rng(21), 0
    for _ in range(2000):
        signal, noise = (float(-0.6 + rng.normal(0, 0.08)) for _ in range(2))
        ledger = read(
            columns(signal=([signal, 0.0], [0.08, 0.0]), noise=([0.0, noise], [0.0, 0.08]))
        )
        share = ledger.noise_share if ledger is not None else None
        hits += share is not None and share.low < 0.5 < share.high
    assert 0.94 < hits / 2000 < 0.96


def test_the_critical_batch_is_where_noise_takes_a_tenth() -> None:
    ledger = read(columns(signal=([-0.3, -0.6], [0.03, 0.04]), noise=([-0.1, -0.2], [0.0, 0.0])))
    assert ledger is not None
    batch = ledger.critical_batch(64)
    assert batch is not None
    assert batch.value == pytest.approx(192)
    noise = 0.3 * 64 / batch.value
    assert noise / (0.9 + noise) == pytest.approx(0.1)
    assert batch.low < batch.value < batch.high


def test_noise_that_raises_entropy_needs_no_batch_and_an_unsure_fall_gives_none() -> None:
    raised = read(columns(signal=([-0.3, -0.6], [0.01, 0.01]), noise=([0.1, 0.1], [0.0, 0.0])))
    assert raised is not None
    assert raised.critical_batch(64) == Interval(0.0, 0.0, 0.0)
    unsure = read(columns(signal=([-0.1, 0.0], [0.2, 0.2]), noise=([-0.1, -0.1], [0.0, 0.0])))
    assert unsure is not None
    assert unsure.critical_batch(64) is None
    assert unsure.noise_share is None


def test_a_run_without_entries_has_no_ledger() -> None:
    assert read(dict.fromkeys(COLUMNS, NONE)) is None
    assert read({"entropy": NONE}) is None
    assert EntropyLedger(*[Interval(0.0, 0.0, 0.0)] * 3).noise_share is None
