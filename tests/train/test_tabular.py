"""Training the tabular policy: updates, the null control, learning, and what it hears of users."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from harness.config.run import EMOTIONAL_INTENTIONS, MAX_TURNS, STRATEGIES
from harness.config.run import LEVELS as NAMES
from harness.errors import DataError
from harness.policy.memory import empty_memory
from harness.policy.observation import CUES, hear
from harness.policy.tabular import PRIOR, TabularPolicy, observe
from harness.simulator.scripted.dynamics import DISCLOSURES
from harness.train.loop.tabular_batch import ActBatch
from harness.train.loop.tabular_evaluation import probe_entropy_nats
from harness.train.loop.tabular_state import load
from harness.train.loop.tabular_update import update as treated_update
from harness.train.policy_gradient.losses import clipped_loss
from harness.train.remedies.reference_kl import ReferenceKl
from tests.train.made import LEVELS, rows_of, stack_of, tabular, unselective
from tests.train.made_tabular import rolled_out, update


def test_acts_are_those_of_the_conversations_in_order() -> None:
    conversations, acts = rolled_out()
    assert len(acts.act) == sum(len(c.exchanges) for c in conversations)
    for number, conversation in enumerate(conversations):
        mine = acts.conversation == number
        assert acts.reply[mine].tolist() == list(range(len(conversation.exchanges)))


def test_a_strategy_is_recognised_as_what_it_was_meant_to_be() -> None:
    """The user's reader and the policy's grammar share nothing, yet they must understand."""
    conversations, acts = rolled_out(256)
    agree = [
        STRATEGIES[a] in conversations[c].exchanges[t].answer.strategies
        for a, c, t in zip(acts.act, acts.conversation, acts.reply, strict=True)
    ]
    assert np.mean(agree) > 0.9


@pytest.mark.parametrize("level", NAMES)
def test_cues_are_heard_where_they_are_given_and_nowhere_else(level: str) -> None:
    conversations, _ = rolled_out(256, level=level)
    shown = DISCLOSURES[getattr(LEVELS, level).disclosure].expression
    right = wrong = total = 0
    for conversation in conversations:
        turns = [conversation.opening, *(e.answer for e in conversation.exchanges)]
        for turn in turns:
            if turn.ended is None:
                cue, meant = CUES[hear(turn.text).cue], turn.state.user.intention
                if level == "hard":  # only the kind of need shows
                    meant = "heart" if meant in EMOTIONAL_INTENTIONS else "head"
                total += 1
                right += cue == meant
                wrong += cue not in (meant, "none")
    assert wrong / total < 0.01
    assert abs(right / total - shown) < 0.05


def test_a_conversation_is_spoken_the_same_whatever_is_held_beside_it() -> None:
    alone, _ = rolled_out(8)
    beside, _ = rolled_out(64)
    texts = [[e.reply.text for e in c.exchanges] for c in alone]
    assert texts == [[e.reply.text for e in c.exchanges] for c in beside[:8]]


def test_one_update_is_the_gradient_of_the_clipped_loss() -> None:
    _, acts = rolled_out(16)
    shape = TabularPolicy.start("conversation").table.shape
    policy = TabularPolicy(np.random.default_rng(3).normal(size=shape), "conversation")
    advantage = np.random.default_rng(4).normal(size=len(acts.act))
    done = update(policy, acts, advantage, 0.5, 1.3, 1)
    ascent = (done.policy.table - policy.table) / -0.5

    def loss(table: np.ndarray) -> float:
        chosen = np.arange(len(acts.act)), acts.act
        old = policy.log_probabilities(acts.seen, 1.3)[chosen]
        new = TabularPolicy(table, "conversation").log_probabilities(acts.seen, 1.3)[chosen]
        return float(clipped_loss(new, old, advantage, 0.2, 0.2).value.mean())

    for place in map(tuple, np.argwhere(ascent)[::40]):
        shift = np.zeros_like(policy.table)
        shift[place] = 1e-6
        slope = (loss(policy.table + shift) - loss(policy.table - shift)) / 2e-6
        assert ascent[place] == pytest.approx(slope, abs=1e-7)


def test_a_second_pass_moves_the_ratios_and_is_clipped() -> None:
    _, acts = rolled_out(64)
    advantage = np.random.default_rng(0).choice([-1.0, 1.0], len(acts.act))
    once = update(TabularPolicy.start("conversation"), acts, advantage, 60.0, 1.0, 1)
    twice = update(TabularPolicy.start("conversation"), acts, advantage, 60.0, 1.0, 2)
    assert once.low_share == once.high_share == 0
    assert twice.low_share > 0
    assert twice.high_share > 0
    assert not np.array_equal(once.policy.table, twice.policy.table)


def test_without_advantage_nothing_is_learned() -> None:
    _, acts = rolled_out(16)
    policy = TabularPolicy.start("conversation")
    done = update(policy, acts, np.zeros(len(acts.act)), 4.0, 1.0, 2)
    assert done.gradient_norm == 0
    assert np.array_equal(done.policy.table, policy.table)


def test_probe_entropy_is_that_of_the_prior_at_the_start_and_hotter_when_hotter() -> None:
    assert probe_entropy_nats(TabularPolicy.start("conversation"), 1.0) == pytest.approx(
        1.903, abs=5e-4
    )
    assert (probe_entropy_nats(TabularPolicy.start("conversation"), 2.0) or 0.0) > 1.95


def test_null_control_deals_out_the_same_advantages(tmp_path: Path) -> None:
    real = tabular(steps=1, conversations=64)
    null = replace(real, algorithm=replace(real.algorithm, null_control=True))
    advantages = []
    for name, config in (("real", real), ("null", null)):
        rows_of(tmp_path / name, config)
        path = tmp_path / name / "conversations" / "step-00001.parquet"
        table = pq.read_table(path).to_pylist()
        first = [r for r in table if r["speaker"] == "policy" and r["turn"] == 1]
        advantages.append(np.array([r["advantage"] for r in first]).reshape(8, 8))
    assert not np.array_equal(advantages[0], advantages[1])
    np.testing.assert_array_equal(np.sort(advantages[0], axis=1), np.sort(advantages[1], axis=1))


def test_conversations_can_be_read_back(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, tabular(steps=2, conversations_every=2))
    assert [p.name for p in sorted((tmp_path / "conversations").iterdir())] == [
        "step-00001.parquet",
        "step-00002.parquet",
    ]
    table = pq.read_table(tmp_path / "conversations" / "step-00002.parquet").to_pylist()
    replies = [r for r in table if r["speaker"] == "policy"]
    assert np.mean([r["entropy_nats"] for r in replies]) == pytest.approx(rows[1]["entropy"])
    assert len(replies) / 16 == rows[1]["turns/mean"]
    ends = [r for r in table if r["ended"]]
    assert np.mean([r["emotion_after"] for r in ends]) == pytest.approx(rows[1]["emotion/final"])
    assert np.mean([r["reward"] for r in ends]) == pytest.approx(rows[1]["reward"])
    assert np.mean([r["reported_emotion"] for r in ends]) / 100 == pytest.approx(rows[1]["reward"])
    for column in ("persona", "topic", "voice", "temperament", "intention", "level"):
        assert all(r[column] for r in table), column
    assert all(r["strategies"] is not None and r["taken_up"] is not None for r in replies)
    answers = [r for r in table if r["speaker"] == "user" and r["turn"]]
    assert all(r["why"] and 0 < r["rise_probability"] < 1 for r in answers)


@pytest.mark.slow
def test_the_policy_learns_on_easy_users(tmp_path: Path) -> None:
    config = tabular(LEVELS.easy, steps=60, conversations=32, eval_every=60)
    rows = rows_of(tmp_path, config, evaluated=True)
    reward = [r["reward"] for r in rows]
    assert np.mean(reward[-15:]) > np.mean(reward[:10]) + 0.06
    assert rows[-1]["eval/easy/reward"] > rows[0]["eval/easy/reward"] + 0.06
    assert np.mean([r["entropy"] for r in rows[-15:]]) < 1.8


@pytest.mark.slow
def test_with_the_whole_conversation_it_learns_to_listen(tmp_path: Path) -> None:
    """It ends above itself on another user's words, and chooses by what the user came for."""
    config = tabular(steps=100, conversations=64, eval_every=100, algorithm={"learning_rate": 3.0})
    config = replace(config, policy=replace(config.policy, observation="conversation"))
    first, *_, last = rows_of(tmp_path, config, evaluated=True)
    assert last["eval/reward"] > last["eval/deaf_reward"] + 0.08
    assert last["eval/listening"] > first["eval/listening"] + 0.2


def test_acts_without_a_reward_are_left_out_whatever_is_added_to_the_loss() -> None:
    """As if their conversations had not taken place."""
    _, acts = rolled_out()
    rng = np.random.default_rng(2)
    lost = np.isin(acts.conversation, [1, 7, 8, 30])
    advantage, start = rng.normal(size=len(lost)), rng.normal(-2, 0.3, len(lost))
    treated = stack_of(tabular(algorithm={"learning_rate": 2.0}).algorithm, ReferenceKl(0.5))

    def after(kept: np.ndarray, without_reward: np.ndarray | None) -> np.ndarray:
        seen = replace(acts.seen, features=acts.seen.features[kept])
        some = replace(acts, seen=seen, act=acts.act[kept], conversation=acts.conversation[kept],
                       reply=acts.reply[kept])  # fmt: skip
        selection = unselective(len(some.act), (start[kept],), 0.3, without_reward)
        batch = ActBatch(some, advantage[kept], selection, 1.3, int((~lost).sum()))
        return treated_update(TabularPolicy.start("conversation"), batch, treated, 2).policy.table

    everything = np.ones(len(lost), bool)
    np.testing.assert_allclose(after(everything, lost), after(~lost, None), atol=1e-12)


def test_a_table_by_turn_of_an_older_version_is_the_same_policy(tmp_path: Path) -> None:
    """It had the rows of each turn apart: 4 moods, 11 cues, 4 changes, 9 last strategies."""
    by_turn = np.random.default_rng(6).normal(size=(MAX_TURNS, 28, 8))
    np.save(tmp_path / "table.npy", by_turn)
    policy = load(tmp_path, TabularPolicy.start("last_words"))
    for turn in (0, 1, MAX_TURNS - 1):
        heard = replace(
            empty_memory(1),
            replies=np.array([turn]),
            mood=np.array([1]),
            cue=np.array([10]),
            change=np.array([3]),
            own=np.array([8]),
        )
        rows = by_turn[turn, [1, 4 + 10, 15 + 3, 19 + 8]].sum(axis=0)
        logits = rows + np.log([PRIOR[strategy] for strategy in STRATEGIES])
        log_p = policy.log_probabilities(observe("last_words", heard), 1.0)[0]
        np.testing.assert_allclose(np.diff(log_p), np.diff(logits), atol=1e-12)


@pytest.mark.parametrize(
    ("observation", "shape"),
    [
        ("last_words", (28, MAX_TURNS, 8)),
        ("last_words", (MAX_TURNS - 1, 28, 8)),
        ("last_words", (8, MAX_TURNS * 28)),
        ("conversation", (MAX_TURNS, 28, 8)),
        ("conversation", (7, 10, 8)),
    ],
)
def test_a_table_of_another_shape_is_refused(
    observation: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    np.save(tmp_path / "table.npy", np.zeros(shape))
    with pytest.raises(DataError, match="must hold float64 logits of shape"):
        load(tmp_path, TabularPolicy.start(observation))
