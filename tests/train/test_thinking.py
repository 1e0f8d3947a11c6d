"""What is thought and what is said are told apart by the last end of thinking in each turn."""

import numpy as np
import pytest

from harness.train.engines.scoring import TokenRow
from harness.train.metrics import entropy_splits
from harness.train.metrics.token_metrics import TokenTrace

END = 9


def row(*turns: tuple[int, ...]) -> TokenRow:
    """User words (id 1) before each turn."""
    made = TokenRow()
    for number, ids in enumerate(turns, start=1):
        made.extend([1, 1])
        made.extend(ids, number)
    return made


def trace(entropy_nats: list[float]) -> TokenTrace:
    values, zeros = np.array(entropy_nats), np.zeros(len(entropy_nats))
    places = zeros.astype(np.int64)
    return TokenTrace(values, values, zeros, zeros, places, places + 1)


def test_each_turn_is_split_at_its_own_last_end():
    rows = [row((5, END, 5, END, 6), (END, 7)), row((8, 8))]
    #             thought          said | t    s          never came to an end
    found = entropy_splits.thinking_entropies(trace([1, 1, 1, 1, 4, 1, 6, 2, 2]), rows, END)
    assert found["entropy/thinking"] == pytest.approx((4 * 1 + 1 + 2 + 2) / 7)
    assert found["entropy/reply"] == pytest.approx(5)


def test_where_nothing_is_said_there_is_no_number():
    assert entropy_splits.thinking_entropies(trace([1.0, 3.0]), [row((5, 5))], END) == {
        "entropy/thinking": 2.0,
        "entropy/reply": None,
    }
