"""Mutual information of strategies and hidden intentions, against known answers."""

import math

import numpy as np
import pytest

from harness.calibration.interval import Floats
from harness.calibration.listening import (
    LEAST_USERS,
    Integers,
    information_nats,
    listening_by_reply,
    listening_nats,
)
from harness.config.run import INTENTIONS, STRATEGIES

Replies = list[tuple[str, ...]]


def users_and_intentions(users: int, repeats: int, seed: int = 7) -> tuple[list[int], list[str]]:
    """Of conversations, user by user within each repeat."""
    rng = np.random.default_rng(seed)
    own = [INTENTIONS[n] for n in rng.integers(len(INTENTIONS), size=users)]
    return [n for _ in range(repeats) for n in range(users)], own * repeats


def by_intention(
    share: float, intentions: list[str], replies: int = 8, seed: int = 8
) -> list[Replies]:
    """Conversations whose strategy is that of the intention with probability `share`, else any."""
    rng = np.random.default_rng(seed)
    return [
        [
            (STRATEGIES[INTENTIONS.index(i) if rng.random() < share else rng.integers(8)],)
            for _ in range(replies)
        ]
        for i in intentions
    ]


def true_nats(share: float) -> float:
    own, other = share + (1 - share) / 8, (1 - share) / 8
    parts = [own] + [other] * 7
    return math.log(8) + sum(p * math.log(p) for p in parts if p)


@pytest.mark.parametrize(
    ("users", "share", "error"),
    [
        *((64, share, error) for share, error in ((0.0, 0.03), (0.2, 0.05), (0.6, 0.2), (1, 0.05))),
        *(
            (256, share, error)
            for share, error in ((0.0, 0.01), (0.2, 0.02), (0.6, 0.06), (1, 0.02))
        ),
    ],
)
def test_a_planted_dependence_is_found(users: int, share: float, error: float) -> None:
    """On average, also with few users, whom the plug-in estimate gives .45 nats at share 0."""
    found = []
    for seed in range(8):
        numbers, intentions = users_and_intentions(users, 1, seed)
        conversations = by_intention(share, intentions, seed=100 + seed)
        found.append(listening_nats(conversations, intentions, numbers))
    assert np.mean(found) == pytest.approx(true_nats(share), abs=error)
    assert np.std(found) < 0.1


@pytest.mark.parametrize(("shares", "error"), [((0.0, 0.6, 1.0), 0.15), ((1.0, 0.0, 0.6), 0.15)])
def test_each_reply_number_has_the_dependence_that_was_planted_in_it(
    shares: tuple[float, ...], error: float
) -> None:
    found = []
    for seed in range(8):
        numbers, intentions = users_and_intentions(128, 1, seed)
        by_reply = [by_intention(s, intentions, 1, 50 * seed + n) for n, s in enumerate(shares)]
        conversations = [[one[0] for one in parts] for parts in zip(*by_reply, strict=True)]
        found.append(listening_by_reply(conversations, intentions, numbers))
    assert np.mean(found, axis=0) == pytest.approx([true_nats(s) for s in shares], abs=error)


def test_a_reply_number_that_few_users_got_to_tells_nothing() -> None:
    """Conversations end: of those that go on the reply number is told, as far as there are 16."""
    numbers, intentions = users_and_intentions(40, 1)
    conversations = [
        one[: 3 if user < LEAST_USERS - 1 else 2 if user < LEAST_USERS else 1]
        for user, one in enumerate(by_intention(1.0, intentions))
    ]
    first, second, third = listening_by_reply(conversations, intentions, numbers)
    assert first > 1
    assert math.isfinite(second)
    assert math.isnan(third)
    alone = listening_nats([one[:1] for one in conversations], intentions, numbers)
    assert first == alone
    assert listening_by_reply([], [], []) == []


def test_shuffled_intentions_tell_nothing_at_64_by_16() -> None:
    users, intentions = users_and_intentions(64, 16)
    conversations = by_intention(0.6, intentions)
    shuffled = np.random.default_rng(3).permutation(64)
    others = [intentions[shuffled[user]] for user in users]
    assert listening_nats(conversations, intentions, users) > 0.5
    independent = by_intention(0.0, intentions)
    assert abs(listening_nats(independent, intentions, users)) < 0.005
    assert abs(listening_nats(independent, others, users)) < 0.005


def test_what_depends_on_the_user_and_not_on_the_intention_is_no_listening() -> None:
    """Users are what is sampled: 16 meetings with each do not make 1024 of 64."""
    rng, found = np.random.default_rng(5), []
    for seed in range(8):
        users, intentions = users_and_intentions(64, 16, seed)
        own = [(STRATEGIES[n],) for n in rng.integers(8, size=64)]
        found.append(listening_nats([[own[user]] for user in users], intentions, users))
    assert np.mean(found) == pytest.approx(0, abs=0.08)


def test_a_schedule_tells_nothing_whatever_its_turns() -> None:
    users, intentions = users_and_intentions(64, 1)
    schedule = [(s,) for s in STRATEGIES]
    assert listening_nats([schedule] * 64, intentions, users) == pytest.approx(0, abs=1e-12)


def test_early_ends_do_not_count_and_reply_numbers_weigh_by_conversations() -> None:
    """Perfect dependence at the first reply, where all are, none at the second, where half are."""
    users, intentions = users_and_intentions(800, 1)
    first = by_intention(1.0, intentions, 1)
    second = by_intention(0.0, intentions, 1)
    conversations = [
        [*a, *b] if n % 2 else a for n, (a, b) in enumerate(zip(first, second, strict=True))
    ]
    found = listening_nats(conversations, intentions, users)
    assert found == pytest.approx(true_nats(1.0) * 2 / 3, abs=0.03)


def test_no_recognised_strategy_is_an_outcome_and_several_count_in_parts() -> None:
    users, intentions = users_and_intentions(512, 1)
    silent = [[()] if i == "venting" else [("question",)] for i in intentions]
    share = np.mean([i == "venting" for i in intentions])
    entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
    assert listening_nats(silent, intentions, users) == pytest.approx(entropy, abs=0.01)
    both = [[("question", "affirm")] for _ in intentions]
    assert listening_nats(both, intentions, users) == pytest.approx(0, abs=1e-9)


def test_the_estimate_is_the_plug_in_jackknifed_over_users() -> None:
    rng = np.random.default_rng(9)
    counts = rng.integers(3, size=(4, 12, 5)) * rng.random((4, 12, 1)).round()
    labels = np.stack([rng.permutation(12) % 3 for _ in range(2)])

    def plug_in(counts: Floats, label: Integers) -> float:
        sums = 0.0
        for own in counts:
            joint = np.array([own[label == n].sum(axis=0) for n in range(3)])
            independent = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / joint.sum()
            some = joint > 0
            sums += (joint[some] * np.log(joint[some] / independent[some])).sum()
        return float(sums / counts.sum())

    for label, found in zip(labels, information_nats(counts, labels)[0], strict=True):
        without = [
            plug_in(np.delete(counts, user, axis=1), np.delete(label, user)) for user in range(12)
        ]
        expected = 12 * plug_in(counts, label) - 11 * np.mean(without)
        assert found == pytest.approx(expected)


def test_too_few_users_or_no_reply_is_nan() -> None:
    users, intentions = users_and_intentions(LEAST_USERS - 1, 4)
    assert math.isnan(listening_nats(by_intention(1.0, intentions), intentions, users))
    users, intentions = users_and_intentions(LEAST_USERS, 1)
    assert math.isnan(listening_nats([[] for _ in users], intentions, users))


@pytest.mark.parametrize("answered", [1, 2, LEAST_USERS - 1])
def test_users_lost_before_their_first_answer_are_not_counted(answered: int) -> None:
    users, intentions = users_and_intentions(2 * LEAST_USERS, 1)
    replies = by_intention(1.0, intentions)
    some: list[Replies] = [own if n < answered else [] for n, own in enumerate(replies)]
    assert math.isnan(listening_nats(some, intentions, users))
    half = slice(LEAST_USERS)
    some = [*replies[half], *([] for _ in replies[half])]
    alone = listening_nats(replies[half], intentions[half], users[half])
    assert listening_nats(some, intentions, users) == alone
