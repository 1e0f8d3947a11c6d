"""The numbers of a metrics row, against the same numbers worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.config.run import STRATEGIES, TEMPERAMENTS
from harness.records.metrics import MEASURED
from harness.simulator.protocol import SupporterReply
from harness.train.metrics.conversation_metrics import conversation_metrics, distinct_pairs
from harness.train.metrics.token_metrics import (
    TokenTrace,
    entropy_metrics,
    ratio_mean,
    top_share,
)
from harness.train.metrics.turn_records import turn_records
from harness.train.rollout.conversation import Conversation
from tests.train.made import conversation, user_turn

NAN = float("nan")


def batch() -> list[Conversation]:
    hello, again = SupporterReply("You are strong."), SupporterReply("You are so", cut=True)
    scored = SupporterReply("Why is that?", start_nll=0.5, start_z=1.5)
    kind = ("affirm", "affirm")
    cut_off = user_turn(0, "", flagged=True, why={"rule": "ending"}, ended="left")
    return [
        conversation(0, 0, 40, [
            (hello, user_turn(50, strategies=kind, change=10)),
            (scored, user_turn(100, "", strategies=("question",), ended="success")),
        ]),
        conversation(0, 1, 40, [(again, cut_off)]),
        conversation(1, 0, 40, [(hello, user_turn(35, "", strategies=("affirm",), ended="cap"))]),
        conversation(1, 1, 40, [(hello, user_turn(45, "", ended="cap"))]),
    ]  # fmt: skip


def trace(entropies: list[float], conversation: list[int], turn: list[int]) -> TokenTrace:
    values = np.array(entropies, dtype=np.float64)
    logp = -np.arange(1, len(values) + 1, dtype=np.float64)
    advantage = np.arange(len(values), dtype=np.float64) - 1
    return TokenTrace(values, 2 * values, logp, advantage, np.array(conversation), np.array(turn))


def measured() -> dict[str, float | None]:
    return conversation_metrics(batch(), np.array([1.0, 0.0, NAN, 0.45]), 2, 0.1)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("reward", 1.45 / 3),
        ("reward_std", 0.25),  # 0.5 in the first group, 0 in the second
        ("frac_reward_zero_std", 0.5),
        ("groups/below_floor", 0.5),
        ("emotion/start", 40),
        ("emotion/final", 45),
        ("emotion/delta", 5),
        ("emotion/success_rate", 0.25),
        ("emotion/failure_rate", 0.25),
        ("turns/mean", 1.25),
        ("completions/clipped_ratio", 0.2),
        ("text/flagged", 0.2),
        ("text/flagged/ending", 0.2),
        ("text/flagged/typicality", 0),
        ("text/start_nll", 0.5),
        ("text/start_z", 1.5),
        ("strategy/affirm", 0.75),
        ("strategy/question", 0.25),
        ("strategy/suggest", 0),
        ("strategy/entropy", -0.75 * math.log(0.75) - 0.25 * math.log(0.25)),
        ("distinct_2", 5 / 10),  # of ten pairs: you are, are strong., are so, why is, is that?
        ("sim/failed", 1),
    ],
)
def test_each_measure_equals_the_one_worked_out_by_hand(key: str, value: float) -> None:
    assert measured()[key] == pytest.approx(value)


def test_every_key_is_one_of_the_rows() -> None:
    assert measured().keys() <= MEASURED.keys()
    assert entropy_metrics(trace([1.0], [0], [1]), 1).keys() <= MEASURED.keys()


def test_what_nobody_recognised_is_missing_not_zero() -> None:
    mute = [conversation(0, n, 40, [(SupporterReply("Mm."), user_turn(40))]) for n in range(2)]
    measures = conversation_metrics(mute, np.full(2, NAN), 2, 0.1)
    missing = {k for k, v in measures.items() if v is None}
    assert missing == {
        "reward", "reward_std", "frac_reward_zero_std", "groups/below_floor", "text/start_nll",
        "text/start_z", "text/flagged/typicality",
        "strategy/entropy", "distinct_2", *(f"strategy/{s}" for s in STRATEGIES),
        *(f"strategy/entropy_by_temperament/{t}" for t in TEMPERAMENTS), "grounding/per_100_turns",
        "grounding/question_value", "solving/after_feeling",
        "solving/where_wanted", "solving/where_unwanted",
        *(f"alliance/{part}" for part in ("bond", "goal", "task", "mean")),
    }  # fmt: skip
    assert measures["sim/failed"] == 2


def test_without_a_floor_nothing_is_below_it() -> None:
    assert conversation_metrics(batch(), np.ones(4), 2, None)["groups/below_floor"] is None


def test_a_group_of_one_has_no_spread() -> None:
    alone = conversation_metrics(batch(), np.array([1.0, 0.0, NAN, 0.45]), 1, None)
    assert alone["reward"] == pytest.approx(1.45 / 3)
    assert alone["reward_std"] is None
    assert alone["frac_reward_zero_std"] is None


def test_entropy_measures_equal_those_worked_out_by_hand() -> None:
    # three tokens in conversation 0 (turns 1, 1, 2) and one in conversation 2
    measures = entropy_metrics(trace([0.2, 0.4, 0.6, 2.0], [0, 0, 0, 2], [1, 1, 2, 1]), 1)
    assert measures["entropy"] == pytest.approx(0.8)
    assert measures["entropy/t1"] == pytest.approx(1.6)
    assert measures["entropy/mean_of_means"] == pytest.approx((0.4 + 2.0) / 2)
    assert measures["entropy/turn_1"] == pytest.approx(2.6 / 3)
    assert measures["entropy/turn_2"] == pytest.approx(0.6)
    assert measures["entropy/turn_3"] is None
    assert measures["entropy/top20_share"] == pytest.approx(2.0 / 3.2)
    assert measures["completions/mean_length"] == 2
    assert measures["completions/max_length"] == 3
    # residuals S - H n: 1.2 - 2.4 and 2 - 0.8; variance 2 * (1.44 + 1.44) / 16
    assert measures["entropy_se"] == pytest.approx(math.sqrt(2 * 2.88 / 16))
    # logp -1..-4 and advantage -1..2 move against each other with variance 1.25
    assert measures["cov/mean"] == pytest.approx(-1.25)


def test_error_of_equal_clusters_is_that_of_their_means() -> None:
    values = np.random.default_rng(0).normal(size=(50, 4))
    mean, error = ratio_mean(values.ravel(), np.repeat(np.arange(50), 4))
    assert mean == pytest.approx(values.mean())
    assert error == pytest.approx(values.mean(axis=1).std(ddof=1) / math.sqrt(50))


def test_the_error_covers_when_lengths_and_values_go_together() -> None:
    """2,000 batches of 32 conversations: the mean lies within 1.96 errors about 95% of the time."""
    rng, hits = np.random.default_rng(1), 0
    truth = (1 * 1 + 5 * 5) / 6 / 3  # lengths 1 or 5, a token's entropy a third of the length
    for _ in range(2000):
        lengths = rng.choice([1, 5], 32)
        level = lengths / 3 + rng.normal(0, 0.3, 32)
        mean, error = ratio_mean(np.repeat(level, lengths), np.repeat(np.arange(32), lengths))
        assert mean is not None
        assert error is not None
        hits += abs(mean - truth) < 1.96 * error
    assert 0.915 < hits / 2000 < 0.965


def test_one_conversation_has_no_error() -> None:
    assert ratio_mean(np.ones(3), np.zeros(3, dtype=int)) == (1.0, None)


@given(st.lists(st.floats(0, 3), min_size=1, max_size=60))
def test_top_share_is_at_least_its_fair_share(entropies: list[float]) -> None:
    share = top_share(np.array(entropies))
    if sum(entropies) == 0:
        assert share is None
    else:
        assert share is not None
        assert 0.2 - 1e-9 <= share <= 1 + 1e-9


def test_pairs_do_not_reach_over_the_end_of_a_reply() -> None:
    assert distinct_pairs(["a b", "b a"]) == 1
    assert distinct_pairs(["a b c", "A B"]) == pytest.approx(2 / 3)
    assert distinct_pairs(["a", ""]) is None


def test_every_turn_becomes_a_record() -> None:
    records = turn_records(
        batch(),
        np.array([1.0, 0.5, 0.0, np.nan]),
        np.array([[0.5, 0.25], [-0.5, 0], [0, 0], [0, 0]]),
        trace([1.0, 3.0, 0.5], [0, 0, 1], [1, 1, 1]),
    )
    assert len(records) == 4 + 2 * 5
    opening, reply, answer, second, last = records[:5]
    assert (opening.turn, opening.speaker, opening.emotion_before) == (0, "user", None)
    assert opening.emotion_after == 40
    assert (reply.turn, reply.speaker, reply.strategies) == (1, "policy", ("affirm", "affirm"))
    assert (reply.entropy_nats, reply.advantage) == (2.0, 0.5)
    assert (answer.turn, answer.emotion_before, answer.emotion_after) == (1, 40, 50)
    assert (second.entropy_nats, second.start_nll, second.advantage) == (None, 0.5, 0.25)
    assert (last.emotion_before, last.emotion_after, last.ended) == (50, 100, "success")
    assert {r.reward for r in records[:5]} == {1.0}
    assert records[-1].reward is None, "of a conversation that was lost"


def test_the_error_of_h_is_that_of_new_groups() -> None:
    """Conversations of one group have much of H in common, which clusters of one would miss."""
    rng, found = np.random.default_rng(1), []
    for _ in range(300):
        common = np.repeat(rng.normal(1.0, 0.2, 8), 8)
        values = (common + rng.normal(0, 0.1, 64)).tolist()
        measures = entropy_metrics(trace(values, list(range(64)), [1] * 64), 8)
        found.append((measures["entropy"] or 0.0, measures["entropy_se"] or 0.0))
    mean, error = np.array(found).T
    assert 0.9 < mean.std() / np.sqrt((error**2).mean()) < 1.1
